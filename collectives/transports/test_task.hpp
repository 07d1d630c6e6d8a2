// For tests: what runs beside the test's own thread. It is joined whatever becomes of the test, and what it throws is a text, so
// that a wait that fails fails its case and not the program.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace weft {

class TestTask {
 public:
  explicit TestTask(std::function<void()> run) : thread_([this, run = std::move(run)] { error_ = error_of(run); }) {}
  TestTask(const TestTask&) = delete;
  TestTask& operator=(const TestTask&) = delete;

  // What it threw, once it has ended; "" for nothing.
  std::string error() {
    if (thread_.joinable()) thread_.join();
    return error_;
  }

 private:
  static std::string error_of(const std::function<void()>& run) {
    try {
      run();
      return {};
    } catch (const std::exception& e) {
      return e.what();
    }
  }

  std::string error_;
  std::jthread thread_;
};

}  // namespace weft
