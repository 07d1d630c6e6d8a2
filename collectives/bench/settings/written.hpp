// The command line of weft bench between its flags and its Settings.
#pragma once

#include "collectives/bench/settings/settings.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace weft::bench {

// The names of a list of values, for help and for messages.
template <class Values>
std::string names_of(const Values& values) {
  std::vector<std::string_view> names;
  for (const auto v : values) names.push_back(name_of(v));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<Collective> all_collectives();

// Why this build cannot run a transport that others can; "" for all that are not such.
std::string_view left_out(std::string_view transport);

// The command line as it is written, before it is understood.
struct Written {
  std::string collective = "allreduce", dtype = "float32", op = "sum", first = "1K", last, server_hosts = "workers";
  std::vector<std::string> algorithms = {};  // none: the transport's usual one
  std::vector<std::string> in_network = {};  // flags that only udp has
  std::vector<std::string> tcp = {};         // flags that only tcp has
  std::string device = "host", stream_rate = {};
  std::string secret_file = {};
  std::string schedule = {};  // the file of msccl
  std::string seed = {};      // of the fault injection; CLI11 itself takes -1 for the largest number that there is
  std::string datatype = {};  // as nccl-tests names it
  int n = 0, threads = 0, gpus = 0, graphs = 0;
  bool collective_said = false, factor = false;
  std::string step = {};       // size
  std::string selection = {};  // file
  std::string compression = {}, columns = {}, k = {};
  int rows = 0;                                           // of a sketch; 0: not said
  std::vector<std::string> of_compression = {};           // flags that only --compression has
  bool ranks = false, switches = false, servers = false;  // said at all
  double patience_s = 30;
  int check = 1;
  int per_iteration = 0;
};

// Writes what the flags mean into the settings, which have those that need no understanding. Returns all that is wrong, a line each.
std::vector<std::string> understand(const Written& written, Settings& settings);

}  // namespace weft::bench
