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
  std::vector<std::string> algorithms = {"ring"};
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
    const std::vector<ServerHosts> hosts = {ServerHosts::workers, ServerHosts::extra};
    const auto named_hosts = std::find_if(hosts.begin(), hosts.end(), [&](ServerHosts h) { return name_of(h) == written.server_hosts; });
    named("--server-hosts", written.server_hosts, named_hosts != hosts.end() ? std::optional(*named_hosts) : std::nullopt,
          settings.cut.server_hosts, names_of(hosts));
    settings.algorithms = written.algorithms;
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
    refuse_if(settings.ranks < 0 || settings.ranks > most_ranks, "-n: must be 1 to {}, got {}", most_ranks, settings.ranks);
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
  void interpret_ranks() {
    const int hosts = static_cast<int>(settings.hosts.size()), servers = extra_servers(settings.cut);
    if (settings.transport != "tcp") {
      refuse_if(hosts > 0 || settings.rank >= 0, "--hosts, --rank: only for --transport tcp");
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
};

}  // namespace

const std::vector<std::string>& transports() {
  static const std::vector<std::string> names = {
    "threads",
    "tcp",
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
                 "one or several, in the order to run; \"mpi\" and \"nccl\" are the libraries' own, on the transport of that name")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--collective", w.collective, names_of(all_collectives()))->capture_default_str();
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
  app.add_option("--servers", s.cut.servers, "that keep parameters, for parameter_server; 1 by default");
  app.add_option("--server-hosts", w.server_hosts,
                 "workers: servers are ranks too; extra: a thread or process for each beside the ranks, of which -n does not count")
      ->capture_default_str();
  app.add_option("--switches", s.switches, "of the BiGraph, for hdrm");
  app.add_option("--connections", s.connections, "tcp: per peer and channel")->capture_default_str();
  app.add_flag("--zero-copy", s.zero_copy, "tcp: send large messages from their own memory, where the kernel can");
  app.add_option("--hosts", s.hosts, "tcp: host:port of every rank, in order; without it all ranks run here")->delimiter(',');
  app.add_option("--rank", s.rank, "tcp: which of --hosts this process is");
  app.add_option("--patience", w.patience_s, "seconds without progress after which a run is given up")->capture_default_str();
  app.add_flag("--graph", s.graph, "cuda, nccl: capture the collective in a CUDA graph and replay it, instead of enqueueing it");
  app.add_option("--trace", s.trace, "file to write every operation of one more run of each size to");
  app.add_option("--compare", s.compare, "with the simulator: the scenario to print, simulated, beside what was measured")
      ->type_name("SCENARIO");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    throw InputError(e.what());
  }
  reader.interpret();
  if (!reader.problems.empty()) throw InputError(reader.problems);
  return s;
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

std::string job_of(const Settings& s) {
  return fmt::format("{} {} {} {} -b {} -e {} -f {} -w {} --iterations {} -c {} --channels {} --pieces {} --root {}{}{}",
                     name_of(s.collective), fmt::join(s.algorithms, ","), name_of(s.dtype), name_of(s.op), s.first_bytes, s.last_bytes,
                     s.factor, s.warmup, s.iterations, s.check ? 1 : 0, s.cut.channels, s.cut.pieces, s.root,
                     s.cut.servers > 0 || extra_servers(s.cut) > 0
                         ? fmt::format(" --servers {} --server-hosts {}", s.cut.servers, name_of(s.cut.server_hosts))
                         : "",
                     s.trace.empty() ? "" : " --trace");
}

}  // namespace weft::bench
