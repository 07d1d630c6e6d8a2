#include "kernels/base/error.hpp"
#include "models/fabric/drawing/drawing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <ostream>
#include <utility>

namespace weft {
namespace {

std::string escaped(std::string_view text, std::string_view special, const std::vector<std::string>& instead) {
  std::string out;
  for (const char c : text) {
    const auto at = special.find(c);
    if (at == std::string_view::npos)
      out += c;
    else
      out += instead[at];
  }
  return out;
}
std::string dot_quoted(std::string_view text) { return fmt::format("\"{}\"", escaped(text, "\"\\", {"\\\"", "\\\\"})); }
std::string xml_text(std::string_view text) { return escaped(text, "&<>\"", {"&amp;", "&lt;", "&gt;", "&quot;"}); }

struct Look {
  const char* shape;  // of Graphviz
  const char* fill;
};
Look look_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::endpoint:
      return {"box", "#dbeafe"};
    case DeviceKind::nic:
      return {"component", "#fef3c7"};
    case DeviceKind::socket:
      return {"box3d", "#e5e7eb"};
    case DeviceKind::memory:
    case DeviceKind::cache:
      return {"cylinder", "#f3f4f6"};
    case DeviceKind::pcie_switch:
      return {"trapezium", "#ede9fe"};
    case DeviceKind::nvswitch:
      return {"hexagon", "#dcfce7"};
    case DeviceKind::network_switch:
      break;
  }
  return {"box", "#fee2e2"};
}

// Cables by what they are: told once, in a legend, because a picture has no room for more labels than these.
constexpr std::size_t max_labels = 24;
std::map<std::string, int> kinds_of(const Drawing& drawing) {
  std::map<std::string, int> out;
  for (const Drawing::Bundle& bundle : drawing.bundles) {
    if (bundle.in_server) continue;
    Drawing::Bundle one = bundle;
    one.cables = 1;
    out[label_of(one)] += bundle.cables;
  }
  return out;
}

std::string legend_of(const Drawing& drawing) {
  std::vector<std::string> out;
  for (const auto& [kind, cables] : kinds_of(drawing)) out.push_back(fmt::format("{} cables of {}", cables, kind));
  return fmt::format("{}", fmt::join(out, "; "));
}

// What stands at a line: where all cables are of one kind, only how many they are.
std::string at_line(const Drawing& drawing, const Drawing::Bundle& bundle) {
  if (drawing.bundles.size() > max_labels) return "";
  if (kinds_of(drawing).size() > 1) return label_of(bundle);
  return bundle.cables > 1 ? fmt::format("{} x", bundle.cables) : "";
}

// Where boxes stand, in pixels.
struct Layout {
  double width = 0, height = 0;
  std::vector<double> x, y;
};
constexpr double box_height = 26, letter = 6.4, margin = 20;

bool is_switch(const Drawing::Box& box) { return box.kind == DeviceKind::network_switch; }

double width_of(const Drawing::Box& box) { return std::max(46.0, letter * static_cast<double>(box.label.size()) + 14); }

// Row over row, each box near the middle of what it has cables to in the row below.
Layout in_rows(const Drawing& drawing) {
  const std::size_t n = drawing.boxes.size();
  Layout out{.x = std::vector<double>(n), .y = std::vector<double>(n)};
  std::map<int, std::vector<std::size_t>> rows;
  for (std::size_t i = 0; i < n; ++i) rows[drawing.boxes[i].tier].push_back(i);
  double widest = 0;
  for (const auto& [tier, row] : rows) {
    double width = 0;
    for (const std::size_t i : row) width += width_of(drawing.boxes[i]) + 10;
    widest = std::max(widest, width);
  }
  out.width = widest + 2 * margin;
  const double gap = std::clamp(widest / 6, 90.0, 240.0);
  const double top = rows.rbegin()->first;
  for (auto& [tier, row] : rows) {
    double width = 0;
    for (const std::size_t i : row) width += width_of(drawing.boxes[i]);
    const double space = (widest - width) / static_cast<double>(row.size());
    double x = margin;
    for (const std::size_t i : row) {
      const double own = width_of(drawing.boxes[i]) + space;
      out.x[i] = x + own / 2;
      out.y[i] = margin + box_height / 2 + (top - tier) * gap;
      x += own;
    }
  }
  out.height = 2 * margin + box_height + (top - rows.begin()->first) * gap;
  return out;
}

