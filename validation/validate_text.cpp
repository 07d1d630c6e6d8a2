#include "validation/validate_text.hpp"

#include "sim/json/json_text.hpp"
#include "validation/fit/without_model.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace weft {
namespace {

std::string percent(double value) { return fmt::format("{:.1f} %", 100 * value); }
std::string percent(const ErrorSummary& e, double ErrorSummary::*which) { return e.points > 0 ? percent(e.*which) : "-"; }

std::string range_of(const JudgedClaim& c) {
  if (c.claim.quantity == Claim::Quantity::samples_per_s) return fmt::format("{:.0f}", c.lowest);
  static constexpr const char* units[] = {"x", " us", " %", "", "", " %", "", " more"};
  const char* unit = units[static_cast<int>(c.claim.quantity)];
  if (c.claim.largest_only) return fmt::format("up to {:.3g}{}", c.highest, unit);
  return c.lowest == c.highest ? fmt::format("{:.3g}{}", c.lowest, unit) : fmt::format("{:.3g} to {:.3g}{}", c.lowest, c.highest, unit);
}

// Of a published number; that of the largest where it is an "up to".
std::string error_of(const JudgedClaim& c) {
  if (!c.claim.value) return "";
  const double simulated = c.claim.largest_only ? c.highest : (c.lowest + c.highest) / 2;
  return fmt::format("{:+.1f} %", 100 * (simulated / *c.claim.value - 1));
}

std::string error_of(const Judgement& j, std::size_t i) {
  return fmt::format("{:+.1f} %", 100 * (j.simulated_us[i] / j.points[i].measured.time_us - 1));
}

// What the points of a reference are, and by what rule some are held out.
enum class Kind { sizes, others, pairs, gradients };

Kind kind_of(const Judgement& j) {
  if (!j.reference.layers.empty()) return Kind::gradients;
  if (!j.points.empty() && j.points.front().measured.from >= 0) return Kind::pairs;
  return j.reference.held_out.empty() && !j.reference.hold_out.given() ? Kind::sizes : Kind::others;
}

std::string what_is_held_out(const Judgement& j) {
  const Reference& r = j.reference;
  if (!r.held_out.empty()) return "other measurements";
  if (!r.hold_out.given()) return kind_of(j) == Kind::pairs ? "every second pair" : "every second size";
  std::vector<std::string> parts;
  const auto add = [&](const char* what, const auto& list) {
    if (!list.empty()) parts.push_back(fmt::format("{} {}", what, fmt::join(list, ", ")));
  };
  add("nodes", r.hold_out.nodes);
  add("ranks", r.hold_out.ranks);
  add("algorithm", r.hold_out.algorithms);
  add("collective", r.hold_out.collectives);
  add("system", r.hold_out.systems);
  add("model", r.hold_out.models);
  return fmt::format("{}", fmt::join(parts, "; "));
}

// Held-out errors of all references of one kind, point by point.
ErrorSummary pooled(const std::vector<Judgement>& judgements, Kind kind) {
  std::vector<double> errors;
  for (const Judgement& j : judgements)
    for (std::size_t i = 0; kind_of(j) == kind && i < j.points.size(); ++i)
      if (!j.points[i].fitted) errors.push_back(j.simulated_us[i] / j.points[i].measured.time_us - 1);
  return summarise(std::move(errors));
}

// Of the points of one kind that have an error without a model, that and Weft's own.
struct WithoutModel {
  ErrorSummary errors, of_weft;
};
WithoutModel pooled_without_model(const std::vector<Judgement>& judgements, Kind kind) {
  std::vector<double> errors, of_weft;
  for (const Judgement& j : judgements)
    for (std::size_t i = 0; kind_of(j) == kind && i < j.without_model.size(); ++i)
      if (j.without_model[i]) {
        errors.push_back(*j.without_model[i]);
        of_weft.push_back(j.simulated_us[i] / j.points[i].measured.time_us - 1);
      }
  return {summarise(std::move(errors)), summarise(std::move(of_weft))};
}

constexpr std::pair<Kind, std::string_view> held_out_kinds[] = {
    {Kind::sizes, "sizes between those fitted"},
    {Kind::others, "other scales, algorithms, collectives or measurements than those fitted"},
    {Kind::pairs, "copies between pairs of GPUs, or in directions, that were not fitted"},
    {Kind::gradients, "when gradients of models become ready that were not fitted"}};

std::string_view name_of_floor(Kind kind) {
  return kind == Kind::sizes ? "log-log interpolation" : "the bus bandwidth of the nearest fitted number of ranks";
}

std::string pooled_text(const std::vector<Judgement>& judgements) {
  std::string out;
  for (const auto& [kind, what] : held_out_kinds) {
    const ErrorSummary e = pooled(judgements, kind);
    if (e.points == 0) continue;
    out +=
        fmt::format("Pooled over systems, {}: {} points, median {}, 95th percentile {}", what, e.points, percent(e.median), percent(e.p95));
    if (const auto [errors, of_weft] = pooled_without_model(judgements, kind); errors.points > 0)
      out += fmt::format("; of {} of them {} {}, {}, simulated {}, {}", errors.points, name_of_floor(kind), percent(errors.median),
                         percent(errors.p95), percent(of_weft.median), percent(of_weft.p95));
    out += ".\n";
  }
  return out;
}

// The same and the classes, for somebody who asks for no more.
std::string short_summary(const std::vector<Judgement>& judgements, const std::vector<JudgedClass>& classes) {
  std::string out = "| predicted | points | median error | 95th percentile |\n|---|---:|---:|---:|\n";
  const auto line = [&](const std::string& what, const ErrorSummary& e) {
    if (e.points > 0) out += fmt::format("| {} | {} | {} | {} |\n", what, e.points, percent(e.median), percent(e.p95));
  };
  for (const auto& [kind, what] : held_out_kinds) {
    line(std::string(what), pooled(judgements, kind));
    if (const auto [errors, of_weft] = pooled_without_model(judgements, kind); errors.points > 0) {
      if (kind != Kind::sizes) line("of these, other numbers of servers or ranks", of_weft);
      line(fmt::format("the same by {}, without a model", name_of_floor(kind)), errors);
    }
  }
  for (const JudgedClass& c : classes) line(fmt::format("a whole system, by the class `{}` of the other systems", c.name), c.error);
  return out;
}

// Systems that are described alike may differ more than a prediction by their description can be right.
std::string said_of_least(const JudgedClass& c) {
  return c.least_p95 < 0.0005
             ? ""
             : fmt::format(" (with one profile for systems described alike: 95th percentile at least {:.1f} %)", 100 * c.least_p95);
}

std::string summary(const std::vector<JudgedClass>& classes) {
  if (classes.empty()) return {};
  std::string out =
      "\n| class | system, predicted without its measurements | from | points | median, 95th percentile |\n|---|---|---|---:|---:|\n";
  for (const JudgedClass& c : classes) {
    for (const JudgedMember& m : c.members)
      out += m.from.empty() ? fmt::format("| {} | {} | one system only: its own profile | | |\n", c.name, m.reference)
                            : fmt::format("| {} | {} | {} | {} | {}, {} |\n", c.name, m.reference, fmt::join(m.from, ", "), m.error.points,
                                          percent(m.error, &ErrorSummary::median), percent(m.error, &ErrorSummary::p95));
    if (c.error.points == 0) continue;
    out += fmt::format("| {} | **all**{} | | {} | **{}**, {} |\n", c.name, said_of_least(c), c.error.points,
                       percent(c.error, &ErrorSummary::median), percent(c.error, &ErrorSummary::p95));
  }
  return out;
}

std::string summary(const std::vector<Judgement>& judgements) {
  std::string out =
      "| reference | system | fitted to | median, 95th percentile | held out | | median, 95th percentile | without a model |\n"
      "|---|---|---:|---:|---|---:|---:|---:|\n";
  for (const Judgement& j : judgements)
    if (!j.points.empty()) {
      const ErrorSummary floor = summarise(j.without_model);
      out +=
          fmt::format("| {} | {} | {} | {}, {} | {} | {} | **{}**, {} | {}, {} |\n", j.reference.name, j.reference.about, j.fitted.points,
                      percent(j.fitted, &ErrorSummary::median), percent(j.fitted, &ErrorSummary::p95), what_is_held_out(j),
                      j.held_out.points, percent(j.held_out, &ErrorSummary::median), percent(j.held_out, &ErrorSummary::p95),
                      percent(floor, &ErrorSummary::median), percent(floor, &ErrorSummary::p95));
    }
  if (const std::string text = pooled_text(judgements); !text.empty()) out += "\n" + text;
  bool first = true;
  for (const Judgement& j : judgements)
    for (const JudgedClaim& c : j.claims) {
      if (std::exchange(first, false))
        out += "\n| reference | claim | published | simulated | error | holds |\n|---|---|---|---|---:|---|\n";
      out += fmt::format("| {} | {}{} | {} | {} | {} | {} |\n", j.reference.name, c.claim.what, c.claim.fitted ? " (fitted)" : "",
                         c.claim.published, range_of(c), error_of(c), c.holds ? "yes" : "**no**");
    }
  for (const Judgement& j : judgements)
    if (!j.reference.note.empty()) out += fmt::format("\n- {}: {}", j.reference.name, j.reference.note);
  return out + "\n";
}

std::string with_between(std::string_view text, std::string_view marks, const std::string& what) {
  const std::string begin_mark = fmt::format("<!-- {}:begin -->\n", marks), end_mark = fmt::format("<!-- {}:end -->", marks);
  const auto begin = text.find(begin_mark), end = text.find(end_mark);
  if (begin == text.npos || end == text.npos || end < begin)
    throw InputError(fmt::format("README.md: the markers <!-- {0}:begin --> and <!-- {0}:end --> are missing", marks));
  return std::string(text.substr(0, begin + begin_mark.size())) + what + std::string(text.substr(end));
}

}  // namespace

