// `weft export`: a schedule for other programs.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace weft {

struct ExportArguments {
  std::string algorithm = "ring", collective = "allreduce", format = "msccl", file = {}, protocol = "Simple", output = {}, inner = {},
              up = {}, down = {};
  std::string size = "1MiB", dtype = "float32", reduce_rate = {};
  std::optional<int> ranks = {};  // by default those of the file
  int root = 0, group = 0, servers = 0, nics = 0, channels = 1, pieces = 0;
  int switches = 0;  // of the BiGraph, for hdrm
  bool force = false;
};

void declare_export(CLI::App& command, ExportArguments& arguments);
// `err`: what differs from the schedule that `weft run` takes.
int export_command(const ExportArguments& arguments, std::ostream& out, std::ostream& err);

}  // namespace weft
