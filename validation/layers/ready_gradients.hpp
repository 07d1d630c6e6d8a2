// When gradients became ready in a backward pass that somebody measured, from files of several origins.
#pragma once

#include "models/training/model.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// The gradients of one of a model's layers, or of one of its tensors, in the order of backward.
struct ReadyGradient {
  std::string where = {};  // FILE:LINE
  std::int64_t bytes = 0;  // of the tensor, or of all tensors of the layer; 0: the file does not say
  bool of_layer = false;
  double ready_us = 0;    // since the backward pass began
  std::size_t layer = 0;  // of the model
};

// Reads the backward pass of the model, which the file calls `measured`. Formats, told by the line of column names:
//   model,order_in_backward,wait_since_previous_us,param_bytes  a tensor a line, as it becomes ready
//   model,node,layer,forward_ms,backward_ms,...,parameter_bytes  PipeDream's profiles: a module a line, in the order of forward
//   OperatorID,OperatorName,...,Operator_cudatime,...,stage,...  TrioSim's traces: an operator a line, of one model
// Throws InputError with every line that cannot be read, or that is not what the model's backward pass does next.
std::vector<ReadyGradient> parse_ready_gradients(std::string_view text, const std::string& file, const std::string& measured,
                                                 const Model& model);
std::vector<ReadyGradient> read_ready_gradients(const std::filesystem::path& file, const std::string& measured, const Model& model);

}  // namespace weft
