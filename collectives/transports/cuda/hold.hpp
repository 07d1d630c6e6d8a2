// Holds back what is enqueued on a stream until it is let go: what follows starts together, however long enqueuing takes.
#pragma once

#include "collectives/transports/cuda/handles.hpp"

#include <atomic>
#include <thread>

namespace weft::cuda {

class Hold {
 public:
  Hold() = default;
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  void put_on(const OwnedStream& stream) {
    let_go_ = false;
    check_cuda(cudaLaunchHostFunc(stream.get(), &Hold::wait, this), "cudaLaunchHostFunc");
  }
  void let_go() { let_go_ = true; }

 private:
  static void CUDART_CB wait(void* hold) {
    while (!static_cast<const Hold*>(hold)->let_go_) std::this_thread::yield();
  }
  std::atomic<bool> let_go_ = true;
};

// Lets go at the end of a block, whatever happens in it.
struct LetGo {
  Hold& hold;
  explicit LetGo(Hold& h) : hold(h) {}
  LetGo(const LetGo&) = delete;
  LetGo& operator=(const LetGo&) = delete;
  ~LetGo() { hold.let_go(); }
};

}  // namespace weft::cuda
