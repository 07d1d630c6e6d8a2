// `weft export`: a schedule for other programs.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace weft {

struct ExportArguments {
  std::optional<std::string> algorithm = {}, collective = {};  // by default those of the file; else ring, allreduce
  std::string format = "msccl", file = {}, output = {}, inner = {}, up = {}, down = {};
  std::optional<std::string> protocol = {}, size = {}, dtype = {};  // by default Simple, 1MiB, float32
  std::string reduce_rate = {};
  std::optional<int> ranks = {}, root = {};  // by default those of the file; else root 0
  int group = 0, servers = 0, nics = 0, channels = 1, pieces = 0;
  int switches = 0;  // of the BiGraph, for hdrm
  bool force = false;
};

void declare_export(CLI::App& command, ExportArguments& arguments);
// `err`: what differs from the schedule that `weft run` takes.
int export_command(const ExportArguments& arguments, std::ostream& out, std::ostream& err);

}  // namespace weft
