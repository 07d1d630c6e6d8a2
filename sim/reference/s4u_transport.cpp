#include "sim/reference/s4u_transport.hpp"

#include "kernels/base/error.hpp"
#include "kernels/reduce.hpp"

#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

namespace weft {
namespace {

using MessageBytes = std::vector<std::byte>;
MessageBytes no_data;  // the payload of a message that has a size only; SimGrid wants an address

void sleep(SimTime t) {
  if (t.ps > 0) simgrid::s4u::this_actor::sleep_for(t.seconds());
}

}  // namespace

void S4uTransport::receive(Rank from, Tag tag, ByteSpan into) {
  pay_debt();
  simgrid::s4u::Mailbox* box = mailbox(from_peer_[from], from, rank_, meets(into));
  Pending& p = add_pending();
  p.peer = from, p.tag = tag, p.receives = true, p.into = into;
  const S4uPath& path = directory_.path(from, rank_);
  const auto bytes = static_cast<std::int64_t>(into.size());
  p.overhead = message_costs_.behind(
      SimTime{std::llround(path.latency_s * 1e12)},
      std::max(SimTime{}, overheads_[static_cast<std::size_t>(path.nature.kind)] - path.nature.within_overhead), bytes, copied(path));
  p.comm = box->get_async<void>(&p.payload);
  debt_ += message_costs_.of(hardware_.receive_overhead, bytes);
  if (copied(path) && hardware_.copy_rate.count > 0) debt_ += Bytes{bytes} / hardware_.copy_rate;
}

void S4uTransport::send(Rank to, Tag tag, ByteView bytes) {
  pay_debt();
  Mailboxes& boxes = to_peer_[to];
  const auto count = static_cast<std::int64_t>(bytes.size());
  SimTime overhead;
  if (boxes.path == nullptr) {
    boxes.path = &directory_.path(rank_, to);
    if (connection_ < 0 || directory_.connects(connection_, rank_, to)) overhead = hardware_.first_use;
  }
  overhead += message_costs_.sending(hardware_.send_overhead, count, copied(*boxes.path));
  if (count >= hardware_.inline_threshold.count) overhead += message_costs_.of(hardware_.beyond_inline, count);
  sleep(overhead);
  boxes.path->bytes += static_cast<std::int64_t>(bytes.size());
  ++messages_sent_;
  // The receiver copies when it gets to run, and by then the sender may have written on.
  MessageBytes* payload = bytes.data() == nullptr ? &no_data : new MessageBytes(bytes.begin(), bytes.end());
  simgrid::s4u::Mailbox* box = mailbox(boxes, rank_, to, meets(bytes));
  const std::uint64_t carried = bytes.empty() ? directory_.bytes_of_an_empty_message() : bytes.size();
  if (leaves_at_once(bytes)) {
    box->put_init(payload, carried)->detach();
    return;
  }
  Pending& p = add_pending();
  p.peer = to, p.tag = tag, p.receives = false, p.overhead = {};
  p.comm = box->put_async(payload, carried);
}

void S4uTransport::wait() {
  double handed_s = 0;  // when the last message is in this rank's hands
  for (std::size_t i = 0; i < started_; ++i) {
    Pending& p = pending_[i];
    waiting_for_ = &p;
    p.comm->wait();
    if (p.overhead.ps > 0) handed_s = std::max(handed_s, p.comm->get_finish_time() + p.overhead.seconds());
    p.comm.reset();
    if (p.receives) deliver(p);
  }
  waiting_for_ = nullptr;
  started_ = 0;
  if (handed_s > simgrid::s4u::Engine::get_clock()) simgrid::s4u::this_actor::sleep_until(handed_s);
}

void S4uTransport::reduce(DType dtype, ReduceOp op, ByteSpan into, ByteView from) {
  debt_ += hardware_.reduce_launch;
  if (hardware_.reduce_rate.count > 0) debt_ += Bytes{static_cast<std::int64_t>(into.size())} / hardware_.reduce_rate;
  if (into.data() != nullptr) weft::reduce(dtype, op, into.data(), from.data(), into.size() / size_of(dtype));
}

void S4uTransport::copy(ByteSpan into, ByteView from) {
  if (hardware_.local_copy.ps > 0) {
    debt_ += hardware_.local_copy;
    if (hardware_.reduce_rate.count > 0) debt_ += Bytes{static_cast<std::int64_t>(into.size())} / hardware_.reduce_rate;
  }
  if (into.data() != nullptr) Transport::copy(into, from);
}

std::string S4uTransport::waiting() const {
  if (waiting_for_ == nullptr) return {};
  return fmt::format("rank {} waits for rank {} to {} {}", rank_, waiting_for_->peer, waiting_for_->receives ? "send" : "receive",
                     to_string(name_of(waiting_for_->tag)));
}

simgrid::s4u::Mailbox* S4uTransport::mailbox(Mailboxes& mailboxes, Rank from, Rank to, bool rendezvous) {
  simgrid::s4u::Mailbox*& box = rendezvous ? mailboxes.rendezvous : mailboxes.eager;
  if (box == nullptr) {
    box = simgrid::s4u::Mailbox::by_name(fmt::format("{}>{}/{}{}", from, to, channel_, rendezvous ? "r" : "e"));
    if (!rendezvous) box->set_receiver(directory_.actor(to, channel_));  // whoever of the two comes first, and again
  }
  return box;
}

S4uTransport::Pending& S4uTransport::add_pending() {
  if (started_ == pending_.size()) pending_.emplace_back();
  return pending_[started_++];
}

void S4uTransport::pay_debt() {
  if (debt_.ps > 0 && started_ == 0) sleep(std::exchange(debt_, {}));
}

void S4uTransport::deliver(Pending& p) {
  if (p.payload == &no_data) return;
  const std::unique_ptr<MessageBytes> payload(static_cast<MessageBytes*>(p.payload));
  if (payload->size() != p.into.size())
    throw RunError(fmt::format("rank {}: {} from rank {} has {} bytes, expected {}", rank_, to_string(name_of(p.tag)), p.peer,
                               payload->size(), p.into.size()));
  if (!payload->empty()) std::memcpy(p.into.data(), payload->data(), payload->size());
}

}  // namespace weft
