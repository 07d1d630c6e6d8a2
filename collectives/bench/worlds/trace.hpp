// Every operation of a run with its times, and the file they go to.
#pragma once

#include "collectives/bench/settings/settings.hpp"
#include "collectives/executors/transport.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::bench {

enum class Operation : std::int32_t { send, receive, receive_reduce, reduce };
std::string_view name_of(Operation);

// Times are microseconds of the rank's own clock. Sends and receives of a step end together, when the rank goes on.
struct Record {
  Rank rank = 0;
  Operation operation = Operation::send;
  Rank peer = 0;  // the rank itself for reduce
  std::int32_t channel = 0;
  std::int32_t step = 0;
  std::int32_t message = 0;  // its position in the step
  std::int64_t bytes = 0;
  double start_us = 0;
  double end_us = 0;
};

double now_us();

// Passes everything on and notes it down.
class TracingTransport final : public Transport {
 public:
  TracingTransport(Transport& inner, Rank rank, std::vector<Record>& records) : inner_(inner), rank_(rank), records_(records) {}

  void receive(Rank from, Tag tag, ByteSpan into) override;
  bool receive_reduce(Rank from, Tag tag, DType dtype, ReduceOp op, ByteSpan into) override;
  void send(Rank to, Tag tag, ByteView bytes) override;
  void wait() override;
  void reduce(DType dtype, ReduceOp op, ByteSpan into, ByteView from) override;

 private:
  void note(Operation, Rank peer, Tag, std::size_t bytes);

  Transport& inner_;
  Rank rank_;
  std::vector<Record>& records_;
  std::size_t open_ = 0;  // the first record of the present step
  MessageName last_;
};

// A clock compared with rank 0's: what it shows more, and by how much that may be wrong.
struct ClockOffset {
  double offset_us = 0;
  double error_us = 0;
};

struct TracedRun {
  std::string algorithm;
  std::int64_t size_bytes = 0;
  std::vector<double> times_us;  // of the runs that count: the slowest rank of each
  std::vector<Record> records;   // of the one that was traced
};

// JSON lines, as validation/measurements/README.md describes them for `weft calibrate` and `weft replay`. Throws InputError if the file
// cannot be written.
void write_trace(const std::string& path, const Settings&, const std::vector<ClockOffset>& clocks, const std::vector<TracedRun>& runs);

}  // namespace weft::bench
