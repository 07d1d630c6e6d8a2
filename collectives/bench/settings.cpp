#include "collectives/bench/settings.hpp"

#include "kernels/error.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <span>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

namespace weft::bench {
namespace {

constexpr int most_ranks = 1024;  // each is a thread or a process
const std::vector<std::string> in_network_algorithms = {"atp", "switchml"};

// The names of a list of values, for help and for messages.
template <class Values>
std::string names_of(const Values& values) {
  std::vector<std::string_view> names;
  for (const auto v : values) names.push_back(name_of(v));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<Collective> all_collectives() {
  std::vector<Collective> all;
  for (const Algorithm& a : algorithms())
    if (std::find(all.begin(), all.end(), a.collective) == all.end()) all.push_back(a.collective);
  return all;
}

// Why this build cannot run a transport that others can; "" for all that are not such.
std::string_view left_out(std::string_view transport) {
  if (!WEFT_HAVE_MPI && transport == "mpi") return "this build has no MPI: configure it again where MPI is found";
  if (!WEFT_HAVE_CUDA && (transport == "cuda" || transport == "nccl"))
    return "this build has no CUDA: configure it again where nvcc 12 or newer is found";
  if (!WEFT_HAVE_NCCL && transport == "nccl") return "this build has no NCCL: configure it again where NCCL is found, or with NCCL_ROOT";
  return {};
}

// The command line as it is written, before it is understood.
struct Written {
  std::string collective = "allreduce", dtype = "float32", op = "sum", first = "1K", last, server_hosts = "workers";
  std::vector<std::string> algorithms = {};  // none: the transport's usual one
  std::vector<std::string> in_network = {};  // flags that only udp has
  bool ranks = false, switches = false;      // said at all
  double patience_s = 30;
  int check = 1;
};

class Reader {
 public:
  Settings settings;
  Written written;
  std::vector<std::string> problems;

  void interpret() {
    named("--collective", written.collective, collective_named(written.collective), settings.collective, names_of(all_collectives()));
    named("--dtype", written.dtype, dtype_named(written.dtype), settings.dtype, names_of(all_dtypes()));
    named("--op", written.op, op_named(written.op), settings.op, names_of(all_ops()));
    const bool udp = settings.transport == "udp";
    const std::vector<ServerHosts> hosts = {ServerHosts::workers, ServerHosts::extra};
    const auto named_hosts = std::find_if(hosts.begin(), hosts.end(), [&](ServerHosts h) { return name_of(h) == written.server_hosts; });
    named("--server-hosts", written.server_hosts, named_hosts != hosts.end() ? std::optional(*named_hosts) : std::nullopt,
          settings.cut.server_hosts, names_of(hosts));
    settings.algorithms = written.algorithms;
    if (settings.algorithms.empty()) settings.algorithms = {udp ? "atp" : "ring"};
    settings.check = written.check != 0;
    settings.patience = std::chrono::milliseconds(static_cast<std::int64_t>(written.patience_s * 1000));
    size("-b", written.first, settings.first_bytes);
    size("-e", written.last.empty() ? written.first : written.last, settings.last_bytes);
    const std::int64_t unit = static_cast<std::int64_t>(size_of(settings.dtype));
    refuse_if(settings.last_bytes < settings.first_bytes, "-e: must be at least -b = {}, got {}", settings.first_bytes,
              settings.last_bytes);
    refuse_if(settings.first_bytes < unit, "-b: must hold one {} of {} bytes, got {}", name_of(settings.dtype), unit, settings.first_bytes);
    refuse_if(settings.factor < 2, "-f: must be at least 2, got {}", settings.factor);
    refuse_if(settings.iterations < 1, "--iterations: must be at least 1, got {}", settings.iterations);
    refuse_if(settings.warmup < 0, "-w: must not be negative, got {}", settings.warmup);
    refuse_if(settings.ranks < (written.ranks ? 1 : 0) || settings.ranks > most_ranks, "-n: must be 1 to {}, got {}", most_ranks,
              settings.ranks);
    refuse_if(extra_servers(settings.cut) > most_ranks, "--servers: must be at most {}, got {}", most_ranks, settings.cut.servers);
    if (!settings.trace.empty()) interpret_trace();
    refuse_if(settings.connections < 1 || settings.connections > 64, "--connections: must be 1 to 64, got {}", settings.connections);
    refuse_if(!(written.patience_s > 0), "--patience: must be more than 0 seconds, got {}", written.patience_s);
    refuse_if(!defined(settings.op, settings.dtype), "--op: {} is not defined on {}", name_of(settings.op), name_of(settings.dtype));
    const auto& known = transports();
    const std::string_view missing = left_out(settings.transport);
    refuse_if(!missing.empty(), "--transport {}: {}", settings.transport, missing);
    refuse_if(missing.empty() && std::find(known.begin(), known.end(), settings.transport) == known.end(),
              "--transport: must be one of {}, got \"{}\"", fmt::join(known, ", "), settings.transport);
    const bool streams = settings.transport == "cuda" || settings.transport == "nccl";
    refuse_if(settings.graph && !streams, "--graph: only for --transport cuda and nccl");
    refuse_if(settings.transport == "nccl" && settings.collective == Collective::barrier,
              "--collective barrier: carries no data, and NCCL nothing else");
    interpret_ranks();
    if (udp)
      interpret_in_network();
    else
      refuse_in_network();
  }

 private:
  template <class... Args>
  void refuse_if(bool wrong, fmt::format_string<Args...> what, Args&&... args) {
    if (wrong) problems.push_back(fmt::format(what, std::forward<Args>(args)...));
  }
  template <class T>
  void named(const char* flag, const std::string& name, std::optional<T> found, T& into, const std::string& known) {
    if (found) into = *found;
    refuse_if(!found, "{}: must be one of {}, got \"{}\"", flag, known, name);
  }
  void size(const char* flag, const std::string& text, std::int64_t& into) {
    try {
      into = parse_size(text);
    } catch (const InputError& e) {
      problems.push_back(fmt::format("{}: {}", flag, e.what()));
    }
  }
  // Before anything runs: a run whose results cannot be kept is lost.
  void interpret_trace() {
    namespace fs = std::filesystem;
    const fs::path folder = fs::absolute(settings.trace).parent_path();
    refuse_if(!fs::is_directory(folder), "--trace: there is no folder {} to write to", folder.string());
    refuse_if(fs::is_directory(settings.trace), "--trace: {} is a folder", settings.trace);
    refuse_if(fs::is_directory(folder) && ::access(folder.c_str(), W_OK) != 0, "--trace: {} cannot be written to", folder.string());
  }
  void interpret_hosts() {
    const std::vector<std::string>& hosts = settings.hosts;
    for (const std::string& host : hosts) {
      const std::size_t colon = host.rfind(':');
      int port = 0;
      const char* const end = host.data() + host.size();
      const bool is_port =
          colon != std::string::npos && std::from_chars(host.data() + colon + 1, end, port) == std::from_chars_result{end, {}};
      refuse_if(colon == 0 || !is_port || port < 1 || port > 65535, "--hosts: \"{}\" must be written host:port", host);
    }
    std::vector<std::string> sorted = hosts;
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    for (const std::string& host : sorted) refuse_if(std::count(hosts.begin(), hosts.end(), host) > 1, "--hosts: names {} twice", host);
  }
  void interpret_ranks() {
    interpret_hosts();
    const int hosts = static_cast<int>(settings.hosts.size()), servers = extra_servers(settings.cut);
    if (settings.transport == "udp") {
      interpret_nodes();
    } else if (settings.transport != "tcp") {
      refuse_if(hosts > 0 || settings.rank >= 0, "--hosts, --rank: only for --transport tcp and udp");
    } else if (hosts > 0) {
      refuse_if(settings.ranks != 0 && settings.ranks != hosts - servers, "-n: --hosts names {} ranks, got {}", hosts - servers,
                settings.ranks);
      refuse_if(hosts <= servers, "--hosts: must name a rank before the {} servers, got {} hosts", servers, hosts);
      refuse_if(settings.rank < 0 || settings.rank >= hosts, "--rank: must say which of the {} hosts this is, 0 to {}, got {}", hosts,
                hosts - 1, settings.rank);
      settings.ranks = hosts - servers;
    } else {
      refuse_if(settings.rank >= 0, "--rank: needs --hosts");
    }
    if (settings.ranks == 0 && settings.transport != "mpi" && settings.transport != "nccl") settings.ranks = 2;
  }
  // Workers, servers and switches have places of their own.
  void interpret_nodes() {
    const std::vector<std::string>& names = settings.algorithms;
    const int least_servers = std::find(names.begin(), names.end(), "atp") != names.end() ? 1 : 0;
    if (settings.cut.servers == 0) settings.cut.servers = least_servers;
    if (settings.switches == 0 && !written.switches) settings.switches = 1;
    refuse_if(written.server_hosts != "workers", "--server-hosts: over udp servers are processes of their own");
    refuse_if(settings.cut.servers < least_servers || settings.cut.servers > most_ranks, "--servers: must be 1 to {}, got {}", most_ranks,
              settings.cut.servers);
    refuse_if(settings.switches < 1 || settings.switches > most_ranks, "--switches: must be 1 to {}, got {}", most_ranks,
              settings.switches);
    const int hosts = static_cast<int>(settings.hosts.size()), others = settings.cut.servers + settings.switches;
    if (hosts > 0) {
      refuse_if(hosts <= others, "--hosts: must name workers, then {} servers, then {} switches, got {} hosts", settings.cut.servers,
                settings.switches, hosts);
      refuse_if(settings.ranks != 0 && settings.ranks != hosts - others, "-n: --hosts names {} workers, got {}", hosts - others,
                settings.ranks);
      refuse_if(settings.rank < 0 || settings.rank >= hosts, "--rank: must say which of the {} hosts this is, 0 to {}, got {}", hosts,
                hosts - 1, settings.rank);
      settings.ranks = std::max(hosts - others, 1);
    } else {
      refuse_if(settings.rank >= 0, "--rank: needs --hosts");
    }
  }

  void refuse_in_network() {
    for (const std::string& name : settings.algorithms)
      refuse_if(is_in_network(name), "--algorithm: \"{}\" needs switches that add: --transport udp", name);
    refuse_if(!written.in_network.empty(), "{}: only for --transport udp", fmt::join(written.in_network, ", "));
  }
  static bool is_in_network(const std::string& name) {
    return std::find(in_network_algorithms.begin(), in_network_algorithms.end(), name) != in_network_algorithms.end();
  }

  void interpret_in_network() {
    const InNetworkSettings& n = settings.in_network;
    for (const std::string& name : settings.algorithms)
      refuse_if(!is_in_network(name), "--algorithm: over udp must be one of {}, got \"{}\"", fmt::join(in_network_algorithms, ", "), name);
    refuse_if(settings.collective != Collective::allreduce, "--collective: switches add for allreduce only, got {}",
              name_of(settings.collective));
    refuse_if(settings.op != ReduceOp::sum, "--op: switches add; they cannot do {}", name_of(settings.op));
    refuse_if(settings.dtype == DType::int64 || settings.dtype == DType::uint8,
              "--dtype: packets carry int32 or, as fixed point, floating point, not {}", name_of(settings.dtype));
    refuse_if(settings.cut.channels != 1 || settings.cut.pieces != 1 || settings.cut.group != 0,
              "--channels, --pieces, --group: cut schedules, not what udp runs");
    refuse_if(!settings.trace.empty(), "--trace: writes the operations of schedules, not of what udp runs");
    refuse_if(!settings.compare.empty(), "--compare: simulates schedules, not what udp runs");
    refuse_if(n.aggregators < 1, "--aggregators: must be at least 1, got {}", n.aggregators);
    refuse_if(n.slots < 1, "--slots: must be at least 1, got {}", n.slots);
    refuse_if(n.window < 1 || n.window > 1 << 20, "--window: must be 1 to {}, got {}", 1 << 20, n.window);
    refuse_if(n.initial_window < 1, "--initial-window: must be at least 1, got {}", n.initial_window);
    refuse_if(n.mtu_bytes < 1, "--mtu: must be at least 1 byte, got {}", n.mtu_bytes);
    refuse_if(n.payload_bytes < 4 || n.payload_bytes % 4 != 0, "--payload: must be a multiple of 4 bytes and more than 0, got {}",
              n.payload_bytes);
    refuse_if(n.packet_bytes > udp_packet_limit, "--packet: must be at most {} bytes, what UDP can carry, got {}", udp_packet_limit,
              n.packet_bytes);
    refuse_if(std::int64_t{n.payload_bytes} + udp_overhead_bytes > n.packet_bytes,
              "--payload: {} bytes of values and {} of headers must fit into --packet = {}", n.payload_bytes, udp_overhead_bytes,
              n.packet_bytes);
    refuse_if(!(n.timeout_ms > 0) || n.timeout_ms > 60'000, "--timeout: must be more than 0 and at most 60000 ms, got {}", n.timeout_ms);
    probability("--loss", n.mischief.loss);
    probability("--duplicate", n.mischief.duplication);
    probability("--reorder", n.mischief.reordering);
    interpret_places();
    if (problems.empty()) refuse_what_cannot_be_deployed();
  }
  void interpret_places() {
    const InNetworkSettings& n = settings.in_network;
    const auto each = [&](const char* flag, const std::vector<int>& switches) {
      for (const int at : switches)
        refuse_if(at < 0 || at >= settings.switches, "{}: must name one of the {} switches, 0 to {}, got {}", flag, settings.switches,
                  settings.switches - 1, at);
    };
    const int hanging = settings.ranks + settings.cut.servers;
    refuse_if(!n.below.empty() && n.below.size() != static_cast<std::size_t>(hanging),
              "--below: must name a switch for each of {} ranks, then of {} servers, got {}", settings.ranks, settings.cut.servers,
              n.below.size());
    each("--below", n.below);
    each("--passing", n.passing);
    const std::vector<std::string>& names = settings.algorithms;
    refuse_if(layout_of(settings).adding().empty() && std::find(names.begin(), names.end(), "switchml") != names.end(),
              "--passing: leaves no switch that adds, and switchml needs one");
  }
  void probability(const char* flag, double p) { refuse_if(!(p >= 0 && p <= 1), "{}: must be a probability, 0 to 1, got {}", flag, p); }
  void refuse_what_cannot_be_deployed() {
    for (const std::string& name : settings.algorithms) {
      const InNetworkProtocol protocol = protocol_of(settings, name);
      for (const Problem& p :
           protocol.kind == InNetworkProtocol::Kind::atp ? weft::problems(protocol.atp) : weft::problems(protocol.switchml))
        problems.push_back(fmt::format("--algorithm {}: {}: {}", name, p.where, p.what));
      try {
        InNetworkDeployment(protocol, layout_of(settings), settings.last_bytes / static_cast<std::int64_t>(size_of(settings.dtype)));
      } catch (const InputError& e) {
        problems.push_back(fmt::format("--algorithm {}: {}", name, e.what()));
      }
    }
  }
};

}  // namespace

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
    shift = unit[0] == 'K' ? 10 : unit[0] == 'M' ? 20 : unit[0] == 'G' ? 30 : -1;
  if (error != std::errc{} || shift < 0 || count < 0 || count > (std::int64_t{1} << 40) >> shift)
    throw InputError(fmt::format("a size is written 512, 64K, 256M or 1G, at most 1024G, got \"{}\"", text));
  return count << shift;
}

std::optional<Settings> parse(int argc, const char* const* argv) {
  Reader reader;
  Settings& s = reader.settings;
  Written& w = reader.written;
  CLI::App app{"Runs collectives for real and prints how long they took, in the table of nccl-tests", "weft bench"};
  std::string transport_help = fmt::format("{}", fmt::join(transports(), ", "));
  for (const std::string_view name : {"mpi", "cuda", "nccl"})
    if (!left_out(name).empty()) transport_help += fmt::format("; built without {}", name);
  app.add_option("--transport", s.transport, transport_help)->capture_default_str();
  app.add_option("--algorithm", w.algorithms,
                 "one or several, in the order to run (ring); \"mpi\" and \"nccl\" are the libraries' own, on the transport of that name; "
                 "udp has atp and switchml")
      ->delimiter(',');
  app.add_option("--collective", w.collective, names_of(all_collectives()))->capture_default_str();
  const CLI::Option* const ranks =
      app.add_option("-n,--ranks", s.ranks, "ranks to run; 2 by default, with mpi those that mpirun started, with nccl one on each GPU");
  app.add_option("-b,--minbytes", w.first, "smallest size")->capture_default_str();
  app.add_option("-e,--maxbytes", w.last, "largest size; the smallest by default");
  app.add_option("-f,--stepfactor", s.factor, "from one size to the next")->capture_default_str();
  app.add_option("-w,--warmup", s.warmup, "runs before those that count")->capture_default_str();
  app.add_option("--iterations", s.iterations, "runs that count")->capture_default_str();
  app.add_option("-c,--check", w.check, "0 leaves out the comparison with the right result")->expected(0, 1)->capture_default_str();
  app.add_option("--dtype", w.dtype, names_of(all_dtypes()))->capture_default_str();
  app.add_option("--op", w.op, names_of(all_ops()))->capture_default_str();
  app.add_option("--root", s.root, "of broadcast and reduce")->capture_default_str();
  app.add_option("--channels", s.cut.channels, "parts of the message that run side by side")->capture_default_str();
  app.add_option("--pieces", s.cut.pieces, "pieces of a part that follow one another")->capture_default_str();
  app.add_option("--group", s.cut.group, "ranks in a group, for hierarchical_ring");
  app.add_option("--servers", s.cut.servers, "that keep parameters, for parameter_server; 1 by default; udp: processes beside the ranks");
  app.add_option("--server-hosts", w.server_hosts,
                 "workers: servers are ranks too; extra: a thread or process for each beside the ranks, of which -n does not count")
      ->capture_default_str();
  const CLI::Option* const switches =
      app.add_option("--switches", s.switches, "of the BiGraph, for hdrm; udp: processes that add, ranks in equal parts below them");
  app.add_option("--connections", s.connections, "tcp: per peer and channel")->capture_default_str();
  app.add_flag("--zero-copy", s.zero_copy, "tcp: send large messages from their own memory, where the kernel can");
  app.add_option(
         "--hosts", s.hosts,
         "tcp: host:port of every rank, in order; udp: of the ranks, the servers and the switches, TCP and UDP; without it all run here")
      ->delimiter(',');
  app.add_option("--rank", s.rank, "tcp, udp: which of --hosts this process is");
  app.add_option("--patience", w.patience_s, "seconds without progress after which a run is given up")->capture_default_str();
  app.add_flag("--graph", s.graph, "cuda, nccl: capture the collective in a CUDA graph and replay it, instead of enqueueing it");
  app.add_option("--trace", s.trace, "file to write every operation of one more run of each size to");
  app.add_option("--compare", s.compare, "with the simulator: the scenario to print, simulated, beside what was measured")
      ->type_name("SCENARIO");
  InNetworkSettings& n = s.in_network;
  std::vector<CLI::Option*> only_udp = {
      app.add_option("--aggregators", n.aggregators, "of each switch, for atp")->capture_default_str(),
      app.add_option("--slots", n.slots, "of the switch, for switchml")->capture_default_str(),
      app.add_option("--window", n.window, "packets of a rank on their way to a server, at most, for atp")->capture_default_str(),
      app.add_option("--initial-window", n.initial_window, "at first, for atp")->capture_default_str(),
      app.add_option("--mtu", n.mtu_bytes, "bytes by which windows grow, at least a datagram's, for atp")->capture_default_str(),
      app.add_option("--payload", n.payload_bytes, "bytes of values in a datagram")->capture_default_str(),
      app.add_option("--packet", n.packet_bytes, "bytes of a datagram with all headers, at most")->capture_default_str(),
      app.add_option("--timeout", n.timeout_ms, "milliseconds after which what has not come back is sent again")->capture_default_str(),
      app.add_option("--below", n.below, "the switch that each rank, then each server, hangs below, from 0; evenly when not given")
          ->delimiter(','),
      app.add_option("--passing", n.passing, "switches that only pass on, from 0; the others add")->delimiter(','),
      app.add_option("--loss", n.mischief.loss, "the part of datagrams to lose, each time one is sent")->capture_default_str(),
      app.add_option("--duplicate", n.mischief.duplication, "the part to send twice")->capture_default_str(),
      app.add_option("--reorder", n.mischief.reordering, "the part to send after later ones")->capture_default_str(),
      app.add_option("--seed", n.mischief.seed, "of what is lost, sent twice or late")->capture_default_str(),
  };
  for (CLI::Option* option : only_udp) option->group("With --transport udp");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    throw InputError(e.what());
  }
  w.ranks = ranks->count() > 0;
  w.switches = switches->count() > 0;
  for (const CLI::Option* option : only_udp)
    if (option->count() > 0) w.in_network.push_back(option->get_name());
  reader.interpret();
  if (!reader.problems.empty()) throw InputError(reader.problems);
  return s;
}

UdpLayout layout_of(const Settings& s) {
  return {
      .workers = s.ranks, .servers = s.cut.servers, .switches = s.switches, .below = s.in_network.below, .passing = s.in_network.passing};
}

InNetworkProtocol protocol_of(const Settings& s, const std::string& algorithm) {
  const InNetworkSettings& n = s.in_network;
  const int values = n.payload_bytes / 4, packet_bytes = n.payload_bytes + udp_overhead_bytes;
  const auto timeout_ps = static_cast<std::int64_t>(n.timeout_ms * 1e9);
  return {.kind = algorithm == "atp" ? InNetworkProtocol::Kind::atp : InNetworkProtocol::Kind::switchml,
          .atp = {.values_per_packet = values,
                  .packet_bytes = packet_bytes,
                  .aggregators = n.aggregators,
                  .initial_window = std::min(n.window, n.initial_window),
                  .largest_window = n.window,
                  .mtu_bytes = n.mtu_bytes,
                  .timeout_ps = timeout_ps},
          .switchml = {.values_per_packet = values, .packet_bytes = packet_bytes, .slots = n.slots, .timeout_ps = timeout_ps}};
}

Request request_of(const Settings& s, const std::string& algorithm) {
  Request q{.collective = s.collective, .algorithm = algorithm, .ranks = s.ranks, .root = s.root, .settings = s.cut};
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

// Which switch who hangs below may be a long list, and what is to be compared is short: its digest (FNV-1a).
std::string places_of(const InNetworkSettings& n) {
  if (n.below.empty() && n.passing.empty()) return {};
  std::uint32_t digest = 2166136261;
  const auto add = [&](int value) { digest = (digest ^ static_cast<std::uint32_t>(value)) * 16777619; };
  std::for_each(n.below.begin(), n.below.end(), add);
  add(-1);
  std::for_each(n.passing.begin(), n.passing.end(), add);
  return fmt::format(" places {:08x}", digest);
}

}  // namespace

std::string job_of(const Settings& s) {
  const InNetworkSettings& n = s.in_network;
  if (s.transport == "udp")
    return fmt::format(
        "udp {} {} -b {} -e {} -f {} -w {} --iterations {} -c {} {}+{}+{} nodes {}+{} memory {}/{} B -W {}..{}/{} -t {} ms{}",
        fmt::join(s.algorithms, ","), name_of(s.dtype), s.first_bytes, s.last_bytes, s.factor, s.warmup, s.iterations, s.check ? 1 : 0,
        s.ranks, s.cut.servers, s.switches, n.aggregators, n.slots, n.payload_bytes, n.packet_bytes, n.initial_window, n.window,
        n.mtu_bytes, n.timeout_ms, places_of(n));
  return fmt::format("{} {} {} {} -b {} -e {} -f {} -w {} --iterations {} -c {} --channels {} --pieces {} --root {}{}{}",
                     name_of(s.collective), fmt::join(s.algorithms, ","), name_of(s.dtype), name_of(s.op), s.first_bytes, s.last_bytes,
                     s.factor, s.warmup, s.iterations, s.check ? 1 : 0, s.cut.channels, s.cut.pieces, s.root,
                     s.cut.servers > 0 || extra_servers(s.cut) > 0
                         ? fmt::format(" --servers {} --server-hosts {}", s.cut.servers, name_of(s.cut.server_hosts))
                         : "",
                     s.trace.empty() ? "" : " --trace");
}

}  // namespace weft::bench