std::string table_of(const std::vector<Judgement>& judgements, bool every_point) {
  std::string out = fmt::format("# {:<26} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>15} {:>9}\n", "reference", "fitted", "median", "95th",
                                "held out", "median", "95th", "without a model", "95th");
  for (const Judgement& j : judgements)
    if (!j.points.empty()) {
      const ErrorSummary floor = summarise(j.without_model);
      out += fmt::format("  {:<26} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>15} {:>9}  {}\n", j.reference.name, j.fitted.points,
                         percent(j.fitted, &ErrorSummary::median), percent(j.fitted, &ErrorSummary::p95), j.held_out.points,
                         percent(j.held_out, &ErrorSummary::median), percent(j.held_out, &ErrorSummary::p95),
                         percent(floor, &ErrorSummary::median), percent(floor, &ErrorSummary::p95),
                         j.reference.hold_out.given() ? what_is_held_out(j) : "");
    }
  const std::string pooled_errors = pooled_text(judgements);
  for (std::size_t at = 0; at < pooled_errors.size(); at = pooled_errors.find('\n', at) + 1)
    out += "# " + pooled_errors.substr(at, pooled_errors.find('\n', at) - at + 1);
  for (const Judgement& j : judgements)
    for (const JudgedClaim& c : j.claims)
      out += fmt::format("# {}: {}{}; published: {}, simulated: {}{}: {}\n", j.reference.name, c.claim.what,
                         c.claim.fitted ? " (fitted)" : "", c.claim.published, range_of(c),
                         c.claim.value ? fmt::format(", error {}", error_of(c)) : "", c.holds ? "holds" : "DOES NOT HOLD");
  if (!every_point) return out;
  out += fmt::format("#\n# {:<26} {:<12} {:<24} {:>5} {:>11} {:>14} {:>14} {:>9}\n", "reference", "collective", "algorithm", "ranks",
                     "size (B)", "reference (us)", "simulated (us)", "error");
  for (const Judgement& j : judgements)
    for (std::size_t i = 0; i < j.points.size(); ++i) {
      const FitPoint& p = j.points[i];
      out += fmt::format("  {:<26} {:<12} {:<24} {:>5} {:>11} {:>14.2f} {:>14.2f} {:>9} {}\n", j.reference.name, p.measured.collective,
                         what_ran(p), p.setup.ranks, p.measured.size_bytes, p.measured.time_us, j.simulated_us[i], error_of(j, i),
                         p.fitted ? "fitted" : "held out");
    }
  return out;
}

