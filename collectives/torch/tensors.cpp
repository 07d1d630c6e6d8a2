#include "collectives/torch/tensors.hpp"

#include <array>
#include <stdexcept>

namespace weft {
namespace {

struct Known {
  at::ScalarType torch;
  DType ours;
};
constexpr std::array known = {
    Known{at::kHalf, DType::float16},   Known{at::kBFloat16, DType::bfloat16}, Known{at::kFloat, DType::float32},
    Known{at::kDouble, DType::float64}, Known{at::kInt, DType::int32},         Known{at::kLong, DType::int64},
    Known{at::kByte, DType::uint8},
};

}  // namespace

void refuse(const std::string& call, const std::string& what) { throw std::invalid_argument(c10::str("weft: ", call, ": ", what)); }

const at::Tensor& only(const std::string& call, const std::vector<at::Tensor>& tensors) {
  if (tensors.size() != 1) refuse(call, c10::str("must be given one tensor, got ", tensors.size()));
  return tensors.front();
}

const std::vector<at::Tensor>& only(const std::string& call, const std::vector<std::vector<at::Tensor>>& lists) {
  if (lists.size() != 1) refuse(call, c10::str("must be given one list of tensors, got ", lists.size()));
  return lists.front();
}

void expect_carried(const std::string& call, const std::string& which, const at::Tensor& t) {
  if (!t.defined()) refuse(call, c10::str(which, " is undefined"));
  if (!t.device().is_cpu())
    refuse(call, c10::str(which, " is on ", t.device(), ", must be on cpu: copy it there, or use a group of the backend nccl"));
  if (t.layout() != at::kStrided) refuse(call, c10::str(which, " has the layout ", t.layout(), ", must be dense (Strided)"));
}

void expect_blocks(const std::string& call, const std::vector<at::Tensor>& blocks, const at::Tensor& like, int ranks, bool sizes_equal) {
  if (blocks.size() != static_cast<std::size_t>(ranks))
    refuse(call, c10::str("must be given a tensor for each of the ", ranks, " ranks, got ", blocks.size()));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const at::Tensor& b = blocks[i];
    expect_carried(call, c10::str("tensor ", i), b);
    if (b.scalar_type() != like.scalar_type() || (sizes_equal && b.numel() != like.numel()))
      refuse(call, c10::str("tensor ", i, " has ", b.numel(), " elements of ", b.scalar_type(), ", must have ", like.numel(), " of ",
                            like.scalar_type()));
  }
}

DType reduced_dtype(const std::string& call, const at::Tensor& t) {
  std::string names;
  for (const Known& k : known) {
    if (k.torch == t.scalar_type()) return k.ours;
    names += (names.empty() ? "" : ", ") + std::string(name_of(k.ours));
  }
  refuse(call, c10::str("the tensor has the type ", t.scalar_type(), ", must be one of ", names));
}

ReduceOp reduce_op(const std::string& call, const c10d::ReduceOp& op, DType dtype) {
  const auto ours = [&]() -> ReduceOp {
    switch (static_cast<c10d::ReduceOp::RedOpType>(op)) {
      case c10d::ReduceOp::SUM:
        return ReduceOp::sum;
      case c10d::ReduceOp::AVG:
        return ReduceOp::avg;
      case c10d::ReduceOp::PRODUCT:
        return ReduceOp::prod;
      case c10d::ReduceOp::MIN:
        return ReduceOp::min;
      case c10d::ReduceOp::MAX:
        return ReduceOp::max;
      case c10d::ReduceOp::BAND:
        return ReduceOp::band;
      case c10d::ReduceOp::BOR:
        return ReduceOp::bor;
      default:
        refuse(call, "the operator must be one of SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR; BXOR and PREMUL_SUM are not there");
    }
  }();
  if (!defined(ours, dtype)) refuse(call, c10::str(name_of(ours), " is defined on integers only, got ", name_of(dtype)));
  return ours;
}

ByteSpan bytes_of(const at::Tensor& t) { return {static_cast<std::byte*>(t.data_ptr()), t.nbytes()}; }

}  // namespace weft
