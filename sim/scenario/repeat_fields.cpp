#include "sim/scenario/repeat_fields.hpp"

#include "kernels/base/hash.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/scenario/scenario_fields.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace weft {
namespace {

// Where ranks start together, "start" lets them start so much apart at most: less than any clock of a cluster tells, and enough
// to change the order in which messages meet.
constexpr SimTime jitter = 1_ns;

bool varies(const Repeat& repeat, Varied what) { return std::ranges::find(repeat.vary, what) != repeat.vary.end(); }

// Of a run and what is varied: independent streams.
std::uint64_t seed_of(const Repeat& repeat, int run, Varied what) {
  const std::uint64_t of_run = mixed(repeat.seed * golden_ratio + static_cast<std::uint64_t>(run) + 1);
  return mixed(of_run + (static_cast<std::uint64_t>(what) + 1) * golden_ratio);
}

// What a path does between switches depends only on the ports of its ends: an endpoint stands for all of its switch.
bool has_choice_of_paths(const Scenario& s) {
  const auto fabric = build(s.fabric.spec, s.server);
  std::vector<int> some;
  std::map<NodeId, int> port;  // -> the first endpoint that uses it
  for (int e = 0; e < fabric->endpoints(); ++e) port.try_emplace(fabric->port_of(e), e);
  std::set<NodeId> seen;
  for (LinkId id = 0; id < fabric->links(); ++id)
    if (const auto at = port.find(fabric->from(id)); at != port.end() && !fabric->link(id).in_server && seen.insert(fabric->to(id)).second)
      some.push_back(at->second);
  return std::ranges::any_of(
      some, [&](int from) { return std::ranges::any_of(some, [&](int to) { return from != to && fabric->path_count(from, to) > 1; }); });
}

// Why varying it would change nothing; empty where it does.
std::string why_nothing(Varied what, const Scenario& s) {
  switch (what) {
    case Varied::placement:
    case Varied::start:
      return "";
    case Varied::ecmp:
      if (s.fabric.ecmp.policy != EcmpPolicy::hash)
        return fmt::format("the policy \"{}\" makes no random choice", Form<EcmpPolicy>::write(s.fabric.ecmp.policy).get<std::string>());
      return has_choice_of_paths(s) ? "" : "the fabric has one path between any two endpoints";
    case Varied::traffic:
      return std::ranges::any_of(s.traffic, [](const TrafficSpec& t) { return t.pattern == TrafficPattern::permutation; })
                 ? ""
                 : "there is no \"traffic\" with a random permutation";
    case Varied::packet:
      return s.network == NetworkKind::packet
                 ? ""
                 : fmt::format("losses and marks are random on the network \"packet\", not on \"{}\"", name_of(s.network));
    case Varied::stragglers:
      return s.workload.training.stragglers.spread > 0 ? "" : "the workload has no \"stragglers\"";
  }
  return "";
}

// On a list, its endpoints in another order; else on random endpoints. HDRM keeps the placement that it needs.
Placement shuffled(const Placement& placement, std::uint64_t seed) {
  if (placement.policy != PlacementPolicy::list) return {.policy = PlacementPolicy::random, .seed = seed};
  const auto count = static_cast<int>(placement.nodes.size());
  return {.policy = PlacementPolicy::list,
          .nodes = place_among({.policy = PlacementPolicy::random, .seed = seed}, count, placement.nodes, {})};
}

}  // namespace

const std::vector<std::pair<Varied, std::string>>& Names<Varied>::values() {
  static const std::vector<std::pair<Varied, std::string>> all = {{Varied::placement, "placement"}, {Varied::ecmp, "ecmp"},
                                                                  {Varied::start, "start"},         {Varied::traffic, "traffic"},
                                                                  {Varied::packet, "packet"},       {Varied::stragglers, "stragglers"}};
  return all;
}

