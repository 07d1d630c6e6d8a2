#include "collectives/interchange/exports.hpp"
#include "kernels/base/error.hpp"

#include <iterator>
#include <set>
#include <vector>

namespace weft {
namespace {

std::string chunks_of(const Transfer& t) {
  const auto range = [&](int first) { return t.count == 1 ? fmt::format("{}", first) : fmt::format("{}..{}", first, first + t.count - 1); };
  return t.into == t.chunk ? range(t.chunk) : fmt::format("{} to {}", range(t.chunk), range(t.into));
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::string to_dot(const Schedule& s) {
  std::string out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "digraph {} {{\n  rankdir=TB; node [shape=box];\n", quoted(s.name));
  Step step;
  for (int c = 0; c < static_cast<int>(s.channels.size()); ++c) {
    std::vector<int> last(static_cast<std::size_t>(s.ranks), -1);  // the step in which each rank was last seen
    const auto box = [&](Rank r, int k) { return fmt::format("\"c{}s{}r{}\"", c, k, r); };
    for (int k = 0; k < s.channels[static_cast<std::size_t>(c)].count(); ++k) {
      s.channels[static_cast<std::size_t>(c)].produce(k, step);
      std::set<Rank> seen;
      for (const Transfer& t : step.transfers()) seen.insert(t.from), seen.insert(t.to);
      fmt::format_to(to, "  {{ rank=same;\n");
      for (const Rank r : seen)
        fmt::format_to(to, "    {} [label=\"rank {}\\nstep {}{}\"];\n", box(r, k), r, k,
                       s.channels.size() > 1 ? fmt::format(", channel {}", c) : "");
      out += "  }\n";
      for (const Rank r : seen) {
        int& before = last[static_cast<std::size_t>(r)];
        if (before >= 0) fmt::format_to(to, "  {} -> {} [style=dotted, arrowhead=none];\n", box(r, before), box(r, k));
        before = k;
      }
      for (const Transfer& t : step.transfers())
        fmt::format_to(to, "  {} -> {} [label=\"{}\", style={}, constraint=false];\n", box(t.from, k), box(t.to, k), chunks_of(t),
                       t.reduces ? "solid" : "dashed");
    }
  }
  return out + "}\n";
}

}  // namespace weft
