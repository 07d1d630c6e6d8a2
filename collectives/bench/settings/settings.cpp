#include "collectives/bench/settings/settings.hpp"

#include "collectives/bench/settings/written.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/nearest_name.hpp"
#include "kernels/base/text_hash.hpp"

#include <algorithm>
#include <charconv>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace weft::bench {

const std::vector<std::string>& transports() {
  static const std::vector<std::string> names = {
    "threads",
    "tcp",
    "udp",
#if WEFT_HAVE_MPI
    "mpi",
#endif
#if WEFT_HAVE_CUDA
    "cuda",
#endif
#if WEFT_HAVE_NCCL
    "nccl",
#endif
  };
  return names;
}

std::int64_t parse_size(std::string_view text) {
  std::int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  int shift = 0;
  if (!unit.empty() && unit.substr(1) != "" && unit.substr(1) != "iB")
    shift = -1;
  else if (!unit.empty())
    shift = unit[0] == 'K' || unit[0] == 'k' ? 10 : unit[0] == 'M' || unit[0] == 'm' ? 20 : unit[0] == 'G' || unit[0] == 'g' ? 30 : -1;
  if (error != std::errc{} || shift < 0 || count < 0 || count > (std::int64_t{1} << 40) >> shift)
    throw InputError(fmt::format("a size is written 512, 64K, 256M or 1G, at most 1024G, got \"{}\"", text));
  return count << shift;
}

