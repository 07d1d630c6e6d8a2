#include "validation/train/groups.hpp"

namespace weft::train {
namespace {

using Group = std::vector<const Run*>;

std::string percents(const Spread& s) { return fmt::format("{:.1f} ({:.1f} to {:.1f})", 100 * s.mean, 100 * s.least, 100 * s.most); }

std::string accuracy_table(const std::vector<Group>& groups) {
  std::string out = "| epoch |", rule = "|---:|";
  for (const Group& group : groups) {
    out += fmt::format(" {} |", label(group.front()->settings.compression));
    rule += "---|";
  }
  out += "\n" + rule + "\n";
  for (std::size_t epoch = 0; epoch < groups.front().front()->curve.size(); ++epoch) {
    out += fmt::format("| {} |", epoch + 1);
    for (const Group& group : groups)
      out += fmt::format(" {} |", percents(spread_of(group, [epoch](const Run& r) { return r.curve[epoch].accuracy; })));
    out += "\n";
  }
  return out;
}

// Seconds to the target on one cluster; nothing where a seed never gets there.
std::optional<Spread> time_of(const Group& group, double target, std::size_t cluster) {
  for (const Run* run : group)
    if (!reached(*run, target)) return std::nullopt;
  return spread_of(group,
                   [&](const Run& r) { return r.seconds_on(r.others.empty() ? r.steps : r.others[cluster].steps, *reached(r, target)); });
}

std::string time_table(const std::vector<Group>& groups, double target) {
  const Run& first = *groups.front().front();
  const std::size_t clusters = std::max<std::size_t>(first.others.size(), 1);
  std::string out = "| compression | bytes a step |", rule = "|---|---:|";
  for (std::size_t i = 0; i < clusters; ++i) {
    out += fmt::format(" {} |", first.others.empty() ? "s" : first.others[i].name + ", s");
    rule += "---:|";
  }
  out += "\n" + rule + "\n";
  std::vector<double> fastest(clusters, INFINITY);
  for (const Group& group : groups)
    for (std::size_t i = 0; i < clusters; ++i)
      if (const auto time = time_of(group, target, i)) fastest[i] = std::min(fastest[i], time->mean);
  for (const Group& group : groups) {
    out += fmt::format("| {} | {} |", label(group.front()->settings.compression), group.front()->curve.back().bytes_per_step);
    for (std::size_t i = 0; i < clusters; ++i) {
      const auto time = time_of(group, target, i);
      const char* bold = time && time->mean <= fastest[i] ? "**" : "";
      out += time ? fmt::format(" {}{:.3g}{} ({:.3g} to {:.3g}) |", bold, time->mean, bold, time->least, time->most) : " never |";
    }
    out += "\n";
  }
  return out;
}

}  // namespace

std::string to_page(const std::vector<Run>& runs, double target, const std::string& command) {
  const std::vector<Group> groups = by_compression(runs);
  const Run& first = runs.front();
  std::string out = fmt::format(
      "# Time to accuracy\n\nWritten by `{}`.\n\nAccuracy in % on images that were not learnt from, {} ranks, mean and spread of "
      "{} seed{}.\n\n{}",
      command, first.settings.allreduce.ranks, groups.front().size(), groups.front().size() == 1 ? "" : "s", accuracy_table(groups));
  if (first.steps.empty()) return out;
  out += fmt::format(
      "\nSimulated time to {:g} %, mean and spread; the fastest is bold. A step computes its gradient, runs the kernels of compression and "
      "then its exchanges, one after the other.\n\n{}",
      100 * target, time_table(groups, target));
  return out;
}

}  // namespace weft::train
