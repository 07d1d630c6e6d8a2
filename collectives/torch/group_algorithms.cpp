#include "collectives/torch/group_algorithms.hpp"

#include "collectives/schedule/verify.hpp"
#include "kernels/base/error.hpp"

#include <bit>
#include <charconv>
#include <vector>

#include <fmt/format.h>

namespace weft {
namespace {

// Up to here the number of steps decides, above it the number of bytes.
constexpr std::int64_t small_message = 32 * 1024;

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

class Asked {
 public:
  explicit Asked(int ranks) : ranks_(ranks) {}

  void read(std::string_view item) {
    const std::vector<std::string_view> parts = split(item, '/');
    Request q{.ranks = ranks_};
    std::string_view name = parts.front();
    if (const std::size_t equals = name.find('='); equals != std::string_view::npos) {
      const auto collective = collective_named(name.substr(0, equals));
      if (!collective) return problem(item, fmt::format("unknown collective \"{}\"", name.substr(0, equals)));
      q.collective = *collective;
      name.remove_prefix(equals + 1);
    }
    q.algorithm = std::string(name);
    for (std::size_t i = 1; i < parts.size(); ++i)
      if (!setting(item, parts[i], q.settings)) return;
    if (const Algorithm* a = find_algorithm(q.collective, q.algorithm); a != nullptr && a->chooses != nullptr && !a->takes_inner)
      problem(item, "is another algorithm for each size: name one of them, or leave it out for the choice by size that is made here");
    for (const Problem& p : constraints(q)) problem(item, p.where.substr(1) + ": " + p.what);
    if (!requests.emplace(q.collective, q).second) problem(item, fmt::format("{} is named twice", name_of(q.collective)));
  }

  std::map<Collective, Request> requests;
  std::vector<std::string> problems;

 private:
  bool setting(std::string_view item, std::string_view text, AlgorithmSettings& settings) {
    const std::size_t equals = text.find('=');
    const std::string_view key = text.substr(0, equals);
    int* const into = key == "group"     ? &settings.group
                      : key == "servers" ? &settings.servers
                      : key == "pieces"  ? &settings.pieces
                                         : nullptr;
    if (into == nullptr) return problem(item, fmt::format("unknown setting \"{}\", must be one of group, servers, pieces", key)), false;
    const std::string_view value = equals == std::string_view::npos ? "" : text.substr(equals + 1);
    const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), *into);
    if (error != std::errc{} || stop != value.data() + value.size())
      return problem(item, fmt::format("{} must be a whole number, got \"{}\"", key, value)), false;
    return true;
  }
  void problem(std::string_view item, const std::string& what) { problems.push_back(fmt::format("WEFT_ALGORITHM: {}: {}", item, what)); }
  int ranks_;
};

}  // namespace

GroupAlgorithms::GroupAlgorithms(int ranks, std::string_view asked) : ranks_(ranks) {
  if (asked.empty()) return;
  Asked reader(ranks);
  for (const std::string_view item : split(asked, ',')) reader.read(item);
  if (!reader.problems.empty()) throw InputError(reader.problems);
  asked_ = std::move(reader.requests);
}

Request GroupAlgorithms::by_size(Collective collective, std::int64_t bytes) const {
  const bool small = bytes <= small_message;
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(ranks_));
  const auto name = [&]() -> const char* {
    switch (collective) {
      case Collective::allreduce:
        return small ? "recursive_doubling" : power_of_two ? "halving_doubling" : "ring";
      case Collective::reduce_scatter:
        return power_of_two ? "halving_doubling" : "ring";
      case Collective::allgather:
        return small ? "bruck" : "ring";
      case Collective::broadcast:
        return small || ranks_ == 2 ? "binomial_tree" : "scatter_allgather";
      case Collective::reduce:
        return small || ranks_ == 2 ? "binomial_tree" : "reduce_scatter_gather";
      case Collective::alltoall:
        return "pairwise";
      case Collective::barrier:
        return "dissemination";
    }
    return "";
  };
  return {.collective = collective, .algorithm = name(), .ranks = ranks_};
}

const Request& GroupAlgorithms::request(Collective collective, std::int64_t bytes) {
  if (const auto found = asked_.find(collective); found != asked_.end()) return found->second;
  Request q = by_size(collective, bytes);
  const auto key = std::pair(collective, q.algorithm);
  return chosen_.try_emplace(key, std::move(q)).first->second;
}

const Schedule& GroupAlgorithms::schedule(Collective collective, Rank root, std::int64_t bytes) {
  Request q = request(collective, bytes);
  q.root = root;
  const auto key = std::tuple(collective, q.algorithm, root);
  const auto found = built_.find(key);
  if (found != built_.end()) return found->second;
  Schedule made = build(q);
  const std::vector<std::string> wrong = verify(made);
  check(wrong.empty(), "{} {} of {} ranks is wrong: {}", q.algorithm, name_of(collective), ranks_, wrong.empty() ? "" : wrong.front());
  return built_.emplace(key, std::move(made)).first->second;
}

}  // namespace weft