BitsPerSecond parse_stream_rate(std::string_view text) {
  constexpr BitsPerSecond least{8'000};  // sockets count bytes, and below this a packet takes seconds
  try {
    const BitsPerSecond rate = parse_bandwidth(text);
    if (rate < least) throw InputError(fmt::format("must be at least {}, got {}", to_string(least), text));
    return rate;
  } catch (const InputError& e) {
    throw InputError(fmt::format("--stream-rate: {}", e.what()));
  }
}

namespace {

constexpr const char* purpose = "Runs collectives for real and prints how long they took, in the table of nccl-tests";

// Of a type as nccl-tests names it.
std::string our_name_of(const std::string& datatype) {
  if (datatype == "half") return "float16";
  if (datatype == "float") return "float32";
  return datatype == "double" ? "float64" : datatype;
}

// The options whose presence counts, besides their values.
struct Declared {
  const CLI::Option *collective, *only_n, *ranks, *switches, *servers, *factor, *step;
  std::vector<const CLI::Option*> counts, only_tcp, of_compression, only_udp;
};

bool is_given(const CLI::Option* option) { return option->count() > 0; }

// The ranks by whichever flags say them.
void count_ranks(const Declared& given, Settings& s, Written& w) {
  const bool counted = std::ranges::any_of(given.counts, is_given);
  if (is_given(given.only_n) && counted)
    throw InputError("-n: is the number of ranks here, and of iterations in nccl-tests: beside -t, -g or --ranks write --iters");
  if (is_given(given.only_n)) s.ranks = w.n;
  if (w.threads > 0 || w.gpus > 0) {
    if (is_given(given.ranks)) throw InputError("--ranks: follows from -t and -g: leave one of them out");
    s.ranks = static_cast<int>(std::min(std::int64_t{std::max(w.threads, 1)} * std::max(w.gpus, 1), std::int64_t{1} << 30));
  }
  w.ranks = is_given(given.only_n) || counted;
}

// The texts of what is written go to `s` and `w`, which must stay while the app is used.
Declared declare(CLI::App& app, Settings& s, Written& w) {
  std::string transport_help = fmt::format("{}", fmt::join(transports(), ", "));
  for (const std::string_view name : {"mpi", "cuda", "nccl"})
    if (!left_out(name).empty()) transport_help += fmt::format("; built without {}", name);
  app.add_option("--transport", s.transport, transport_help)->capture_default_str();
  app.add_option(
         "--algorithm", w.algorithms,
         "One algorithm or several, run in this order (ring); \"mpi\" and \"nccl\" are the libraries' own, on the transport of that name; "
         "\"one_shot\" and \"two_shot\", on GPUs, all-reduce in one launch a rank; "
         "udp runs atp and switchml; \"auto\" takes for each size the one in --selection, or on GPUs the "
         "fastest, measured before")
      ->delimiter(',');
  app.add_option("--selection", w.selection, "With --algorithm auto: the table of weft advise with the algorithm for each size")
      ->type_name("FILE");
  const CLI::Option* const collective =
      app.add_option("--collective", w.collective, names_of(all_collectives()) + "; with --file the collective of the file")
          ->capture_default_str();
  app.add_option("--file", w.schedule, "The schedule of --algorithm msccl: MSCCL XML or MSCCL++ JSON")->type_name("SCHEDULE");
  const CLI::Option* const only_n =
      app.add_option("-n", w.n, "Number of ranks; refused beside -t, -g or --ranks, where nccl-tests means iterations by it");
  const CLI::Option* const ranks =
      app.add_option("--ranks", s.ranks, "Number of ranks; by default 2, with mpi those that mpirun started, with nccl one on each GPU");
  const std::vector<const CLI::Option*> counts = {
      app.add_option("-t,--nthreads", w.threads, "As in nccl-tests: number of threads, each with the ranks of -g")
          ->check(CLI::PositiveNumber),
      app.add_option("-g,--ngpus", w.gpus, "As in nccl-tests: ranks of each thread")->check(CLI::PositiveNumber),
      ranks,
  };
  app.add_option("-b,--minbytes", w.first, "Smallest message size")->capture_default_str();
  app.add_option("-e,--maxbytes", w.last, "Largest message size; by default the smallest");
  const CLI::Option* const factor =
      app.add_option("-f,--stepfactor", s.factor, "Factor from one message size to the next")->capture_default_str();
  const CLI::Option* const step =
      app.add_option("-i,--stepbytes", w.step, "Bytes from one message size to the next, added instead of multiplied by -f");
  app.add_option("-w,--warmup", s.warmup, "Runs of each size that are not timed, before those that are")->capture_default_str();
  app.add_option("--iterations,--iters", s.iterations, "Timed iterations of each size, back to back: the time is their mean")
      ->capture_default_str();
  app.add_option("-I,--per_iter_timing", w.per_iteration,
                 "1 times each iteration by itself, from a barrier on: the time is their median, with smallest, largest and spread beside "
                 "it; always so with --trace, --compare, --compression and over udp")
      ->check(CLI::Range(0, 1))
      ->capture_default_str();
  app.add_option("-m,--agg_iters", s.aggregated, "Collectives of one iteration, back to back, of which the time is the mean")
      ->capture_default_str();
  app.add_flag("--in-place", s.only_in_place, "Leave out the out-of-place runs");
  app.add_option("-J,--output_json", s.json, "Write the results into this file, as nccl-tests does")->type_name("FILE");
  app.add_option("-c,--check", w.check, "0 skips the comparison with the right result")->expected(0, 1)->capture_default_str();
  app.add_option("--dtype", w.dtype, "Data type: " + names_of(all_dtypes()))->capture_default_str();
  app.add_option("-d,--datatype", w.datatype, "Data type by its name in nccl-tests: half, float, double, bfloat16, uint8, int32, int64");
  app.add_option("-o,--op", w.op, "Reduction operator: " + names_of(all_ops()))->capture_default_str();
  app.add_option("-r,--root", s.root, "Root rank of broadcast and reduce")->capture_default_str();
  app.add_option("--channels", s.cut.channels, "Number of channels: parts of the message that run side by side")->capture_default_str();
  app.add_option("--pieces", s.cut.pieces, "Number of pieces into which each part is cut to be pipelined")->capture_default_str();
  app.add_option(
      "--compression", w.compression,
      fmt::format("Compress every all-reduce; --algorithm then reduces what is left dense: {}", fmt::join(compression_names(), ", ")));
  const std::vector<const CLI::Option*> of_compression = {
      app.add_option("--rows", w.rows, "Rows of the sketch of gs_sgd and sketched_sgd; by default 5"),
      app.add_option("--columns", w.columns, "Columns of the sketch: a share of the elements, or a count; by default 10%"),
      app.add_option("--k", w.k, "Elements that are sent: a share, or a count; by default 1%"),
  };
  app.add_option("--group", s.cut.group, "Ranks in a group of hierarchical_ring and two_level");
  app.add_option("--inner", s.cut.inner, "Algorithm among the leaders of two_level; by default what MPI runs for the longest message");
  app.add_option("--up", s.cut.up, "Reduce of a group of two_level to its leader; by default binomial_tree");
  app.add_option("--down", s.cut.down, "Broadcast of a leader of two_level to its group; by default binomial_tree");
  const CLI::Option* const servers = app.add_option(
      "--servers", s.cut.servers, "Number of servers of parameter_server, by default 1; with udp processes beside the ranks");
  app.add_option("--server-hosts", w.server_hosts,
                 "workers: servers are ranks too; extra: each is a thread or process beside the ranks, which -n does not count")
      ->capture_default_str();
  const CLI::Option* const switches = app.add_option(
      "--switches", s.switches,
      "Switches of the BiGraph that hdrm is placed on; with udp processes that aggregate, the ranks below them in equal parts");
  const std::vector<const CLI::Option*> only_tcp = {
      app.add_option("--connections", s.connections, "tcp: connections to each peer on each channel")->capture_default_str(),
      app.add_option("--stream-rate", w.stream_rate, "tcp: hold each connection to this rate, such as 30Mbps; the kernel paces it"),
      app.add_flag("--zero-copy", s.zero_copy, "tcp: send large messages from their own memory, where the kernel can"),
  };
  app.add_option(
         "--hosts", s.hosts,
         "tcp, nccl: host:port of every rank, in order; udp: of ranks, servers and switches, for TCP and UDP; by default all run here")
      ->delimiter(',');
  app.add_option(
         "--meeting", s.meeting,
         "tcp, nccl: host:port where rank 0 listens and every rank learns the others' addresses, instead of --hosts; rank and ranks "
         "are those of torchrun, mpirun or srun, or --rank and --ranks")
      ->type_name("HOST:PORT");
  app.add_option("--rank", s.rank, "which rank this process is: of --hosts, or of --ranks with --meeting");
  app.add_option("--secret-file", w.secret_file,
                 "With --hosts: a file with the secret that all processes of the run share; by default the value of WEFT_JOB_SECRET");
  app.add_option("--patience", w.patience_s, "Timeout: seconds without progress after which a run ends")->capture_default_str();
  app.add_option("--device", w.device,
                 "tcp, mpi: where the data lie, host or gpu: messages then go from device memory where MPI takes it, else through "
                 "page-locked memory of the host (builds with CUDA)")
      ->capture_default_str();
  app.add_flag("--graph", s.graph, "cuda, nccl: capture the collective in a CUDA graph and replay it, instead of enqueueing it");
  app.add_option("-G,--cudagraph", w.graphs, "As in nccl-tests: --graph where it is more than 0")->check(CLI::NonNegativeNumber);
  app.add_option("--trace", s.trace, "Write every operation of one more run of each size into this file");
  app.add_flag("--force", s.force, "Replace files that -J and --trace name and weft bench did not write");
  app.add_option("--compare", s.compare, "Simulate this scenario and print it beside what was measured (builds with the simulator)")
      ->type_name("SCENARIO");
  UdpSettings& n = s.in_network;
  const std::vector<CLI::Option*> only_udp = {
      app.add_option("--aggregators", n.atp.aggregators, "atp: aggregators of each switch")->capture_default_str(),
      app.add_option("--slots", n.switchml.slots, "switchml: slots of the switch")->capture_default_str(),
      app.add_option("--window", n.atp.largest_window, "atp: largest window, in packets from a rank to a server")->capture_default_str(),
      app.add_option("--initial-window", n.atp.initial_window, "atp: initial window, in packets")->capture_default_str(),
      app.add_option("--mtu", n.atp.mtu.count, "atp: bytes by which windows grow, at least those of a datagram")->capture_default_str(),
      app.add_option("--payload", n.payload_bytes, "Bytes of values in a datagram")->capture_default_str(),
      app.add_option("--packet", n.packet_bytes, "Largest datagram in bytes, headers included")->capture_default_str(),
      app.add_option("--timeout", n.timeout_ms, "Retransmission timeout in milliseconds")->capture_default_str(),
      app.add_option("--below", n.below,
                     "The switch below which each rank, then each server, is attached, numbered from 0; by default in equal parts")
          ->delimiter(','),
      app.add_option("--passing", n.passing, "Switches that forward without aggregating, numbered from 0")->delimiter(','),
      app.add_option("--loss", n.faults.loss, "Fault injection: probability that a sent datagram is lost")->capture_default_str(),
      app.add_option("--duplicate", n.faults.duplication, "Fault injection: probability that it is duplicated")->capture_default_str(),
      app.add_option("--reorder", n.faults.reordering, "Fault injection: probability that it is sent after later ones")
          ->capture_default_str(),
      app.add_option("--seed", w.seed, "Seed of the fault injection")->type_name("UINT")->default_str(fmt::to_string(n.faults.seed)),
  };
  for (CLI::Option* option : only_udp) option->group("With --transport udp");
  return {collective, only_n, ranks, switches, servers, factor, step, counts, only_tcp, of_compression, {only_udp.begin(), only_udp.end()}};
}

std::string unknown_argument(const std::string& found, const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) flags.push_back("-" + name);
  }
  std::string what = fmt::format("unknown argument \"{}\"", found);
  if (const auto near = nearest_name(found, flags)) what += fmt::format(" (did you mean \"{}\"?)", *near);
  return fmt::format("{}; allowed: {}", what, fmt::join(flags, ", "));
}

}  // namespace

