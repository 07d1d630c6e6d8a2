#include "collectives/bench/trace.hpp"

#include "kernels/error.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

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
  Json all = {{"format", "weft bench trace"},
              {"schema", 1},
              {"transport", s.transport},
              {"collective", weft::name_of(s.collective)},
              {"dtype", weft::name_of(s.dtype)},
              {"op", weft::name_of(s.op)},
              {"ranks", s.ranks},
              {"root", s.root},
              {"channels", s.cut.channels},
              {"pieces", s.cut.pieces},
              {"group", s.cut.group},
              {"switches", s.switches},
              {"connections", s.connections},
              {"clocks", Json::array()},
              {"runs", Json::array()}};
  for (const ClockOffset& c : clocks) all["clocks"].push_back({{"offset_us", c.offset_us}, {"error_us", c.error_us}});
  for (const TracedRun& run : runs) {
    Json operations = Json::array();
    for (const Record& r : run.records)
      operations.push_back({{"rank", r.rank},
                            {"op", name_of(r.operation)},
                            {"peer", r.peer},
                            {"channel", r.channel},
                            {"step", r.step},
                            {"message", r.message},
                            {"bytes", r.bytes},
                            {"start_us", r.start_us},
                            {"end_us", r.end_us}});
    all["runs"].push_back(
        {{"algorithm", run.algorithm}, {"size_bytes", run.size_bytes}, {"times_us", run.times_us}, {"operations", std::move(operations)}});
  }
  std::ofstream file(path);
  file << all.dump(1) << '\n';
  file.close();
  if (!file) throw InputError(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
}

}  // namespace weft::bench
