// What differs between versions of PyTorch, in one place: backends derive from ProcessGroup up to 1.13 and from Backend
// since 2.0.
#pragma once

#include <torch/csrc/api/include/torch/version.h>
#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace weft {

#if TORCH_VERSION_MAJOR >= 2
using TorchBackend = ::c10d::Backend;
#else
using TorchBackend = ::c10d::ProcessGroup;
#endif

}  // namespace weft