// Switches on a circle, and what hangs on them outside of it.
Layout in_circles(const Drawing& drawing) {
  const std::size_t n = drawing.boxes.size();
  Layout out{.x = std::vector<double>(n), .y = std::vector<double>(n)};
  std::vector<std::size_t> inner;
  std::vector<std::vector<std::size_t>> outside(n);
  std::vector<char> placed(n);
  for (std::size_t i = 0; i < n; ++i)
    if (is_switch(drawing.boxes[i])) inner.push_back(i);
  for (const Drawing::Bundle& b : drawing.bundles)
    if (!is_switch(drawing.boxes[b.from]) && is_switch(drawing.boxes[b.to]) && !std::exchange(placed[b.from], 1))
      outside[b.to].push_back(b.from);
  std::size_t on_rim = 0;
  for (const std::size_t i : inner) on_rim += std::max<std::size_t>(1, outside[i].size());
  for (std::size_t i = 0; i < n; ++i)
    if (!is_switch(drawing.boxes[i]) && placed[i] == 0) ++on_rim;
  const double rim = std::max(160.0, static_cast<double>(on_rim) * 34), radius = std::max(90.0, rim * 0.62), middle = rim + 90;
  double turn = 0;
  const auto put = [&](std::size_t i, double angle, double r) {
    out.x[i] = middle + r * std::sin(angle);
    out.y[i] = middle - r * std::cos(angle);
  };
  const double step = 2 * std::numbers::pi / static_cast<double>(std::max<std::size_t>(1, on_rim));
  for (const std::size_t i : inner) {
    const std::size_t own = std::max<std::size_t>(1, outside[i].size());
    put(i, turn + step * static_cast<double>(own - 1) / 2, radius);
    for (std::size_t k = 0; k < outside[i].size(); ++k) put(outside[i][k], turn + step * static_cast<double>(k), rim);
    turn += step * static_cast<double>(own);
  }
  for (std::size_t i = 0; i < n; ++i)
    if (!is_switch(drawing.boxes[i]) && placed[i] == 0) put(i, turn, rim), turn += step;
  out.width = out.height = 2 * middle;
  return out;
}

// Labels beside lines, each at the first place on its line where it covers none before it.
class Labels {
 public:
  struct Place {
    double x, y;
  };
  Place add(Place from, Place to, const std::string& text) {
    const double width = letter * 9 / 11 * static_cast<double>(text.size());
    const auto at = [&](double share) { return Place{from.x + share * (to.x - from.x), from.y + share * (to.y - from.y)}; };
    const auto is_free = [&](double share) {
      const Place here = at(share);
      return std::ranges::none_of(taken_, [&](const auto& other) {
        return std::abs(other.first.y - here.y) < 10 && std::abs(other.first.x - here.x) < (other.second + width) / 2;
      });
    };
    static constexpr std::array shares = {1.0 / 3, 0.46, 0.59, 0.72, 0.22};
    const auto free = std::ranges::find_if(shares, is_free);
    const Place out = at(free == shares.end() ? shares.front() : *free);
    taken_.emplace_back(out, width);
    return out;
  }

 private:
  std::vector<std::pair<Place, double>> taken_;  // with their widths
};

}  // namespace