void describe(CLI::App& app) {
  struct Texts {
    Settings s;
    Written w;
  };
  const auto texts = std::make_shared<Texts>();
  app.description(purpose);
  declare(app, texts->s, texts->w);
  app.callback([texts] {});  // which lets them live as long as the app
}

std::optional<Settings> parse(int argc, const char* const* argv) {
  Settings s;
  Written w;
  CLI::App app{purpose, "weft bench"};
  const Declared given = declare(app, s, w);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return std::nullopt;
  } catch (const CLI::ExtrasError&) {
    throw InputError(unknown_argument(app.remaining().front(), app));
  } catch (const CLI::ParseError& e) {
    throw InputError(e.what());
  }
  count_ranks(given, s, w);
  s.arguments.assign(argv + 1, argv + argc);
  w.factor = is_given(given.factor);
  w.collective_said = is_given(given.collective);
  if (w.graphs > 0) s.graph = true;
  if (!w.datatype.empty()) w.dtype = our_name_of(w.datatype);
  w.switches = given.switches->count() > 0;
  w.servers = given.servers->count() > 0;
  for (const CLI::Option* option : given.only_tcp)
    if (option->count() > 0) w.tcp.push_back(option->get_name());
  for (const CLI::Option* option : given.of_compression)
    if (option->count() > 0) w.of_compression.push_back(option->get_name());
  for (const CLI::Option* option : given.only_udp)
    if (option->count() > 0) w.in_network.push_back(option->get_name());
  const std::vector<std::string> problems = understand(w, s);
  if (!problems.empty()) throw InputError(problems);
  return s;
}

