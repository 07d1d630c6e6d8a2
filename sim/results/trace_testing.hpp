// What Perfetto asks of a trace, as a check.
#pragma once

#include "sim/json/json_text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace weft {

// Slices of a track that overlap in part, slices on tracks without a name, arrows that do not begin and end once each within a slice.
inline std::vector<std::string> flaws_of_trace(const Json& events) {
  using Track = std::pair<int, int>;
  struct Slice {
    std::int64_t begin, end;  // ns
  };
  const auto ns = [](const Json& us) { return static_cast<std::int64_t>(std::llround(us.get<double>() * 1000)); };
  const auto track = [](const Json& event) { return Track(event.at("pid").get<int>(), event.at("tid").get<int>()); };
  std::vector<std::string> flaws;
  std::map<Track, std::vector<Slice>> slices;
  for (const Json& event : events) {
    if (event.at("ph") != "X") continue;
    const std::int64_t begin = ns(event.at("ts")), length = ns(event.at("dur"));
    if (length < 0 || begin < 0) flaws.push_back("a slice of negative time: " + event.dump());
    slices[track(event)].push_back({begin, begin + length});
  }
  for (auto& [at, list] : slices) {
    std::ranges::sort(list, [](const Slice& a, const Slice& b) { return a.begin != b.begin ? a.begin < b.begin : a.end > b.end; });
    std::vector<std::int64_t> open;
    for (const Slice& s : list) {
      while (!open.empty() && open.back() <= s.begin) open.pop_back();
      if (!open.empty() && s.end > open.back())
        flaws.push_back(fmt::format("process {}, thread {}: slices overlap in part at {} ns", at.first, at.second, s.begin));
      open.push_back(s.end);
    }
  }
  std::map<std::string, std::pair<int, int>> ends;
  for (const Json& event : events) {
    if (event.at("ph") != "s" && event.at("ph") != "f") continue;
    auto& [begins, finishes] = ends[event.at("id").get<std::string>()];
    ++(event.at("ph") == "s" ? begins : finishes);
    const std::int64_t at = ns(event.at("ts"));
    if (std::ranges::none_of(slices[track(event)], [&](const Slice& s) { return s.begin <= at && (at < s.end || s.begin == s.end); }))
      flaws.push_back("an arrow beside all slices: " + event.dump());
  }
  for (const auto& [id, count] : ends)
    if (count != std::pair(1, 1)) flaws.push_back(fmt::format("arrow {} has {} beginnings and {} ends", id, count.first, count.second));
  return flaws;
}

}  // namespace weft
