// For tests: ranks of a compressed all-reduce as threads, and gradients of whole numbers, whose sums are exact in any order.
#pragma once

#include "collectives/compression/compressor.hpp"
#include "collectives/transports/threads.hpp"

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace weft::test {

using Floats = std::vector<float>;

// What each rank threw, "" for nothing.
inline std::vector<std::string> errors_on_threads(int ranks, const std::function<void(Rank, Transport&)>& body) {
  ThreadsWorld world(ranks);
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (Rank r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      try {
        body(r, world.at(r));
      } catch (const std::exception& e) {
        errors[static_cast<std::size_t>(r)] = e.what();
        world.fail(e.what());
      }
    });
  for (std::thread& t : threads) t.join();
  return errors;
}

inline void on_threads(int ranks, const std::function<void(Rank, Transport&)>& body) {
  for (const std::string& error : errors_on_threads(ranks, body))
    if (!error.empty()) throw RunError(error);
}

inline Floats whole_numbers(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Floats values(count);
  for (float& v : values) v = static_cast<float>(static_cast<int>(random() % 201) - 100);
  return values;
}

// The same settings on all ranks, and what they do in steps one after the other.
class Team {
 public:
  Team(const CompressionSettings& settings, std::int64_t elements, int ranks) {
    for (Rank r = 0; r < ranks; ++r) compressors_.emplace_back(settings, std::vector<TensorShape>{{"gradient", elements}}, r, ranks);
  }
  // Every rank's gradient in, its result out.
  std::vector<Floats> step(std::vector<Floats> gradients) {
    on_threads(static_cast<int>(compressors_.size()), [&](Rank r, Transport& transport) {
      compressors_[static_cast<std::size_t>(r)].all_reduce(gradients[static_cast<std::size_t>(r)], transport);
    });
    return gradients;
  }
  Compressor& at(Rank r) { return compressors_[static_cast<std::size_t>(r)]; }

 private:
  std::vector<Compressor> compressors_;
};

// Of one step, different for every rank.
inline std::vector<Floats> gradients(int ranks, std::size_t elements, std::uint64_t step) {
  std::vector<Floats> out;
  for (Rank r = 0; r < ranks; ++r) out.push_back(whole_numbers(elements, step * 1000 + static_cast<std::uint64_t>(r)));
  return out;
}

inline Floats sum_of(const std::vector<Floats>& all) {
  Floats sum(all.front().size(), 0);
  for (const Floats& one : all)
    for (std::size_t i = 0; i < one.size(); ++i) sum[i] += one[i];
  return sum;
}

}  // namespace weft::test
