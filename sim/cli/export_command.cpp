#include "sim/cli/export_command.hpp"

#include "collectives/interchange/exports.hpp"
#include "collectives/interchange/msccl_xml.hpp"
#include "collectives/interchange/mscclpp_json.hpp"
#include "collectives/registry/registry.hpp"
#include "collectives/schedule/verify.hpp"
#include "kernels/base/plural.hpp"
#include "kernels/files/files.hpp"
#include "kernels/files/output_files.hpp"
#include "sim/cli/commands.hpp"
#include "sim/json/form.hpp"
#include "sim/scenario/scenario_fields.hpp"

#include <array>
#include <ostream>

namespace weft {
namespace {

constexpr std::array<std::string_view, 4> formats = {"msccl", "mscclpp", "goal", "dot"};
constexpr std::array<std::string_view, 3> protocols = {"Simple", "LL", "LL128"};

constexpr const char *usual_algorithm = "ring", *usual_collective = "allreduce", *of_file = "msccl";
constexpr const char *usual_protocol = "Simple", *usual_size = "1MiB", *usual_dtype = "float32";

std::string algorithm_asked(const ExportArguments& a) { return a.algorithm.value_or(usual_algorithm); }
std::string collective_asked(const ExportArguments& a) { return a.collective.value_or(usual_collective); }
std::string protocol_of(const ExportArguments& a) { return a.protocol.value_or(usual_protocol); }
std::string size_of_message(const ExportArguments& a) { return a.size.value_or(usual_size); }
std::string dtype_of_elements(const ExportArguments& a) { return a.dtype.value_or(usual_dtype); }

template <class Names>
void require_name(const char* flag, const std::string& found, const Names& names, std::vector<std::string>& problems) {
  std::vector<std::string> allowed;
  for (const auto& name : names) allowed.emplace_back(name);
  if (std::find(allowed.begin(), allowed.end(), found) == allowed.end())
    problems.push_back(fmt::format("weft export: {}: {}", flag, unknown_name("name", found, allowed)));
}

// Runs what may throw InputError, and adds what it says.
template <class Action>
void noting(const char* flag, std::vector<std::string>& problems, Action action) {
  try {
    action();
  } catch (const InputError& error) {
    for (const std::string& problem : error.problems()) problems.push_back(fmt::format("weft export: {}: {}", flag, problem));
  }
}

// The flag that a setting of a collective comes from.
std::string flag_of(const Problem& problem) {
  if (problem.where == "/ranks") return "-n";
  return problem.where.starts_with("/fabric/") ? "--switches" : "--" + problem.where.substr(1);
}

// What `weft export` has written, whatever the format.
bool is_exported(std::string_view text) {
  return text.starts_with("<algo name=") || text.starts_with("{\n\"name\": ") || text.starts_with("num_ranks ") ||
         (text.starts_with("digraph ") && text.find("{\n  rankdir=TB; node [shape=box];\n") < 200);
}

void refuse(const std::vector<std::string>& problems) {
  if (!problems.empty()) throw InputError(problems);
}

// What is given and changes nothing in this format, or of this algorithm.
std::vector<std::string> idle_options(const ExportArguments& a, const Request& q) {
  std::vector<std::string> out;
  const auto add = [&](const char* flag, const std::string& what, const auto& got) {
    out.push_back(fmt::format("weft export: {}: {}, got {}", flag, what, got));
  };
  const auto is_of = [&](const char* flag, const std::optional<std::string>& given, const char* of) {
    if (given) add(flag, fmt::format("is of {}, --as {} has none", of, a.format), *given);
  };
  const Algorithm* known = find_algorithm(q.collective, q.algorithm);
  if (a.algorithm && !a.file.empty() && *a.algorithm != of_file)
    add("--algorithm", fmt::format("the schedule is that of {}: leave one of them out", a.file), *a.algorithm);
  if (a.collective && !a.file.empty() && *a.collective != name_of(q.collective))
    add("--collective", fmt::format("must be the {} of {}", name_of(q.collective), a.file), *a.collective);
  if (a.format == "goal" || a.format == "dot") is_of("--protocol", a.protocol, "msccl and mscclpp");
  if (a.format != "goal") {
    if (known == nullptr || !known->takes_inner) is_of("--size", a.size, "goal and two_level");
    is_of("--dtype", a.dtype, "goal");
    is_of("--reduce-rate", a.reduce_rate.empty() ? std::nullopt : std::optional(a.reduce_rate), "goal");
  }
  if (known == nullptr) return out;
  if (a.root && !has_root(q.collective)) add("--root", fmt::format("{} has no root", name_of(q.collective)), *a.root);
  if (a.root && has_root(q.collective) && !a.file.empty() && *a.root != q.root)
    add("--root", fmt::format("must be the {} of {}", q.root, a.file), *a.root);
  if (a.group != 0 && known->staggers && a.channels == 1)
    add("--group", fmt::format("{} {} in one channel is the same in groups; give --channels too", q.algorithm, name_of(q.collective)),
        a.group);
  if (a.switches != 0 && q.algorithm != "hdrm")
    add("--switches", fmt::format("{} {} is placed on no BiGraph", q.algorithm, name_of(q.collective)), a.switches);
  return out;
}

// With what has been found wrong before.
Request export_request(const ExportArguments& a, std::vector<std::string> problems) {
  Request q{.algorithm = algorithm_asked(a), .ranks = a.ranks.value_or(0), .root = a.root.value_or(0)};
  q.settings = {.group = a.group,
                .servers = a.servers,
                .channels = a.channels,
                .pieces = a.pieces,
                .nics = a.nics,
                .inner = a.inner,
                .up = a.up,
                .down = a.down};
  require_name("--collective", collective_asked(a), Form<Collective>::names(), problems);
  const auto collective = collective_named(collective_asked(a));
  q.collective = collective.value_or(Collective::allreduce);
  if (!a.file.empty()) noting("--file", problems, [&] { q.settings.imported = import_schedule(a.file, a.file); });
  if (const Schedule* s = q.settings.imported.schedule.get()) {
    q.algorithm = of_file;
    q.collective = s->collective;
    q.root = s->root;
    if (!a.ranks) q.ranks = s->ranks;
  }
  if (a.channels < 1) problems.push_back(fmt::format("weft export: --channels: must be at least 1, got {}", a.channels));
  if (a.switches != 0) q.bigraph = BiGraphShape{.switches = a.switches, .nodes_per_switch = q.ranks / a.switches};
  if (a.file.empty() && !a.ranks) problems.push_back("weft export: -n: missing: the number of ranks");
  // As many as are read back in every format. A ring of them is 0.4 to 1 GB of text, which grows with their square.
  if (a.ranks && (*a.ranks < 1 || *a.ranks > max_mscclpp_gpus))
    problems.push_back(fmt::format("weft export: -n: must be 1 to {}, got {}", max_mscclpp_gpus, *a.ranks));
  Bytes size;
  noting("--size", problems, [&] { size = parse_bytes(size_of_message(a)); });
  if (collective && find_algorithm(q.collective, q.algorithm) == nullptr)
    for (const Problem& problem : constraints(q)) problems.push_back(fmt::format("weft export: {}: {}", flag_of(problem), problem.what));
  const bool fits_so_far = problems.empty();
  for (std::string& problem : idle_options(a, q)) problems.push_back(std::move(problem));
  if (!fits_so_far) refuse(problems);
  if (const Algorithm* known = find_algorithm(q.collective, q.algorithm);
      known != nullptr && known->chooses != nullptr && !known->takes_inner)
    problems.push_back(
        fmt::format("weft export: --algorithm: {} is another algorithm for each size, which `weft run` says: name that", q.algorithm));
  for (const Problem& problem : constraints(q)) problems.push_back(fmt::format("weft export: {}: {}", flag_of(problem), problem.what));
  refuse(problems);
  const Algorithm& known = *find_algorithm(q.collective, q.algorithm);
  return known.chooses != nullptr ? known.chooses(q, size) : q;
}

// Of what `weft run` decides by the size.
std::string said_of_size(const Request& q, const ExportArguments& a) {
  const Algorithm& algorithm = *find_algorithm(q.collective, q.algorithm);
  if (algorithm.takes_inner && a.inner.empty())
    return fmt::format("weft export: {} has {} among the leaders, as weft run does at {}: give another --size, or --inner\n", q.algorithm,
                       q.settings.inner, size_of_message(a));
  if (algorithm.cuts_itself)
    return fmt::format(
        "weft export: {} is written with {} in {}; weft run takes what NCCL chooses for the size, which its rows name: give that as "
        "--channels and --pieces\n",
        q.algorithm, q.collective == Collective::alltoall ? "sends and receives" : "rings", counted(q.settings.channels, "channel"));
  if (algorithm.wants_pieces && a.pieces == 0)
    return fmt::format(
        "weft export: {} is written in one piece; weft run cuts it into as many as the size wants, which its rows name: give them as "
        "--pieces\n",
        q.algorithm);
  return "";
}

GoalOptions goal_options(const ExportArguments& a) {
  std::vector<std::string> problems;
  GoalOptions options;
  noting("--dtype", problems, [&] {
    const auto dtype = dtype_named(dtype_of_elements(a));
    std::vector<std::string> names;
    for (const DType one : all_dtypes()) names.emplace_back(name_of(one));
    if (!dtype) throw InputError(unknown_name("type", dtype_of_elements(a), names));
    options.dtype = *dtype;
  });
  noting("--size", problems, [&] {
    const Bytes bytes = parse_bytes(size_of_message(a));
    const auto unit = static_cast<std::int64_t>(size_of(options.dtype));
    if (bytes.count % unit != 0)
      throw InputError(
          fmt::format("must be a multiple of {} bytes, the size of a {}, got \"{}\"", unit, dtype_of_elements(a), size_of_message(a)));
    options.elements = bytes.count / unit;
  });
  if (!a.reduce_rate.empty())
    noting("--reduce-rate", problems, [&] {
      const BitsPerSecond rate = parse_bandwidth(a.reduce_rate);
      if (rate.count < 1) throw InputError(fmt::format("must be more than nothing, got \"{}\"", a.reduce_rate));
      options.reduce_ns_per_byte = 8e9 / static_cast<double>(rate.count);
    });
  refuse(problems);
  return options;
}

}  // namespace

void declare_export(CLI::App& command, ExportArguments& a) {
  command.add_option("--algorithm", a.algorithm, "Name of an algorithm, as weft list prints it")->default_str(usual_algorithm);
  command.add_option("--collective", a.collective, "Collective operation that it does; by default that of --file")
      ->default_str(usual_collective);
  command.add_option("-n,--ranks", a.ranks, "Number of ranks; by default those of --file");
  command.add_option("--as", a.format, fmt::format("Format to write: {}", fmt::join(formats, ", ")))->capture_default_str();
  command.add_option("--file", a.file, "A schedule of MSCCL (XML) or MSCCL++ (JSON) instead of an algorithm")->type_name("SCHEDULE");
  command.add_option("--root", a.root, "Root rank of broadcast and reduce")->default_str("0");
  command.add_option("--channels", a.channels, "Number of channels: parts of the message that run side by side")->capture_default_str();
  command.add_option("--pieces", a.pieces, "Number of pieces into which each part is cut to be pipelined");
  command.add_option("--group", a.group, "Ranks in a group, such as the GPUs of a server");
  command.add_option("--inner", a.inner, "two_level: algorithm among the leaders of the groups; by default what weft run takes for --size");
  command.add_option("--up", a.up, "two_level: reduce of a group to its leader");
  command.add_option("--down", a.down, "two_level: broadcast of a leader to its group");
  command.add_option("--servers", a.servers, "Number of servers of parameter_server");
  command.add_option("--nics", a.nics, "nccl: NICs of a server");
  command.add_option("--switches", a.switches, "hdrm: switches of the BiGraph");
  command
      .add_option("--protocol", a.protocol,
                  fmt::format("msccl, mscclpp: protocol, one of {}; LL128 is only MSCCL's", fmt::join(protocols, ", ")))
      ->default_str(usual_protocol);
  command.add_option("--size", a.size, "goal: size of the message; two_level: that for which it chooses its --inner")
      ->default_str(usual_size);
  command.add_option("--dtype", a.dtype, "goal: data type of the elements")->default_str(usual_dtype);
  command.add_option("--reduce-rate", a.reduce_rate, "goal: rate of reductions, such as 100GBps; by default they take no time");
  command.add_option("-o,--output", a.output, "File to write instead of standard output")->type_name("FILE");
  command.add_flag("--force", a.force, "Replace a file that is not an exported schedule");
}

int export_command(const ExportArguments& a, std::ostream& out, std::ostream& err) {
  std::vector<std::string> problems;
  require_name("--as", a.format, formats, problems);
  require_name("--protocol", protocol_of(a), protocols, problems);
  if (a.format == "mscclpp" && protocol_of(a) == "LL128")
    problems.push_back("weft export: --protocol: must be Simple or LL for mscclpp, got LL128");
  if (!a.output.empty()) {
    refuse(problems);
    std::vector<std::filesystem::path> inputs;
    if (!a.file.empty()) inputs.emplace_back(a.file);
    const std::string argument = "-o " + a.output;
    refuse_to_replace({{.file = a.output, .argument = argument, .what = "an exported schedule", .replaces = is_exported}}, inputs, a.force);
    refuse_missing_folder(argument, a.output);
  }
  const Request request = export_request(a, problems);
  const Schedule schedule = build(request);
  for (const std::string& problem : verify(schedule)) problems.push_back(fmt::format("weft export: {}", problem));
  refuse(problems);
  std::string text;
  noting("--as", problems, [&] {
    if (a.format == "msccl") text = to_msccl_xml(schedule, {.protocol = protocol_of(a)});
    if (a.format == "mscclpp") text = to_mscclpp_json(schedule, {.protocol = protocol_of(a)});
    if (a.format == "dot") text = to_dot(schedule);
  });
  refuse(problems);
  if (a.format == "goal") {
    GoalOptions options = goal_options(a);
    options.elements = schedule.collective == Collective::barrier ? 0 : in_equal_blocks(schedule, options.elements);
    text = to_goal(schedule, options);
  }
  err << said_of_size(request, a);
  if (a.output.empty())
    out << text;
  else
    write_file(a.output, text);
  return exit_ok;
}

}  // namespace weft
