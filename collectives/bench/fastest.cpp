#include "collectives/bench/fastest.hpp"

#include "collectives/registry/registry.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace weft::bench {
namespace {

// All that can run as they are; what they need is not to be invented here, as a group or a plan from a file.
std::vector<PlannedAlgorithm> candidates(const Settings& s, const Medium& medium) {
  std::vector<std::string> names = {"one_shot", "two_shot"};
  if (!medium.library().empty()) names.emplace_back(medium.library());
  for (const Algorithm& a : algorithms())
    if (a.collective == s.collective) names.emplace_back(a.name);
  std::vector<PlannedAlgorithm> all;
  for (const std::string& name : names) {
    Settings one = s;
    one.algorithms = {name};
    try {
      all.push_back(std::move(plan(one, medium).front()));
    } catch (const InputError&) {  // it is none
    }
  }
  return all;
}

// What each has measured at one of the sizes; without those that cannot run.
struct Choice {
  const PlannedAlgorithm* fastest = nullptr;
  std::int64_t elements = 0;
};

}  // namespace

bool chooses_by_measuring(const Settings& s) { return s.algorithms == std::vector<std::string>{"auto"} && s.selection.empty(); }

std::string note_of(const Fastest& fastest) {
  return fmt::format("auto: the fastest of {} runs of each algorithm that can run: {}", runs_to_choose_by, fastest.text);
}

Fastest fastest_algorithms(const Settings& s, const Medium& medium,
                           const std::function<double(const PlannedAlgorithm&, std::int64_t elements)>& time) {
  std::vector<PlannedAlgorithm> all = candidates(s, medium);
  std::size_t sizes = 0;
  for (const PlannedAlgorithm& a : all) sizes = std::max(sizes, a.elements.size());
  // Of equal blocks some have fewer sizes that differ, and are not to be compared one by one.
  std::erase_if(all, [&](const PlannedAlgorithm& a) { return a.elements.size() != sizes; });
  std::vector<Choice> choices(sizes);
  std::vector<double> least_us(sizes);
  for (const PlannedAlgorithm& a : all) {
    try {
      for (std::size_t i = 0; i < a.elements.size(); ++i) {
        const double time_us = time(a, a.elements[i]);
        if (choices[i].fastest != nullptr && least_us[i] <= time_us) continue;
        choices[i] = {&a, a.elements[i]};
        least_us[i] = time_us;
      }
    } catch (const InputError&) {  // it cannot run on these devices
    }
  }
  Fastest out;
  const PlannedAlgorithm* last = nullptr;
  for (const Choice& c : choices) {
    if (c.fastest == nullptr)
      throw InputError(fmt::format("--algorithm auto: no {} of {} {} runs here", name_of(s.collective), name_of(s.dtype), name_of(s.op)));
    if (c.fastest != last) {
      out.algorithms.push_back(*c.fastest);
      out.algorithms.back().elements.clear();
      last = c.fastest;
    }
    out.algorithms.back().elements.push_back(c.elements);
  }
  const auto unit = static_cast<std::int64_t>(size_of(s.dtype));
  for (const PlannedAlgorithm& a : out.algorithms)
    out.text += fmt::format("{}{} to {} B", out.text.empty() ? "" : ", ", a.name, a.elements.back() * unit);
  return out;
}

}  // namespace weft::bench