bool runs_out_of_place(const Settings& s) {
  const bool copied = s.collective != Collective::alltoall && s.collective != Collective::barrier;
  const bool blocking = s.transport == "threads" || s.transport == "tcp" || s.transport == "mpi";
  return copied && blocking && !s.on_gpu && !s.only_in_place && !s.compression;
}

bool times_each_iteration(const Settings& s) {
  return s.per_iteration || s.transport == "udp" || s.compression || !s.trace.empty() || !s.compare.empty();
}

int timed_runs(const Settings& s) { return times_each_iteration(s) ? s.iterations : 1; }

UdpLayout layout_of(const Settings& s) {
  return {
      .workers = s.ranks, .servers = s.cut.servers, .switches = s.switches, .below = s.in_network.below, .passing = s.in_network.passing};
}

InNetworkSettings in_network_settings(const Settings& s, const std::string& algorithm) {
  const UdpSettings& n = s.in_network;
  const auto shared = [&](auto settings) {
    settings.payload = Bytes{n.payload_bytes};
    settings.packet = Bytes{std::int64_t{n.payload_bytes} + udp_overhead_bytes};
    settings.timeout = SimTime{static_cast<std::int64_t>(n.timeout_ms * 1e9)};
    return settings;
  };
  if (algorithm != "atp") return shared(n.switchml);
  AtpSettings atp = shared(n.atp);
  atp.floats = s.dtype != DType::int32;
  atp.initial_window = std::min(atp.largest_window, atp.initial_window);
  return atp;
}

