#include "validation/fit/algorithm_measured.hpp"

#include "collectives/registry/registry.hpp"
#include "validation/fit/measured_setup.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace weft {

std::optional<AlgorithmChoice> algorithm_measured(const Measurement& m, const Renames& renames,
                                                  const std::vector<AlgorithmChoice>& otherwise) {
  if (is_point_to_point(m.collective)) return AlgorithmChoice{m.collective};
  const auto collective = collective_named(m.collective);
  if (!collective) return {};
  const auto known = [&](const std::string& name) { return find_algorithm(*collective, name) != nullptr; };
  const auto with_settings = [&](const AlgorithmChoice& choice) -> std::optional<AlgorithmChoice> {
    if (!known(choice.name)) return {};
    const AlgorithmChoice plain = parse_algorithm(choice.name);
    if (choice != plain && choice != AlgorithmChoice{choice.name}) return choice;
    const auto same = std::ranges::find(otherwise, choice.name, &AlgorithmChoice::name);
    return same != otherwise.end() ? *same : plain;
  };
  for (const std::string& name : {m.algorithm, without_settings(m.algorithm)})
    if (const auto renamed = renames.find(name); renamed != renames.end()) return with_settings(renamed->second);
  if (m.algorithm.empty()) {
    for (const AlgorithmChoice& choice : otherwise)
      if (known(choice.name)) return choice;
    return {};
  }
  if (m.algorithm.ends_with(')')) {
    try {
      return with_settings(parse_algorithm(m.algorithm));
    } catch (const InputError&) {  // not said behind the file's name, where it would have been refused, but the file's own words
      return {};
    }
  }
  std::string name = m.algorithm;
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  for (const std::string_view library : {"_ompi", "_mpich", "_mpi", "_over", "_nccl"})
    if (name.ends_with(library)) name.erase(name.size() - library.size());
  constexpr std::array synonyms = {std::pair{"rabenseifner", "halving_doubling"}, std::pair{"tree", "double_binary_tree"}};
  for (const auto& [other, ours] : synonyms)
    if (name == other) name = ours;
  return with_settings({name});
}

}  // namespace weft
