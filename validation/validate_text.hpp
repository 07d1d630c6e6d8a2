// What `weft validate` prints and keeps: the table, the pages of the documentation, the committed errors.
#pragma once

#include "validation/classes.hpp"
#include "validation/validate.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace weft {

std::string table_of(const std::vector<Judgement>& judgements, bool every_point);
std::string table_of(const std::vector<JudgedClass>& classes);
// validation/results.md: every point and claim.
std::string results_page(const std::vector<Judgement>& judgements);
// The text with the summary between the markers "<!-- validate:begin -->" and "<!-- validate:end -->"; throws InputError if they are not
// there.
std::string with_summary(std::string_view text, const std::vector<Judgement>& judgements, const std::vector<JudgedClass>& classes = {});
// The project's first page, with what it comes to between "<!-- errors:begin -->" and "<!-- errors:end -->"; likewise.
std::string with_short_summary(std::string_view text, const std::vector<Judgement>& judgements, const std::vector<JudgedClass>& classes);

std::string baseline_text(const std::vector<Judgement>& judgements);
// A line for each reference whose held-out error is larger than in the baseline, or that the baseline lacks.
std::vector<std::string> grown_errors(const std::vector<Judgement>& judgements, std::string_view baseline);

}  // namespace weft
