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
  Messenger* const messenger = waiting.messenger;
  const auto begin = Clock::now();
  bool told = false;
  for (auto next_look = begin + between_looks; !has_come(event);) {
    const auto now = Clock::now();
    if (now < next_look) continue;
    if (messenger != nullptr) messenger->look();
    if (messenger != nullptr && !told && now - begin > waiting.patience / 2) {
      messenger->tell_waiting("its device to end " + work);
      told = true;
    }
    if (now - begin > waiting.patience)
      throw StuckError(fmt::format("the devices have not ended their work ({}) after {} ms{}", work, waiting.patience.count(),
                                   messenger != nullptr ? messenger->others() : ""));
    next_look = now + between_looks;
    std::this_thread::yield();
  }
  if (told) messenger->tell_waiting("");
}

}  // namespace weft::cuda