std::string table_of(const std::vector<JudgedClass>& classes) {
  std::string out;
  for (const JudgedClass& c : classes) {
    out += fmt::format("#\n# class {}: each system predicted from the profiles of the others\n", c.name);
    for (const JudgedMember& m : c.members)
      out += m.from.empty() ? fmt::format("  {:<26} one system only: its own profile\n", m.reference)
                            : fmt::format("  {:<26} {:>7} {:>9} {:>9}\n", m.reference, m.error.points,
                                          percent(m.error, &ErrorSummary::median), percent(m.error, &ErrorSummary::p95));
    if (c.error.points == 0) continue;
    out += fmt::format("  {:<26} {:>7} {:>9} {:>9}{}\n", "all", c.error.points, percent(c.error, &ErrorSummary::median),
                       percent(c.error, &ErrorSummary::p95), said_of_least(c));
  }
  return out;
}

std::string results_page(const std::vector<Judgement>& judgements) {
  std::string out =
      "# Simulated against measured and published, point by point\n\nWritten by `weft validate --renew`; a test fails when it is out of "
      "date.\n";
  for (const Judgement& j : judgements) {
    if (j.points.empty()) continue;
    out += fmt::format(
        "\n## {}\n\n{} {}\n\n| collective | algorithm | ranks | size (B) | reference (us) | simulated (us) | error | "
        "|\n|---|---|---:|---:|---:|---:|---:|---|\n",
        j.reference.name, j.reference.about, j.reference.note);
    for (std::size_t i = 0; i < j.points.size(); ++i) {
      const FitPoint& p = j.points[i];
      out += fmt::format("| {} | {} | {} | {} | {:.2f} | {:.2f} | {} | {} |\n", p.measured.collective, what_ran(p), p.setup.ranks,
                         p.measured.size_bytes, p.measured.time_us, j.simulated_us[i], error_of(j, i), p.fitted ? "fitted" : "held out");
    }
  }
  return out;
}

