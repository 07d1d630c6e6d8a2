// What readers of node-by-node traces share: nodes with ids, of which some wait for others, become the operations of a rank.
#pragma once

#include "kernels/base/error.hpp"
#include "models/traces/traced_program.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace weft {

// How often something is missing, and where first.
class Missing {
 public:
  void add(std::string what, std::string where) {
    auto& [count, first] = found_[std::move(what)];
    if (count++ == 0) first = std::move(where);
  }
  // "FILE: node 17: what (and 5 more)"
  void move_to(std::vector<std::string>& out) {
    for (const auto& [what, seen] : found_)
      out.push_back(fmt::format("{}: {}{}", seen.second, what, seen.first > 1 ? fmt::format(" (and {} more)", seen.first - 1) : ""));
    found_.clear();
  }

 private:
  std::map<std::string, std::pair<std::size_t, std::string>> found_;
};

constexpr std::int64_t longest_traced_us = 9'000'000'000'000;  // 104 days: what the simulator's time holds
constexpr std::int64_t max_traced_bytes = std::int64_t{1} << 50;

constexpr const char* cut_off_parts = "the all-to-all leaves out some of its parts; the largest of the others is taken for all";

// A rank that is read node by node.
class RankBuilder {
 public:
  RankBuilder(std::string file, const char* record_name) : file_(std::move(file)) {
    rank_.file = file_;
    rank_.record_name = record_name;
  }

  std::string place(std::uint64_t record) const { return fmt::format("{}: {} {}", file_, rank_.record_name, record); }
  [[noreturn]] void refuse(std::uint64_t record, const std::string& what) const { throw InputError(place(record) + ": " + what); }

  // The group of this name, which all operations that name it share.
  int group(const TracedGroup& asked) {
    for (std::size_t g = 0; g < rank_.groups.size(); ++g)
      if (rank_.groups[g] == asked) return static_cast<int>(g);
    rank_.groups.push_back(asked);
    return static_cast<int>(rank_.groups.size() - 1);
  }

  // `waits_for`: ids of nodes.
  void add(std::uint64_t id, TracedOperation operation, std::vector<std::uint64_t> waits_for) {
    if (!index_.emplace(id, static_cast<std::uint32_t>(rank_.operations.size())).second) refuse(id, "a node before it has the same id");
    rank_.operations.push_back(operation);
    waits_.push_back(std::move(waits_for));
  }

  TracedRank& rank() { return rank_; }

  TracedRank finish(Missing& missing) {
    std::vector<std::vector<std::uint32_t>> after(waits_.size());
    for (std::size_t i = 0; i < waits_.size(); ++i) {
      for (const std::uint64_t id : waits_[i])
        if (const auto at = index_.find(id); at == index_.end())
          missing.add(fmt::format("it waits for node {}, which the trace does not have; taken as one that has ended", id),
                      place(rank_.operations[i].record));
        else if (at->second == i)
          refuse(rank_.operations[i].record, "waits for itself");
        else
          after[i].push_back(at->second);
      std::ranges::sort(after[i]);
      after[i].erase(std::unique(after[i].begin(), after[i].end()), after[i].end());
    }
    return in_order_of_dependence(std::move(rank_), after);
  }

 private:
  std::string file_;
  TracedRank rank_;
  std::unordered_map<std::uint64_t, std::uint32_t> index_;
  std::vector<std::vector<std::uint64_t>> waits_;
};

}  // namespace weft
