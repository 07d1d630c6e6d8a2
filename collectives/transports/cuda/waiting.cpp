#include "collectives/transports/cuda/waiting.hpp"

#include <thread>

namespace weft::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds between_looks{1};

bool has_come(const OwnedEvent& event) {
  const cudaError_t error = cudaEventQuery(event.get());
  if (error == cudaSuccess) return true;
  if (error != cudaErrorNotReady) check_cuda(error, "a collective on the device");
  static_cast<void>(cudaGetLastError());  // "not ready" would be reported by the next launch
  return false;
}

}  // namespace

void await(const OwnedEvent& event, const Waiting& waiting, const std::string& work) {
  Lookout* const lookout = waiting.lookout;
  const auto begin = Clock::now();
  bool told = false;
  for (auto next_look = begin + between_looks; !has_come(event);) {
    const auto now = Clock::now();
    if (now < next_look) continue;
    if (lookout != nullptr) lookout->look();
    if (lookout != nullptr && !told && now - begin > waiting.patience / 2) {
      lookout->tell_waiting("its device to end " + work);
      told = true;
    }
    if (now - begin > waiting.patience)
      throw StuckError(fmt::format("the devices have not ended their work ({}) after {} ms{}", work, waiting.patience.count(),
                                   lookout != nullptr ? lookout->others() : ""));
    next_look = now + between_looks;
    std::this_thread::yield();
  }
  if (told) lookout->tell_waiting("");
}

}  // namespace weft::cuda
