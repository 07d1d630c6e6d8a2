#include "sim/cli/completion.hpp"

#include "collectives/in_network/deployment.hpp"
#include "collectives/registry/registry.hpp"
#include "kernels/dtype.hpp"
#include "sim/cli/program.hpp"
#include "sim/scenario/networks.hpp"

#include <map>
#include <set>

namespace weft {
namespace {

using Words = std::set<std::string>;

// Values of flags, whichever command has them.
std::map<std::string, Words> known_values() {
  std::map<std::string, Words> out;
  for (const NetworkTraits& network : networks())
    if (network.in_this_build) out["--network"].emplace(network.name);
  for (const Algorithm& algorithm : algorithms()) {
    out["--algorithm"].emplace(algorithm.name);
    out["--collective"].emplace(name_of(algorithm.collective));
  }
  for (const InNetworkProtocol& protocol : in_network_protocols()) out["--algorithm"].emplace(protocol.name);
  return out;
}

std::vector<std::string> flags_of(const CLI::Option& option) {
  std::vector<std::string> out;
  for (const std::string& name : option.get_snames()) out.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.push_back("--" + name);
  return out;
}

std::string joined(const Words& names) { return fmt::format("{}", fmt::join(names, " ")); }

}  // namespace

std::string bash_completion(const CLI::App& app) {
  Words names, folders;
  std::string by_command;
  for (const CLI::App* command : commands_of(app)) {
    names.insert(command->get_name());
    Words flags;
    for (const CLI::Option* option : command->get_options())
      for (const std::string& flag : flags_of(*option)) {
        flags.insert(flag);
        if (option->get_type_name() == "DIR") folders.insert(flag);
      }
    by_command += fmt::format("    {}) flags='{}' ;;\n", command->get_name(), joined(flags));
  }
  std::string by_flag;
  for (const auto& [flag, values] : known_values()) by_flag += fmt::format("    {}) values='{}' ;;\n", flag, joined(values));
  if (!folders.empty()) by_flag += fmt::format("    {}) COMPREPLY=($(compgen -d -- \"$current\")); return ;;\n", fmt::join(folders, "|"));
  return fmt::format(R"(# Completion of weft for bash, written by `weft completion bash`: source it, or put it where bash-completion looks.
_weft() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} flags= values=
  local commands='{}'
  COMPREPLY=()
  if ((COMP_CWORD == 1)) || [[ $COMP_CWORD == 2 && $before == help ]]; then
    COMPREPLY=($(compgen -W "$commands --help --version" -- "$current"))
    return
  fi
  case $before in
{}  esac
  case ${{COMP_WORDS[1]}} in
{}  esac
  if [[ $values ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$current"))
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _weft weft
)",
                     joined(names), by_flag, by_command);
}

}  // namespace weft
