// Models and devices from JSON texts. Both throw InputError with every problem, each with the text's name and a JSON pointer.
#pragma once

#include "models/training/device.hpp"

namespace weft {

// A table of layers in the order of forward:
//   { "schema": 1, "name": "my_net", "batch": 32,
//     "layers": [ { "name": "conv1", "parameters": 9408, "forward": "236MFLOP", "backward": "236MFLOP", "kind": "convolution" },
//                 { "name": "fc", "parameters": { "weight": 512000, "bias": 1000 }, "forward": "310us", "backward": "540us" } ] }
// forward and backward are FLOPs of one sample, or times measured with `batch` samples. kind (for FLOPs) is matrix_product
// unless given. With "base": "resnet50" the layers named replace forward and backward of that network's, which keeps its others.
Model read_model(std::string_view text, const std::string& where);

// { "schema": 1, "description": ..., "rates": { "float32": { "peak": { "value": "15.7TFLOPS", "source": ... }, ... } }, ... }
DeviceProfile read_device(std::string_view text, const std::string& name);

}  // namespace weft
