#include "collectives/bench/worlds/trace.hpp"

#include "kernels/files/files.hpp"

#include <array>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weft::bench {

std::string_view name_of(Operation operation) {
  constexpr std::array<std::string_view, 4> names = {"send", "receive", "receive_reduce", "reduce"};
  return names[static_cast<std::size_t>(operation)];
}

double now_us() { return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void TracingTransport::note(Operation operation, Rank peer, Tag tag, std::size_t bytes) {
  last_ = weft::name_of(tag);
  records_.push_back({rank_, operation, peer, last_.channel, last_.step, static_cast<std::int32_t>(last_.position),
                      static_cast<std::int64_t>(bytes), now_us(), 0});
}

void TracingTransport::receive(Rank from, Tag tag, ByteSpan into) {
  note(Operation::receive, from, tag, into.size());
  inner_.receive(from, tag, into);
}

bool TracingTransport::receive_reduce(Rank from, Tag tag, DType dtype, ReduceOp op, ByteSpan into) {
  if (!inner_.receive_reduce(from, tag, dtype, op, into)) return false;
  note(Operation::receive_reduce, from, tag, into.size());
  return true;
}

void TracingTransport::send(Rank to, Tag tag, ByteView bytes) {
  note(Operation::send, to, tag, bytes.size());
  inner_.send(to, tag, bytes);
}

void TracingTransport::wait() {
  inner_.wait();
  const double end = now_us();
  for (; open_ < records_.size(); ++open_) records_[open_].end_us = end;
}

void TracingTransport::reduce(DType dtype, ReduceOp op, ByteSpan into, ByteView from) {
  const double start = now_us();
  inner_.reduce(dtype, op, into, from);
  records_.push_back(
      {rank_, Operation::reduce, rank_, last_.channel, last_.step, 0, static_cast<std::int64_t>(into.size()), start, now_us()});
  open_ = records_.size();
}

void write_trace(const std::string& path, const Settings& s, const std::vector<ClockOffset>& clocks, const std::vector<TracedRun>& runs) {
  using Json = nlohmann::ordered_json;
  std::ostringstream file;
  Json header = {{"format", "weft trace"},
                 {"version", 1},
                 {"system", fmt::format("weft bench, {} on {} ranks", s.transport, s.ranks)},
                 {"clock", "microseconds of each rank's steady clock; less offset_us of \"clocks\" it is rank 0's"},
                 {"clocks", Json::array()},
                 {"ranks", s.ranks},
                 {"collective", weft::name_of(s.collective)},
                 {"dtype", weft::name_of(s.dtype)},
                 {"op", weft::name_of(s.op)},
                 {"root", s.root},
                 {"transport", s.transport},
                 {"connections", s.connections},
                 {"channels", s.cut.channels},
                 {"pieces", s.cut.pieces},
                 {"group", s.cut.group},
                 {"inner", s.cut.inner},
                 {"up", s.cut.up},
                 {"down", s.cut.down},
                 {"servers", s.cut.servers},
                 {"server_hosts", weft::name_of(s.cut.server_hosts)},
                 {"switches", s.switches}};
  if (s.compression) header["compression"] = label(*s.compression);
  for (const ClockOffset& c : clocks) header["clocks"].push_back({{"offset_us", c.offset_us}, {"error_us", c.error_us}});
  file << header.dump() << '\n';
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const TracedRun& r = runs[run];
    file << Json{{"run", run}, {"algorithm", r.algorithm}, {"size_bytes", r.size_bytes}, {"times_us", r.times_us}}.dump() << '\n';
    for (const Record& record : r.records)
      file << Json{{"run", run},
                   {"rank", record.rank},
                   {"op", name_of(record.operation)},
                   {"peer", record.peer},
                   {"channel", record.channel},
                   {"step", record.step},
                   {"message", record.message},
                   {"bytes", record.bytes},
                   {"start_us", record.start_us},
                   {"end_us", record.end_us}}
                  .dump()
           << '\n';
  }
  write_file(path, file.str());
}

}  // namespace weft::bench
