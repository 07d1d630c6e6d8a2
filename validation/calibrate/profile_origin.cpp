#include "validation/calibrate/profile_origin.hpp"

#include <set>
#include <string>

namespace weft {
namespace {

// The command that makes the same file again, paths as they were given.
std::string command_of(const CalibrateArguments& a) {
  std::string out = "weft calibrate";
  for (const std::string& file : a.data) out += " " + file;
  out += " --scenario " + a.scenario;
  for (const std::string& setting : a.set) out += " --set " + setting;
  if (!a.fit.empty()) out += fmt::format(" --fit {}", fmt::join(a.fit, ","));
  if (!a.only.empty()) out += fmt::format(" --only {}", fmt::join(a.only, ","));
  if (!a.system.empty()) out += fmt::format(" --system \"{}\"", a.system);
  for (const std::string& rename : a.rename)
    out += rename.find('(') == rename.npos ? " --rename " + rename : fmt::format(" --rename \"{}\"", rename);
  if (!a.collective.empty()) out += " --collective " + a.collective;
  if (a.in_place) out += " --in-place";
  if (a.skip_bad) out += " --skip-bad";
  if (a.all) out += " --all";
  if (a.flat) out += " --flat";
  if (a.smallest_bytes > 0) out += fmt::format(" --smallest {:.0f}", a.smallest_bytes);
  if (a.largest_bytes) out += fmt::format(" --largest {:.0f}", *a.largest_bytes);
  for (const std::string& place : a.exclude) out += " --exclude " + place;
  if (a.starts != 4) out += fmt::format(" --starts {}", a.starts);
  if (a.folds != 4) out += fmt::format(" --folds {}", a.folds);
  if (a.seed != 1) out += fmt::format(" --seed {}", a.seed);
  return out;
}

}  // namespace

ProfileOrigin origin_of(const CalibrateArguments& arguments, const std::vector<FitPoint>& points) {
  std::set<std::string> systems;
  for (const FitPoint& p : points)
    if (!p.measured.system.empty()) systems.insert(p.measured.system);
  return {command_of(arguments),
          systems.empty() ? fmt::format("{}", fmt::join(arguments.data, ", ")) : fmt::format("{}", fmt::join(systems, "; "))};
}

}  // namespace weft
