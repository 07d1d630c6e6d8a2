#include "kernels/base/nearest_name.hpp"

#include <algorithm>
#include <utility>

namespace weft {

int edit_distance(std::string_view a, std::string_view b) {
  // Optimal string alignment (Damerau 1964): rows of the table for one and two letters of `a` less, and the current one.
  std::vector<int> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::optional<std::string> nearest_name(std::string_view found, const std::vector<std::string>& allowed) {
  constexpr std::size_t longest = 256;  // the table is quadratic, and nobody means a name by a page of text
  if (found.size() > longest) return std::nullopt;
  const std::string* best = nullptr;
  int best_distance = 0;
  for (const std::string& name : allowed) {
    const int distance = edit_distance(found, name);
    const int letters = static_cast<int>(std::max(found.size(), name.size()));
    const bool a_slip = distance <= std::max(1, letters / 3) && distance < letters;
    if (a_slip && (best == nullptr || distance < best_distance)) best = &name, best_distance = distance;
  }
  // What is no slip may be how a name begins: "gpt2" of "gpt2_xl".
  constexpr std::size_t telling = 3;
  if (best == nullptr && found.size() >= telling) {
    const auto longer = std::ranges::find_if(allowed, [&](const std::string& name) { return name.starts_with(found); });
    if (longer != allowed.end()) best = &*longer;
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

}  // namespace weft
