#include "collectives/bench/device_run.hpp"

namespace weft::bench {

Operation operation_of(MarkedOperation::What what) {
  switch (what) {
    case MarkedOperation::What::send:
      return Operation::send;
    case MarkedOperation::What::receive:
      return Operation::receive;
    case MarkedOperation::What::receive_reduce:
      return Operation::receive_reduce;
    case MarkedOperation::What::reduce:
      break;
  }
  return Operation::reduce;
}

void DeviceRun::prepare(const Buffer& data, Marks marks) {
  device_.prepare({.schedule = algorithm_.schedule,
                   .algorithm = algorithm_.name,
                   .library = algorithm_.library,
                   .elements = data.layout.elements,
                   .dtype = settings_.dtype,
                   .op = settings_.op,
                   .marks = marks == Marks::on});
  write(data);
  if (!settings_.graph) return;
  device_.run(1);
  device_.capture();
}

std::vector<Record> DeviceRun::records() const {
  const std::vector<double> times_us = device_.marks_us();
  const double began_us = device_.clock_began().offset_us;
  std::vector<Record> records;
  for (const MarkedOperation& m : device_.marked())
    if (m.rank == rank_)
      records.push_back({m.rank, operation_of(m.what), m.peer, m.channel, m.step, m.message, m.bytes,
                         began_us + times_us[static_cast<std::size_t>(m.start)], began_us + times_us[static_cast<std::size_t>(m.end)]});
  return records;
}

}  // namespace weft::bench