std::string with_summary(std::string_view text, const std::vector<Judgement>& judgements, const std::vector<JudgedClass>& classes) {
  return with_between(text, "validate", summary(judgements) + summary(classes));
}

std::string with_short_summary(std::string_view text, const std::vector<Judgement>& judgements, const std::vector<JudgedClass>& classes) {
  return with_between(text, "errors", short_summary(judgements, classes));
}

std::string baseline_text(const std::vector<Judgement>& judgements) {
  Json out = Json::object();
  const auto rounded_up = [](double value) { return std::ceil(value * 1e4) / 1e4; };
  for (const Judgement& j : judgements)
    if (j.held_out.points > 0) out[j.reference.name] = {{"median", rounded_up(j.held_out.median)}, {"p95", rounded_up(j.held_out.p95)}};
  for (const Judgement& j : judgements)
    for (const JudgedClaim& claim : j.claims)
      if (claim.holds) out["claims that hold"][j.reference.name].push_back(claim.claim.what);
  return out.dump(2) + "\n";
}

std::vector<std::string> grown_errors(const std::vector<Judgement>& judgements, std::string_view baseline) {
  std::vector<Problem> problems;
  const Json committed = parse_json(baseline, problems);
  if (!problems.empty()) throw InputError(fmt::format("baseline.json: {}: {}", problems.front().where, problems.front().what));
  std::vector<std::string> grown;
  const Json& held = committed.contains("claims that hold") ? committed.at("claims that hold") : Json::object();
  for (const Judgement& j : judgements) {
    for (const JudgedClaim& claim : j.claims)
      if (!claim.holds && held.contains(j.reference.name) && std::ranges::count(held.at(j.reference.name), Json(claim.claim.what)) > 0)
        grown.push_back(fmt::format("{}: no longer so: {}", j.reference.name, claim.claim.what));
    if (j.held_out.points == 0) continue;
    if (!committed.contains(j.reference.name)) {
      grown.push_back(fmt::format("{}: is not in baseline.json", j.reference.name));
      continue;
    }
    for (const auto& [key, now] : {std::pair{"median", j.held_out.median}, {"p95", j.held_out.p95}}) {
      const double before = committed.at(j.reference.name).at(key).get<double>();
      if (now > before * (1 + allowed_relative_growth) + allowed_absolute_growth)
        grown.push_back(fmt::format("{}: the held-out error grew, {}: {} was {}", j.reference.name, key, percent(now), percent(before)));
    }
  }
  return grown;
}

}  // namespace weft