Declaration<Repeat> Declared<Repeat>::declaration() {
  using R = Repeat;
  auto vary = not_empty(required(
      "vary", &R::vary,
      "What is drawn anew in each run: \"placement\" puts the ranks on random endpoints (those of a list in random order; HDRM keeps "
      "its own), \"ecmp\" changes the hash of paths, \"start\" the starts of \"start_skew\" or, without it, lets ranks start up to 1 ns "
      "apart, \"traffic\" its random permutations, \"packet\" losses and random marks, \"stragglers\" their delays."));
  vary.schema = [] { return Json{{"type", "array"}, {"items", Form<Varied>::schema()}, {"minItems", 1}, {"uniqueItems", true}}; };
  return {.doc =
              "Each row is simulated several times with other random choices. Its time is the median; the 5th and 95th percentile stand "
              "beside it, and the fastest algorithm is marked only where its 95th percentile lies below the 5th of all others.",
          .fields = {required("runs", &R::runs, "How many runs a row stands for, 1 to 10,000.", between(1, 10'000)), vary,
                     optional("seed", &R::seed, "The seed from which those of all runs follow; the scenario's seed when not given.")}};
}

std::vector<Problem> repeat_problems(const Scenario& s) {
  std::vector<Problem> out;
  for (std::size_t i = 0; s.repeat && i < s.repeat->vary.size(); ++i) {
    const Varied what = s.repeat->vary[i];
    const std::string at = fmt::format("/repeat/vary/{}", i), name = Form<Varied>::write(what).get<std::string>();
    const auto first = std::ranges::find(s.repeat->vary, what) - s.repeat->vary.begin();
    if (first != static_cast<std::ptrdiff_t>(i))
      out.push_back({at, fmt::format("\"{}\" stands at /repeat/vary/{} already", name, first)});
    else if (const std::string why = why_nothing(what, s); !why.empty() && (s.repeat->vary.size() == 1 || what > Varied::start))
      out.push_back({at, fmt::format("\"{}\" would change nothing: {}", name, why)});
  }
  if (!s.repeat || !varies(*s.repeat, Varied::placement) || s.placement.policy == PlacementPolicy::list) return out;
  for (std::size_t i = 0; i < s.jobs.size(); ++i)
    if (s.jobs[i].placement.policy == PlacementPolicy::list && !s.jobs[i].share_endpoints)
      out.push_back({fmt::format("/jobs/{}/placement", i),
                     "a list may meet the random endpoints that \"/repeat/vary\" puts the workload on: list those of the workload too, or "
                     "let the job be placed by \"random\""});
  return out;
}

Scenario scenario_of_run(const Scenario& scenario, int run) {
  Scenario out = scenario;
  if (!scenario.repeat) return out;
  const Repeat& repeat = *scenario.repeat;
  out.repeat.reset();
  const auto seed = [&](Varied what) { return seed_of(repeat, run, what); };
  if (varies(repeat, Varied::placement)) {
    out.placement = shuffled(scenario.placement, seed(Varied::placement));
    for (std::size_t i = 0; i < out.jobs.size(); ++i)
      out.jobs[i].placement = shuffled(scenario.jobs[i].placement, mixed(seed(Varied::placement) + i + 1));
  }
  if (varies(repeat, Varied::ecmp)) out.fabric.ecmp.seed = seed(Varied::ecmp);
  if (varies(repeat, Varied::start)) {
    if (!out.start_skew) out.start_skew = StartSkew{.max = jitter};
    out.start_skew->seed = seed(Varied::start);
  }
  if (varies(repeat, Varied::traffic))
    for (std::size_t i = 0; i < out.traffic.size(); ++i) out.traffic[i].seed = mixed(seed(Varied::traffic) + i);
  if (varies(repeat, Varied::packet) && out.packet) out.packet->seed = seed(Varied::packet);
  if (varies(repeat, Varied::stragglers)) out.workload.training.stragglers.seed = seed(Varied::stragglers);
  return out;
}

std::string describe(const Repeat& repeat, const Scenario& s) {
  std::vector<std::string> parts;
  for (const Varied what : repeat.vary) {
    if (!why_nothing(what, s).empty()) continue;
    switch (what) {
      case Varied::placement:
        parts.emplace_back(s.placement.policy == PlacementPolicy::list ? "the listed endpoints in another order"
                                                                       : "another random placement");
        break;
      case Varied::ecmp:
        parts.emplace_back("another ECMP hash");
        break;
      case Varied::start:
        parts.push_back(fmt::format("other starts within {}", to_string(s.start_skew ? s.start_skew->max : jitter)));
        break;
      case Varied::traffic:
        parts.emplace_back("other traffic");
        break;
      case Varied::packet:
        parts.emplace_back("other losses and marks");
        break;
      case Varied::stragglers:
        parts.emplace_back("other stragglers");
        break;
    }
  }
  return fmt::format("{} runs (seed {}), each with {}", repeat.runs, repeat.seed, fmt::join(parts, ", "));
}

}  // namespace weft
