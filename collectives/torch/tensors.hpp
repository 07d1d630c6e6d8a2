// What the backend takes of PyTorch's tensors and operators, and what it refuses: std::invalid_argument, a ValueError in
// Python, that says call, place, found and allowed.
#pragma once

#include "collectives/executors/transport.hpp"
#include "collectives/torch/torch_compat.hpp"
#include "kernels/dtype.hpp"

#include <string>
#include <vector>

#include <ATen/ATen.h>

namespace weft {

[[noreturn]] void refuse(const std::string& call, const std::string& what);

// The one tensor of a call that c10d gives a list of.
const at::Tensor& only(const std::string& call, const std::vector<at::Tensor>& tensors);
const std::vector<at::Tensor>& only(const std::string& call, const std::vector<std::vector<at::Tensor>>& lists);

// A dense tensor in the memory of the CPU.
void expect_carried(const std::string& call, const std::string& which, const at::Tensor&);
// One tensor for each rank, of the type and, where `sizes_equal`, the size of `like`.
void expect_blocks(const std::string& call, const std::vector<at::Tensor>& blocks, const at::Tensor& like, int ranks, bool sizes_equal);

DType reduced_dtype(const std::string& call, const at::Tensor&);
ReduceOp reduce_op(const std::string& call, const c10d::ReduceOp&, DType);

// Of a contiguous tensor.
ByteSpan bytes_of(const at::Tensor&);

}  // namespace weft
