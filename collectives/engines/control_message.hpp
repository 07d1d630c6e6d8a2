// Bytes of control messages: unsigned integers, least significant byte first.
#pragma once

#include "kernels/base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

enum class ControlKind : std::uint8_t { agreement = 1, ready_list = 2, answer = 3 };

class ControlWriter {
 public:
  explicit ControlWriter(ControlKind kind) { put(static_cast<std::uint8_t>(kind)); }
  template <class Integer>
  void put(Integer value) {
    for (std::size_t i = 0; i < sizeof value; ++i) bytes_.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i)));
  }
  void pad(std::size_t bytes) { bytes_.resize(bytes_.size() + bytes); }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Throws RunError when the message ends early: it came over the network.
class ControlReader {
 public:
  explicit ControlReader(std::span<const std::byte> bytes) : bytes_(bytes), kind_(static_cast<ControlKind>(get<std::uint8_t>())) {}
  ControlKind kind() const { return kind_; }
  template <class Integer>
  Integer get() {
    need(sizeof(Integer));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Integer); ++i) value |= std::to_integer<std::uint64_t>(bytes_[at_++]) << (8 * i);
    return static_cast<Integer>(value);
  }
  void skip(std::size_t bytes) { need(bytes), at_ += bytes; }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  void need(std::size_t bytes) const {
    if (bytes_.size() - at_ < bytes) throw RunError("a control message of an engine ends early");
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  ControlKind kind_;
};

}  // namespace weft
