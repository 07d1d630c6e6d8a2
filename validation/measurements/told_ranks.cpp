// How many ranks a row of nccl-tests was measured on, by its two bandwidths.
#include "sim/results/row.hpp"
#include "validation/measurements/lines.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft {
namespace {

// What busbw / algbw comes near on many ranks; 0: it is the same on any number.
double max_ratio(std::string_view collective) {
  const auto known = collective_named(collective);
  const double of_two = known ? busbw_factor(*known, 2) : 0;
  return known && of_two != busbw_factor(*known, 3) ? 2 * of_two : 0;  // it goes as (n - 1) / n
}

// 0.01 of "27.76"; nothing of what is no number, or has an exponent.
std::optional<double> last_digit(std::string_view text) {
  if (!number_in(text) || text.find_first_of("eE") != text.npos) return {};
  const auto point = text.find('.');
  return point == text.npos ? 1 : std::pow(10.0, -static_cast<double>(text.size() - point - 1));
}

}  // namespace

std::optional<RanksTold> ranks_told(std::string_view collective, std::string_view algbw, std::string_view busbw) {
  constexpr double fewest_digits = 20;  // a bandwidth of less in its last place says next to nothing
  constexpr double slack = 1e-9;
  const double scale = max_ratio(collective);
  const auto a = number_in(algbw), b = number_in(busbw), digit_a = last_digit(algbw), digit_b = last_digit(busbw);
  if (scale == 0 || !digit_a || !digit_b || *a < fewest_digits * *digit_a || *b < fewest_digits * *digit_b) return {};
  if (scale == 1 && *a == *b) return {};  // before June 2020 algbw was busbw
  const double low = (*b - *digit_b) / (*a + *digit_a) / scale, high = (*b + *digit_b) / (*a - *digit_a) / scale;
  if (low >= 1) return {};
  RanksTold out{.ratio = *b / *a, .least = 1, .most = std::numeric_limits<int>::max()};
  const auto ranks_at = [](double share) { return 1 / (1 - share); };
  out.least = std::max(1, static_cast<int>(std::ceil(ranks_at(low) - slack)));
  if (high < 1) out.most = static_cast<int>(std::floor(std::min(ranks_at(high) + slack, 1e9)));
  return out.least <= out.most ? std::optional(out) : std::nullopt;
}

}  // namespace weft
