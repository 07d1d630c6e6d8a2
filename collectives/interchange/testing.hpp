// What the tests of the readers of schedules share: example files, texts with one place changed, and nearly right texts.
#pragma once

#include "collectives/interchange/imported.hpp"
#include "kernels/base/error.hpp"
#include "kernels/testing/mutations.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace weft {

inline std::string example(const std::string& name) {
  std::ifstream in(std::filesystem::path(WEFT_INTERCHANGE_EXAMPLES) / name);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

// The message with which read_schedule() refuses this text.
inline std::string refused(const std::string& text) {
  try {
    read_schedule(text);
    return "was read";
  } catch (const InputError& e) {
    return e.what();
  }
}

inline std::string changed(std::string text, const std::string& what, const std::string& into) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), into);
}

// How many of so many texts that are nearly one of the seeds are read; all others must be refused.
inline int read_of_mutations(std::vector<std::string> seeds, std::uint64_t seed, int rounds) {
  Mutations mutations(std::move(seeds), seed);
  int read = 0;
  for (int round = 0; round < rounds; ++round) {
    try {
      const Schedule s = read_schedule(mutations.next());
      CHECK(s.ranks >= 1);
      ++read;
    } catch (const InputError&) {
    }
  }
  return read;
}

}  // namespace weft
