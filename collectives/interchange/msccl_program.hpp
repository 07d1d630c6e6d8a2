// MSCCL's XML as it is written, before it is put into order.
#pragma once

#include "collectives/interchange/buffer_map.hpp"
#include "collectives/schedule/schedule.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct MscclPlace {
  BufferKind buffer = BufferKind::input;
  int offset = 0;
};

struct MscclStep {
  bool receives = false, reduces = false, stores = false, sends = false;
  bool local = false;  // cpy, or re where it reduces
  MscclPlace source = {}, destination = {};
  int count = 1;
  int wait_block = -1, wait_step = -1;  // ids, as written
  int number = 0;                       // as written
  int step = -1, position = -1;         // in Weft's schedule, where it was written by Weft
  int line = 0;

  bool is_nop() const { return !receives && !sends && !local; }
};

struct MscclBlock {
  int id = 0, send = -1, receive = -1, channel = 0;
  int line = 0;
  std::vector<MscclStep> steps = {};
};

struct MscclGpu {
  std::vector<MscclBlock> blocks = {};
  int line = 0;
};

struct MscclProgram {
  std::string name;
  BufferMap map;  // with no choice made yet
  Rank root = 0;
  int channels = 1;
  std::vector<MscclGpu> gpus = {};

  bool passes_sums_on() const;
};

// Numbers are in range, places in their buffers, peers and steps waited for exist. Throws InputError with all that is wrong.
MscclProgram parse_msccl(std::string_view text);

// What a type does, by its name in MSCCL; nothing where there is no such type.
std::optional<MscclStep> msccl_type(std::string_view type);

}  // namespace weft
