#include "collectives/transports/on_threads.hpp"

#include "kernels/base/error.hpp"

#include <system_error>
#include <thread>
#include <vector>

namespace weft {

void on_threads(std::size_t count, const std::function<void(std::size_t)>& body, const std::function<void(const std::string&)>& stop) {
  std::string reason;
  {
    std::vector<std::jthread> threads;
    threads.reserve(count);
    try {
      while (threads.size() < count) threads.emplace_back([&body, i = threads.size()] { body(i); });
    } catch (const std::system_error& e) {
      reason = fmt::format(
          "cannot start thread {} of {}: {} (each needs memory for its stack and a place among the processes and threads, ulimit -v and "
          "-u)",
          threads.size() + 1, count, e.code().message());
      stop(reason);
    }
  }
  if (!reason.empty()) throw RunError(reason);
}

}  // namespace weft
