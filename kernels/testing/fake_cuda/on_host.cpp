#include "kernels/testing/fake_cuda/on_host.hpp"

#include <array>
#include <memory>

#include <ucontext.h>

namespace weft::fake_cuda {
namespace {

constexpr std::size_t stack_bytes = 64 * 1024;
constexpr unsigned warp = 32;

enum class State { runs, waits_for_block, waits_for_warp, ended };

struct Thread {
  ucontext_t context{};
  std::unique_ptr<std::byte[]> stack{new std::byte[stack_bytes]};
  State state = State::ended;
  std::array<std::uint64_t, warp>* lanes = nullptr;
};

std::vector<std::unique_ptr<Thread>> threads_of_block;
std::vector<std::array<std::uint64_t, warp>> lanes_of_warp;
ucontext_t scheduler;
Thread* running = nullptr;
const std::function<void()>* body = nullptr;

void run_body() {
  (*body)();
  running->state = State::ended;  // and back to the scheduler
}

void wait(State state) {
  running->state = state;
  ::swapcontext(&running->context, &scheduler);
}

// Lets those go on who wait for `state` in [first, end), if nobody there runs, or waits for less.
bool release(unsigned first, unsigned end, State state) {
  bool any = false;
  for (unsigned t = first; t < end; ++t) {
    const State s = threads_of_block[t]->state;
    if (s != state && s != State::ended) return false;
    any |= s == state;
  }
  for (unsigned t = first; t < end && any; ++t)
    if (threads_of_block[t]->state == state) threads_of_block[t]->state = State::runs;
  return any;
}

void begin(unsigned t) {
  Thread& thread = *threads_of_block[t];
  ::getcontext(&thread.context);
  thread.context.uc_stack = {.ss_sp = thread.stack.get(), .ss_flags = 0, .ss_size = stack_bytes};
  thread.context.uc_link = &scheduler;
  ::makecontext(&thread.context, run_body, 0);
  thread.state = State::runs;
  thread.lanes = &lanes_of_warp[t / warp];
}

void run_block(unsigned threads) {
  for (unsigned t = 0; t < threads; ++t) begin(t);
  for (bool again = true; again;) {
    for (unsigned t = 0; t < threads; ++t) {
      running = threads_of_block[t].get();
      if (running->state != State::runs) continue;
      threadIdx.x = t;
      ::swapcontext(&scheduler, &running->context);
    }
    again = false;
    for (unsigned first = 0; first < threads; first += warp)
      again |= release(first, std::min(first + warp, threads), State::waits_for_warp);
    again = again || release(0, threads, State::waits_for_block);
  }
}

}  // namespace

void wait_for_block() { wait(State::waits_for_block); }
void wait_for_warp() { wait(State::waits_for_warp); }
std::uint64_t* lanes() { return running->lanes->data(); }

void run_blocks(unsigned blocks, unsigned threads, const std::function<void()>& thread) {
  while (threads_of_block.size() < threads) threads_of_block.push_back(std::make_unique<Thread>());
  lanes_of_warp.resize(std::max<std::size_t>(lanes_of_warp.size(), (threads + warp - 1) / warp));
  body = &thread;
  blockDim.x = threads;
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) run_block(threads);
}

}  // namespace weft::fake_cuda
