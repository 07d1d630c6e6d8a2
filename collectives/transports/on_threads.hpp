// Several threads that do one thing together, and all end with it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace weft {

// Runs body(0) to body(count - 1), each on a thread of its own, and returns when all have ended. Where one cannot be started,
// `stop` is called with the reason, which must end those that run, and RunError is thrown. `body` throws nothing.
void on_threads(std::size_t count, const std::function<void(std::size_t)>& body, const std::function<void(const std::string&)>& stop);

}  // namespace weft
