#include "validation/measurements/launch_line.hpp"

#include "validation/measurements/lines.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

namespace weft {
namespace {

using Words = std::span<const std::string_view>;

std::string_view without_folder(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_launcher(std::string_view word) {
  constexpr std::array<std::string_view, 10> names = {"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun",
                                                      "prun",   "srun",    "jsrun",         "aprun",   "flux"};
  return std::ranges::find(names, without_folder(word)) != names.end();
}

int count_in_word(std::string_view word) {
  constexpr std::int64_t most = 1 << 20;
  const std::int64_t count = whole_number_in(word).value_or(0);
  return count > 0 && count <= most ? static_cast<int>(count) : 0;
}

// Behind one of these options: "-n 8", "-n8", "--ntasks=8". 0 where there is none.
int count_behind(std::initializer_list<std::string_view> options, Words words) {
  for (std::size_t i = 0; i < words.size(); ++i)
    for (const std::string_view option : options) {
      if (words[i] == option && i + 1 < words.size()) return count_in_word(words[i + 1]);
      if (!words[i].starts_with(option)) continue;
      std::string_view rest = words[i].substr(option.size());
      if (option.starts_with("--")) {
        if (!rest.starts_with('=')) continue;
        rest.remove_prefix(1);
      }
      if (const int count = count_in_word(rest); count > 0) return count;
    }
  return 0;
}

// "-map-by ppr:4:node", "--map-by=ppr:4:node" of Open MPI; 0 where it is not there.
int mapped_to_a_node(Words words) {
  constexpr std::string_view begin = "ppr:", end = ":node";
  for (const std::string_view word : words) {
    const auto found = word.find(begin), found_end = word.find(end);
    if (found == word.npos || found_end == word.npos || found_end < found) continue;
    return count_in_word(word.substr(found + begin.size(), found_end - found - begin.size()));
  }
  return 0;
}

// One rank on each node in turn, of as many nodes as there are: of two ranks two.
bool is_mapped_by_node(Words words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--bynode" || words[i] == "-bynode" || words[i] == "--map-by=node") return true;
    if ((words[i] == "--map-by" || words[i] == "-map-by") && i + 1 < words.size() && words[i + 1] == "node") return true;
  }
  return false;
}

int nodes_of(int ranks, int of_a_node) { return of_a_node > 0 && ranks % of_a_node == 0 ? ranks / of_a_node : 0; }

void read_mpirun(Words options, LaunchLine& out) {
  out.ranks = count_behind({"-np", "--np", "-n", "--n"}, options);
  int of_a_node = mapped_to_a_node(options);
  if (of_a_node == 0) of_a_node = count_behind({"-ppn", "-perhost", "--npernode", "-npernode", "-N"}, options);
  if (std::ranges::any_of(options, [](std::string_view word) { return word == "-pernode" || word == "--pernode"; })) of_a_node = 1;
  out.nodes = nodes_of(out.ranks, of_a_node);
  if (out.nodes == 0 && out.ranks == 2 && is_mapped_by_node(options)) out.nodes = 2;
}

void read_srun(Words options, LaunchLine& out) {
  out.ranks = count_behind({"-n", "--ntasks"}, options);
  out.nodes = count_behind({"-N", "--nodes"}, options);
  const int of_a_node = count_behind({"--ntasks-per-node", "--tasks-per-node"}, options);
  if (out.nodes == 0) out.nodes = nodes_of(out.ranks, of_a_node);
  if (out.ranks == 0) out.ranks = out.nodes * of_a_node;
}

// Of resource sets, each of which has as many tasks as -a says.
void read_jsrun(Words options, LaunchLine& out) {
  const int sets = count_behind({"-n", "--nrs"}, options), of_a_set = std::max(1, count_behind({"-a", "--tasks_per_rs"}, options));
  const int all = count_behind({"-p", "--np"}, options);
  out.ranks = all > 0 ? all : sets * of_a_set;
  out.nodes = nodes_of(sets, count_behind({"-r", "--rs_per_host"}, options));
}

}  // namespace

std::optional<LaunchLine> launch_in(std::string_view line, std::string_view begin_of_program) {
  const auto all = words_in(line);
  const auto launcher = std::ranges::find_if(all, is_launcher);
  const auto program =
      std::find_if(launcher, all.end(), [&](std::string_view word) { return without_folder(word).starts_with(begin_of_program); });
  if (program == all.end() || std::find(launcher, all.end(), ":") != all.end()) return {};
  LaunchLine out{.program = std::string(without_folder(*program))};
  const Words options(launcher + 1, program);
  const std::string_view name = without_folder(*launcher);
  if (name == "jsrun")
    read_jsrun(options, out);
  else if (name == "srun" || name == "flux")
    read_srun(options, out);
  else
    read_mpirun(options, out);
  if (out.ranks == 0 || (out.nodes > 0 && out.ranks % out.nodes != 0)) out.nodes = 0;
  return out;
}

}  // namespace weft
