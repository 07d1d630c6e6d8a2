#include "collectives/transports/tcp_hello.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace weft {

std::string Hello::job_text() const { return {job.begin(), std::find(job.begin(), job.end(), '\0')}; }

std::string Hello::contradiction() const {
  constexpr std::int32_t most = 1 << 20;
  if (ranks < 1 || ranks > most || rank < 0 || rank >= ranks) return fmt::format("it says that it is rank {} of {}", rank, ranks);
  if (channels < 1 || channels > most || channel < control_channel || channel >= channels)
    return fmt::format("it says that it is channel {} of {}", channel, channels);
  if (connections < 1 || connections > most || connection < 0 || connection >= (channel == control_channel ? 1 : connections))
    return fmt::format("it says that it is connection {} of {}", connection, connections);
  const std::string text = job_text();
  if (!std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; })) return "it says a job with characters that no job has";
  return {};
}

Proof proof_of(std::string_view secret, Side side, const Hello& of_caller, const Hello& of_answerer) {
  std::vector<std::byte> message = {static_cast<std::byte>(side)};
  for (const Hello* h : {&of_caller, &of_answerer}) {
    const auto bytes = std::as_bytes(std::span(h, 1));
    message.insert(message.end(), bytes.begin(), bytes.end());
  }
  return keyed_hash(std::as_bytes(std::span(secret)), message);
}

Answerer introduce(const Socket& socket, Hello& ours, std::string_view secret, Deadline deadline) {
  fill_with_random_bytes(ours.nonce);
  Hello theirs;
  Proof proof;
  if (!socket.write_all(std::as_bytes(std::span(&ours, 1)), deadline)) return Answerer::lost;
  if (!socket.read_all(std::as_writable_bytes(std::span(&theirs, 1)), deadline)) return Answerer::lost;
  if (theirs.magic != Hello::our_magic || theirs.version != Hello::our_version) return Answerer::another_program;
  if (!socket.read_all(std::span(proof), deadline)) return Answerer::lost;
  if (!equal_in_constant_time(proof, proof_of(secret, Side::answerer, ours, theirs))) return Answerer::without_the_secret;
  return socket.write_all(proof_of(secret, Side::caller, ours, theirs), deadline) ? Answerer::proven : Answerer::lost;
}

Caller::State Caller::refuse(std::string why) {
  why_refused_ = std::move(why);
  socket_.close();
  return State::refused;
}

Caller::State Caller::advance() {
  constexpr std::size_t head = offsetof(Hello, rank);
  if (!greeted_) {
    const bool open = hello_.take(socket_);
    const Hello& h = hello_.value;
    const std::size_t of_magic = std::min(hello_.read, h.magic.size());
    if (!std::equal(h.magic.begin(), h.magic.begin() + static_cast<std::ptrdiff_t>(of_magic), Hello::our_magic.begin()))
      return refuse("it is not weft");
    if (hello_.read >= head && h.version != Hello::our_version) {
      static_cast<void>(socket_.write_some(std::as_bytes(std::span(&ours_, 1)), {}));  // so that it can say so too
      return refuse(fmt::format("it speaks protocol version {}, and this is {}", h.version, Hello::our_version));
    }
    if (!open) return refuse("it hung up");
    if (!hello_.complete()) return State::waits;
    return answer();
  }
  if (!proof_.take(socket_)) return refuse("it hung up");
  if (!proof_.complete()) return State::waits;
  if (!equal_in_constant_time(proof_.value, proof_of(secret_, Side::caller, hello_.value, ours_)))
    return refuse("it does not know the job's secret");
  return State::proven;
}

Caller::State Caller::answer() {
  const Hello& theirs = hello_.value;
  if (std::string why = theirs.contradiction(); !why.empty()) return refuse(std::move(why));
  ours_.channel = theirs.channel;
  ours_.connection = theirs.connection;
  fill_with_random_bytes(ours_.nonce);
  const Proof proof = proof_of(secret_, Side::answerer, theirs, ours_);
  // A new connection has room for so few bytes.
  const auto put = socket_.write_some(std::as_bytes(std::span(&ours_, 1)), std::as_bytes(std::span(proof)));
  if (put != sizeof ours_ + sizeof proof) return refuse("it hung up");
  greeted_ = true;
  return advance();
}

}  // namespace weft
