// How the processes of a job find out that they belong together, before any data. On every connection
//
//   the caller says    a Hello
//   the answerer says  a Hello, and the proof that it knows the job's secret
//   the caller says    its own proof
//
// A proof is a keyed hash of both hellos, each of which holds a random number of its side, so no proof is good a second time. Whatever
// a stranger says, it is refused without a word of the secret, and nothing that it says is used before it is checked.
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "collectives/transports/job_secret.hpp"
#include "collectives/transports/tcp_socket.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace weft {

// Plain memory of a little-endian machine; another kind shows a wrong version.
struct Hello {
  static constexpr std::array<char, 4> our_magic = {'W', 'E', 'F', 'T'};
  static constexpr std::uint32_t our_version = 2;  // of what goes over the wire
  static constexpr std::size_t job_size = 200;
  static constexpr std::int32_t control_channel = -1;

  std::array<char, 4> magic = our_magic;
  std::uint32_t version = our_version;
  std::int32_t rank = 0;
  std::int32_t ranks = 1;
  std::int32_t channels = 1;
  std::int32_t connections = 1;
  std::int32_t channel = control_channel;  // of this connection
  std::int32_t connection = 0;
  std::array<std::byte, 16> nonce = {};
  std::array<char, job_size> job = {};

  std::string job_text() const;
  // Why this cannot be the hello of any rank of any job: its fields contradict each other. "" where they do not.
  std::string contradiction() const;
};
static_assert(std::has_unique_object_representations_v<Hello> && std::endian::native == std::endian::little);

enum class Side : std::uint8_t { caller, answerer };
Proof proof_of(std::string_view secret, Side, const Hello& of_caller, const Hello& of_answerer);

// The caller's side, until `deadline`: gives `ours` its random number, and says who the answerer is.
enum class Answerer { proven, lost, another_program, without_the_secret };
Answerer introduce(const Socket& socket, Hello& ours, std::string_view secret, Deadline deadline);

// What is read bit by bit, and never beyond its end: what follows belongs to somebody else.
template <class T>
struct Arriving {
  T value = {};
  std::size_t read = 0;

  bool complete() const { return read == sizeof(T); }
  // False where the connection is over.
  bool take(const Socket& from) {
    while (!complete()) {
      const auto got = from.read_some(std::as_writable_bytes(std::span(&value, 1)).subspan(read));
      if (!got) return false;
      if (*got == 0) return true;
      read += *got;
    }
    return true;
  }
};

// Somebody who called, until it is known whether it is of our job.
class Caller {
 public:
  enum class State { waits, proven, refused };

  // `ours` is what we say of ourselves, but for the channel and connection, which are the caller's to say.
  Caller(Socket socket, const Hello& ours, std::string_view secret) : socket_(std::move(socket)), ours_(ours), secret_(secret) {}

  // Takes what has come, without waiting.
  State advance();
  const Socket& socket() const { return socket_; }
  Socket& socket() { return socket_; }
  bool greeted() const { return greeted_; }
  const Hello& hello() const { return hello_.value; }  // of a proven one; it does not contradict itself
  const std::string& why_refused() const { return why_refused_; }

 private:
  State refuse(std::string why);
  State answer();

  Socket socket_;
  Hello ours_;
  std::string_view secret_;
  Arriving<Hello> hello_;
  Arriving<Proof> proof_;
  bool greeted_ = false;  // its hello has come and was answered
  std::string why_refused_;
};

}  // namespace weft
