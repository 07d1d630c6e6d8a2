#include "models/faults.hpp"

#include "kernels/base/nearest_name.hpp"
#include "models/fabric/validation.hpp"

#include <algorithm>
#include <optional>

namespace weft {
namespace {

// The opposite direction of a link, where the two are a cable: links with successive numbers, from one device to the other and back.
std::optional<LinkId> way_back(LinkId wanted, const Fabric& fabric) {
  for (LinkId id = 0; id + 1 < fabric.links(); ++id) {
    if (fabric.from(id) != fabric.to(id + 1) || fabric.to(id) != fabric.from(id + 1)) continue;
    if (wanted == id) return id + 1;
    if (wanted == id + 1) return id;
    ++id;
  }
  return std::nullopt;
}

std::optional<LinkId> exactly_named(const std::string& name, const Fabric& fabric) {
  for (LinkId id = 0; id < fabric.links(); ++id)
    if (name.starts_with(fabric.device(fabric.from(id)).name) && fabric.link_name(id) == name) return id;
  return std::nullopt;
}

// A link of a server under contention, "server0/a->server0/b", is named by its two ends too: of what it is made of, that is the part that
// all of its traffic shares, up to or from its middle "server0/a-b" (models/server/server_paths.hpp).
std::optional<LinkId> link_named(const std::string& name, const Fabric& fabric) {
  if (const auto exact = exactly_named(name, fabric)) return exact;
  const auto arrow = name.find("->");
  if (arrow == name.npos) return std::nullopt;
  const std::string from = name.substr(0, arrow), to = name.substr(arrow + 2);
  const auto in_server = [](const std::string& device) { return device.substr(device.rfind('/') + 1); };
  if (const auto half = exactly_named(fmt::format("{}->{}-{}", from, from, in_server(to)), fabric)) return half;
  return exactly_named(fmt::format("{}-{}->{}", to, in_server(from), to), fabric);
}

std::string unknown(const char* kind, const std::string& found, const std::vector<std::string>& names) {
  const auto near = nearest_name(found, names);
  if (near) return fmt::format("the fabric has no {} \"{}\" (did you mean \"{}\"?)", kind, found, *near);
  if (names.empty()) return fmt::format("the fabric has no {}, got \"{}\"", kind, found);
  return fmt::format("the fabric has no {} \"{}\"; it has such as \"{}\"", kind, found, names.front());
}

std::vector<std::string> link_names(const Fabric& fabric) {
  std::vector<std::string> out;
  for (LinkId id = 0; id < fabric.links(); ++id) out.push_back(fabric.link_name(id));
  return out;
}

// Those of `weft topo --json`: what is in servers stands among the switches, but for GPUs.
std::vector<std::string> switch_names(const Fabric& fabric) {
  std::vector<std::string> out;
  for (NodeId id = 0; id < fabric.devices(); ++id)
    if (fabric.device(id).kind != DeviceKind::endpoint) out.push_back(fabric.device(id).name);
  return out;
}

void check_name(const Failure& f, const std::string& at, const Fabric& fabric, Problems& found) {
  const int named = static_cast<int>(!f.link.empty()) + static_cast<int>(!f.cable.empty()) + static_cast<int>(!f.network_switch.empty());
  found.require(named == 1, at, "must name one of \"link\", \"cable\" and \"switch\", got {} of them", named);
  if (named != 1 || !links_of(f, fabric).empty()) return;
  if (!f.network_switch.empty())
    found.require(false, at + "/switch", "{}", unknown("switch", f.network_switch, switch_names(fabric)));
  else if (!f.link.empty())
    found.require(false, at + "/link", "{}", unknown("link", f.link, link_names(fabric)));
  else if (link_named(f.cable, fabric))
    found.require(false, at + "/cable", "\"{}\" goes one way only: name it as a \"link\"", f.cable);
  else
    found.require(false, at + "/cable", "{}", unknown("cable", f.cable, link_names(fabric)));
}

}  // namespace

std::map<LinkId, double> mean_remaining(const Faults& faults, const Fabric& fabric, SimTime from, SimTime to) {
  std::vector<SimTime> dates = {from, to};
  std::map<LinkId, std::vector<const Failure*>> of_links;
  for (const Failure& failure : faults.failures) {
    for (const SimTime date : {failure.at, failure.until})
      if (from < date && date < to) dates.push_back(date);
    for (const LinkId link : links_of(failure, fabric)) of_links[link].push_back(&failure);
  }
  std::ranges::sort(dates);
  std::map<LinkId, double> out;
  for (const auto& [link, failures] : of_links) {
    double seconds = 0;
    for (std::size_t i = 0; i + 1 < dates.size(); ++i) {
      double least = 1;
      for (const Failure* f : failures)
        if (f->at <= dates[i] && dates[i] < f->until) least = std::min(least, f->remaining);
      seconds += least * (dates[i + 1] - dates[i]).seconds();
    }
    out[link] = seconds / (to - from).seconds();
  }
  return out;
}

std::vector<LinkId> links_of(const Failure& failure, const Fabric& fabric) {
  if (!failure.network_switch.empty()) {
    std::vector<LinkId> out;
    for (LinkId id = 0; id < fabric.links(); ++id)
      for (const NodeId end : {fabric.from(id), fabric.to(id)})
        if (const Device& device = fabric.device(end); device.kind != DeviceKind::endpoint && device.name == failure.network_switch)
          out.push_back(id);
    return out;
  }
  const auto link = link_named(failure.link.empty() ? failure.cable : failure.link, fabric);
  if (!link) return {};
  if (!failure.link.empty()) return {*link};
  const auto back = way_back(*link, fabric);
  return back ? std::vector{std::min(*link, *back), std::max(*link, *back)} : std::vector<LinkId>{};
}

std::vector<Problem> problems(const Faults& faults, const Fabric& fabric) {
  Problems found;
  for (std::size_t i = 0; i < faults.failures.size(); ++i) {
    const Failure& f = faults.failures[i];
    const std::string at = fmt::format("/failures/{}", i);
    check_name(f, at, fabric, found);
    found.require(f.until > f.at, at + "/until", "must come after at = {}, got {}", to_string(f.at), to_string(f.until));
    // Written so that not-a-number fails too.
    found.require(f.remaining >= 0 && f.remaining < 1, at + "/remaining", "must be at least 0 and less than 1, got {}", f.remaining);
  }
  return found.take();
}

std::string describe(const Failure& f) {
  const std::string& what = !f.network_switch.empty() ? f.network_switch : f.cable.empty() ? f.link : f.cable;
  return fmt::format("{}{}{} from {}{}", what, f.cable.empty() ? "" : " both ways",
                     f.remaining > 0 ? fmt::format(" at {:g} %", 100 * f.remaining) : " fails", to_string(f.at),
                     f.until == SimTime::never() ? "" : " to " + to_string(f.until));
}

}  // namespace weft