void to_dot(const Drawing& drawing, std::ostream& out) {
  out << "digraph fabric {\n"
      << (drawing.in_tiers ? "  rankdir=BT; ranksep=1.2; nodesep=0.15; splines=line;\n" : "  layout=neato; overlap=false; splines=true;\n")
      << "  node [style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=10];\n"
      << "  edge [fontname=\"Helvetica\", fontsize=8, color=\"#6b7280\"];\n"
      << "  labelloc=b; fontname=\"Helvetica\"; fontsize=10; label=" << dot_quoted(legend_of(drawing)) << ";\n";
  std::map<int, std::vector<std::size_t>> tiers;
  for (std::size_t i = 0; i < drawing.boxes.size(); ++i) {
    const Drawing::Box& box = drawing.boxes[i];
    out << fmt::format("  n{} [label={}, shape={}, fillcolor=\"{}\"];\n", i, dot_quoted(box.label), look_of(box.kind).shape,
                       look_of(box.kind).fill);
    tiers[box.tier].push_back(i);
  }
  if (drawing.in_tiers)
    for (const auto& [tier, boxes] : tiers) {
      out << "  { rank=same;";
      for (const std::size_t i : boxes) out << " n" << i << ";";
      out << " }\n";
    }
  for (const Drawing::Bundle& bundle : drawing.bundles) {
    out << fmt::format("  n{} -> n{} [", bundle.from, bundle.to) << (bundle.both_ways ? "dir=none, " : "");
    if (bundle.cables > 1) out << fmt::format("penwidth={:.2g}, ", 1 + std::log2(bundle.cables) / 2);
    if (const std::string label = at_line(drawing, bundle); !label.empty()) out << "label=" << dot_quoted(label) << ", ";
    out << "tooltip=" << dot_quoted(label_of(bundle)) << "];\n";
  }
  out << "}\n";
}

void to_svg(const Drawing& drawing, std::ostream& out) {
  const Layout at = drawing.in_tiers ? in_rows(drawing) : in_circles(drawing);
  const std::string legend = legend_of(drawing);
  const double width = std::max(at.width, letter * static_cast<double>(legend.size()) + 2 * margin), shift = (width - at.width) / 2;
  out << fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" "
      "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      width, at.height + 26, width, at.height + 26);
  out << "<g stroke=\"#6b7280\" stroke-opacity=\"0.7\" fill=\"#374151\" font-size=\"9\" text-anchor=\"middle\">\n";
  Labels labels;
  std::string over_lines;  // no later line goes through a label
  for (const Drawing::Bundle& b : drawing.bundles) {
    const std::string text = xml_text(label_of(b));
    if (b.from == b.to) {
      out << fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" stroke=\"none\">{} inside</text>\n", at.x[b.from] + shift,
                         at.y[b.from] + box_height, text);
      continue;
    }
    out << fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke-width=\"{:.2g}\"><title>{}</title></line>\n",
                       at.x[b.from] + shift, at.y[b.from], at.x[b.to] + shift, at.y[b.to], 1 + std::log2(b.cables) / 2, text);
    const std::string label = at_line(drawing, b);
    if (label.empty()) continue;
    const auto [x, y] = labels.add({at.x[b.from] + shift, at.y[b.from]}, {at.x[b.to] + shift, at.y[b.to]}, label);
    over_lines += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" stroke=\"#ffffff\" stroke-opacity=\"1\" stroke-width=\"3\" paint-order=\"stroke\">{}</text>\n", x,
        y, xml_text(label));
  }
  out << over_lines << "</g>\n<g text-anchor=\"middle\">\n";
  for (std::size_t i = 0; i < drawing.boxes.size(); ++i) {
    const Drawing::Box& box = drawing.boxes[i];
    out << fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\" rx=\"6\" fill=\"{}\" stroke=\"#374151\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"#111827\">{}</text>\n",
        at.x[i] + shift - width_of(box) / 2, at.y[i] - box_height / 2, width_of(box), box_height, look_of(box.kind).fill, at.x[i] + shift,
        at.y[i] + 4, xml_text(box.label));
  }
  out << fmt::format("</g>\n<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#374151\">{}</text>\n</svg>\n", width / 2,
                     at.height + 12, xml_text(legend));
}

}  // namespace weft
