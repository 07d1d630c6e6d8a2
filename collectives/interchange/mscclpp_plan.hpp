// MSCCL++'s execution plans (JSON) as they are written, before anything is executed: what each thread block of each GPU does, with the
// places, channels and semaphores of every operation resolved.
#pragma once

#include "collectives/interchange/buffer_map.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// A part of a buffer, in chunks of the message that is lowered (BufferMap); `packet` where it is read or written as packets, whose flags
// say when they are there.
struct PlanRange {
  Rank rank = 0;
  BufferKind buffer = BufferKind::input;
  int first = 0, count = 1;
  bool packet = false;
};

// The sum of the sources goes to every result. With one source it is a copy.
struct PlanSum {
  std::vector<PlanRange> sources = {}, results = {};
};

enum class PlanSync { none, signal, wait, barrier, acquire, release };

// Where Weft's schedule has the transfer, in files that Weft wrote.
struct PlanPosition {
  int channel = 0, step = 0, position = 0;
};

struct PlanOperation {
  std::string name;
  int number = 0;  // in its thread block; those of a pipeline count on
  std::vector<PlanSum> sums = {};
  PlanSync sync = PlanSync::none;  // after the sums
  std::vector<int> ids = {};       // of ways of signals, of semaphores, or of the one barrier
  std::optional<PlanPosition> said = {};
};

struct PlanBlock {
  Rank gpu = 0;
  int id = 0;
  std::vector<PlanOperation> operations = {};
};

// Signals of one GPU to another on one of their channels.
struct PlanWay {
  Rank from = 0, to = 0;
};

struct MscclppPlan {
  std::string name;
  BufferMap map;  // with no choice made yet
  Rank root = 0;  // as Weft writes it; MSCCL++ has no collective with a root
  std::vector<PlanBlock> blocks = {};
  std::vector<PlanWay> ways = {};
  std::vector<int> semaphores = {};  // initial values
  std::vector<int> barriers = {};    // thread blocks that meet
};

// Numbers are in range, places in their buffers, channels, semaphores and remote buffers exist. Throws InputError with all that is wrong,
// each with its JSON pointer.
MscclppPlan parse_mscclpp(std::string_view text);

}  // namespace weft