Request request_of(const Settings& s, const Selected& selected) {
  return {.collective = s.collective, .algorithm = selected.algorithm, .ranks = s.ranks, .root = s.root, .settings = selected.settings};
}

Request request_of(const Settings& s, const std::string& algorithm) {
  Request q{.collective = s.collective, .algorithm = algorithm, .ranks = s.ranks, .root = s.root, .settings = s.cut};
  if (algorithm != "msccl") q.settings.imported = {};  // of another algorithm of the run
  if (s.switches > 0) q.bigraph = BiGraphShape{.switches = s.switches, .nodes_per_switch = s.ranks / s.switches};
  return q;
}

int ranks_among(int all, const Settings& s, const char* who_started_them) {
  const int servers = extra_servers(s.cut), ranks = all - servers;
  if (ranks < 1)
    throw InputError(fmt::format("--servers: {} {} ranks, which leaves none beside {} servers", who_started_them, all, servers));
  if (s.ranks != 0 && s.ranks != ranks)
    throw InputError(fmt::format("-n: {} {} ranks{}, got {}", who_started_them, all,
                                 servers > 0 ? fmt::format(", {} of them servers", servers) : "", s.ranks));
  return ranks;
}

namespace {

// What may be long, and is to be compared: its digest.
std::string schedule_of(const ImportedSchedule& imported) {
  return imported.given() ? fmt::format(" --file {:016x}", hash_of(to_string(*imported.schedule))) : "";
}

std::string places_of(const UdpSettings& n) {
  if (n.below.empty() && n.passing.empty()) return {};
  return fmt::format(" places {:016x}", hash_of(fmt::format("{};{}", fmt::join(n.below, ","), fmt::join(n.passing, ","))));
}

}  // namespace

std::string job_of(const Settings& s) {
  const UdpSettings& n = s.in_network;
  if (s.transport == "udp")
    return fmt::format(
        "udp {} {} -b {} -e {} -f {} -i {} -w {} --iterations {} -c {} {}+{}+{} nodes {}+{} memory {}/{} B -W {}..{}/{} -t {} ms{}",
        fmt::join(s.algorithms, ","), name_of(s.dtype), s.first_bytes, s.last_bytes, s.factor, s.step_bytes, s.warmup, s.iterations,
        s.check ? 1 : 0, s.ranks, s.cut.servers, s.switches, n.atp.aggregators, n.switchml.slots, n.payload_bytes, n.packet_bytes,
        n.atp.initial_window, n.atp.largest_window, n.atp.mtu.count, n.timeout_ms, places_of(n));
  return fmt::format("{} {} {} {} -b {} -e {} -f {} -i {} -w {} --iterations {}{} -m {}{} -c {} --channels {} --pieces {} --root {}{}{}",
                     name_of(s.collective), fmt::join(s.algorithms, ","), name_of(s.dtype), name_of(s.op), s.first_bytes, s.last_bytes,
                     s.factor, s.step_bytes, s.warmup, s.iterations, times_each_iteration(s) ? " -I" : "", s.aggregated,
                     s.only_in_place ? " --in-place" : "", s.check ? 1 : 0, s.cut.channels, s.cut.pieces, s.root,
                     s.cut.servers > 0 || extra_servers(s.cut) > 0
                         ? fmt::format(" --servers {} --server-hosts {}", s.cut.servers, name_of(s.cut.server_hosts))
                         : "",
                     s.trace.empty() ? "" : " --trace") +
         (s.cut.group > 0 ? fmt::format(" --group {}", s.cut.group) : "") + (s.cut.inner.empty() ? "" : " --inner " + s.cut.inner) +
         (s.cut.up.empty() ? "" : " --up " + s.cut.up) + (s.cut.down.empty() ? "" : " --down " + s.cut.down) + (s.graph ? " --graph" : "") +
         (s.on_gpu ? " --device gpu" : "") + schedule_of(s.cut.imported) + (s.compression ? " --compression " + label(*s.compression) : "");
}

}  // namespace weft::bench
