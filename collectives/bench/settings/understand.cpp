#include "collectives/bench/settings/written.hpp"
#include "collectives/transports/job_secret.hpp"
#include "kernels/base/gather.hpp"
#include "kernels/files/output_files.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include <unistd.h>

namespace weft::bench {
namespace {

constexpr int max_ranks = 1024;     // each is a thread or a process
constexpr int max_channels = 4093;  // that a tag has numbers for, beside those of the benchmark itself
constexpr int max_aggregated = 1'000'000;
constexpr int max_sizes = 10'000;
constexpr int largest_factor = 1 << 20;  // times the largest size, that is still a number

class Reader {
 public:
  Reader(const Written& from, Settings& into) : written_(from), settings_(into) {}

  std::vector<std::string> interpret() {
    read_schedule_file();
    named("--collective", written_.collective, collective_named(written_.collective), settings_.collective, names_of(all_collectives()));
    named("--dtype", written_.dtype, dtype_named(written_.dtype), settings_.dtype, names_of(all_dtypes()));
    named("--op", written_.op, op_named(written_.op), settings_.op, names_of(all_ops()));
    const bool udp = settings_.transport == "udp";
    const std::vector<ServerHosts> hosts = {ServerHosts::workers, ServerHosts::extra};
    const auto named_hosts = std::find_if(hosts.begin(), hosts.end(), [&](ServerHosts h) { return name_of(h) == written_.server_hosts; });
    named("--server-hosts", written_.server_hosts, named_hosts != hosts.end() ? std::optional(*named_hosts) : std::nullopt,
          settings_.cut.server_hosts, names_of(hosts));
    settings_.algorithms = written_.algorithms;
    if (settings_.algorithms.empty()) settings_.algorithms = {udp ? "atp" : "ring"};
    interpret_selection();
    settings_.check = written_.check != 0;
    settings_.per_iteration = written_.per_iteration != 0;
    interpret_patience();
    size("-b", written_.first, settings_.first_bytes);
    size("-e", written_.last.empty() ? written_.first : written_.last, settings_.last_bytes);
    const std::int64_t unit = static_cast<std::int64_t>(size_of(settings_.dtype));
    refuse_if(settings_.last_bytes < settings_.first_bytes, "-e: must be at least -b = {}, got {}", settings_.first_bytes,
              settings_.last_bytes);
    refuse_if(settings_.first_bytes < unit, "-b: must hold one {} of {} bytes, got {}", name_of(settings_.dtype), unit,
              settings_.first_bytes);
    refuse_if(settings_.factor < 2 || settings_.factor > largest_factor, "-f: must be 2 to {}, got {}", largest_factor, settings_.factor);
    interpret_step();
    refuse_if(settings_.aggregated < 1 || settings_.aggregated > max_aggregated, "-m: must be 1 to {}, got {}", max_aggregated,
              settings_.aggregated);
    interpret_outputs();
    refuse_if(settings_.iterations < 1, "--iterations: must be at least 1, got {}", settings_.iterations);
    refuse_if(settings_.cut.channels < 1 || settings_.cut.channels > max_channels, "--channels: must be 1 to {}, got {}", max_channels,
              settings_.cut.channels);
    refuse_if(settings_.warmup < 0, "-w: must not be negative, got {}", settings_.warmup);
    refuse_if(settings_.ranks < (written_.ranks ? 1 : 0) || settings_.ranks > max_ranks, "-n: must be 1 to {}, got {}", max_ranks,
              settings_.ranks);
    refuse_if(extra_servers(settings_.cut) > max_ranks, "--servers: must be at most {}, got {}", max_ranks, settings_.cut.servers);
    refuse_if(!written_.tcp.empty() && settings_.transport != "tcp", "{}: only for --transport tcp", fmt::join(written_.tcp, ", "));
    refuse_if(written_.servers && settings_.cut.servers == 0 && !(udp && without("atp")), "--servers: must be 1 to {}, got 0", max_ranks);
    refuse_if(settings_.connections < 1 || settings_.connections > 64, "--connections: must be 1 to 64, got {}", settings_.connections);
    interpret_stream_rate();
    refuse_if(!defined(settings_.op, settings_.dtype), "--op: {} is not defined on {}", name_of(settings_.op), name_of(settings_.dtype));
    const auto& known = transports();
    const std::string_view missing = left_out(settings_.transport);
    refuse_if(!missing.empty(), "--transport {}: {}", settings_.transport, missing);
    refuse_if(missing.empty() && std::find(known.begin(), known.end(), settings_.transport) == known.end(),
              "--transport: must be one of {}, got \"{}\"", fmt::join(known, ", "), settings_.transport);
    const bool streams = settings_.transport == "cuda" || settings_.transport == "nccl";
    refuse_if(settings_.graph && !streams, "--graph: only for --transport cuda and nccl");
    refuse_if(settings_.transport == "nccl" && settings_.collective == Collective::barrier,
              "--collective barrier: carries no data, and NCCL nothing else");
    interpret_compression();
    interpret_device();
    interpret_ranks();
    interpret_secret();
    if (udp)
      interpret_in_network();
    else
      refuse_in_network();
    return std::move(problems_);
  }

 private:
  // What is not said follows from the file: the collective, the ranks and the root.
  void read_schedule_file() {
    const bool wanted = std::ranges::find(written_.algorithms, "msccl") != written_.algorithms.end();
    refuse_if(!wanted && !written_.schedule.empty(), "--file: only for --algorithm msccl");
    if (!wanted || written_.schedule.empty()) return;
    try {
      settings_.cut.imported = import_schedule(written_.schedule, written_.schedule);
    } catch (const InputError& e) {
      for (const std::string& problem : e.problems()) problems_.push_back(fmt::format("--file: {}", problem));
      return;
    }
    const Schedule& s = *settings_.cut.imported.schedule;
    if (!written_.collective_said) written_.collective = name_of(s.collective);
    if (!written_.ranks && settings_.hosts.empty() && settings_.transport != "mpi" && settings_.transport != "nccl")
      settings_.ranks = s.ranks;
    if (settings_.root == 0) settings_.root = s.root;
  }

  Written written_;
  Settings& settings_;
  std::vector<std::string> problems_;

  template <class... Args>
  void refuse_if(bool wrong, fmt::format_string<Args...> what, Args&&... args) {
    if (wrong) problems_.push_back(fmt::format(what, std::forward<Args>(args)...));
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
      problems_.push_back(fmt::format("{}: {}", flag, e.what()));
    }
  }
  bool without(const std::string& algorithm) const {
    return std::find(settings_.algorithms.begin(), settings_.algorithms.end(), algorithm) == settings_.algorithms.end();
  }
  void interpret_patience() {
    constexpr double min_s = 0.001, max_s = 1'000'000;
    const bool right = written_.patience_s >= min_s && written_.patience_s <= max_s;
    refuse_if(!right, "--patience: must be {} to {} seconds, got {}", min_s, max_s, written_.patience_s);
    if (right) settings_.patience = std::chrono::milliseconds(static_cast<std::int64_t>(written_.patience_s * 1000));
  }
  void interpret_stream_rate() {
    if (written_.stream_rate.empty()) return;
    try {
      settings_.stream_rate = parse_stream_rate(written_.stream_rate);
    } catch (const InputError& e) {
      problems_.push_back(e.what());
    }
  }
  // A thread of a rank runs a channel: there are as many as the schedule with the most has (trees come in pairs).
  void interpret_selection() {
    const std::vector<std::string>& names = settings_.algorithms;
    const bool automatic = std::find(names.begin(), names.end(), "auto") != names.end();
    refuse_if(automatic && names.size() > 1, "--algorithm: \"auto\" stands alone, got {}", fmt::join(names, ", "));
    const bool on_gpus = settings_.transport == "cuda" || settings_.transport == "nccl" || written_.device == "gpu";
    refuse_if(automatic && written_.selection.empty() && !on_gpus,
              "--algorithm auto: needs --selection FILE, the table that weft advise -o writes, where data are not on GPUs");
    refuse_if(!automatic && !written_.selection.empty(), "--selection: goes with --algorithm auto");
    refuse_if(automatic && !written_.compression.empty(), "--algorithm auto: has no compression");
    if (!problems_.empty() || !automatic || written_.selection.empty()) return;
    refuse_if(settings_.cut.channels != 1 || settings_.cut.pieces != 1 || settings_.cut.group != 0 || !settings_.cut.inner.empty() ||
                  !settings_.cut.up.empty() || !settings_.cut.down.empty(),
              "--channels, --pieces, --group, --inner, --up, --down: follow from --selection");
    const std::string& transport = settings_.transport;
    refuse_if(transport != "threads" && transport != "tcp" && transport != "mpi",
              "--algorithm auto: runs over threads, tcp and mpi, not {}", transport);
    gather(problems_, [&] { settings_.selection = read_selection(written_.selection); });
    for (const Selected& row : settings_.selection) {
      const Request request{.collective = row.collective, .algorithm = row.algorithm, .ranks = row.ranks, .settings = row.settings};
      if (row.collective == settings_.collective && constraints(request).empty())  // what is wrong is said when it is planned
        settings_.cut.channels = std::max(settings_.cut.channels, static_cast<int>(build(request).channels.size()));
    }
  }
  void interpret_compression() {
    if (written_.compression.empty())
      return refuse_if(!written_.of_compression.empty(), "{}: only with --compression", fmt::join(written_.of_compression, ", "));
    CompressionSettings c{.name = written_.compression};
    const auto amount = [&](const char* flag, const std::string& text, Amount& into) {
      if (text.empty()) return;
      try {
        into = parse_amount(text);
      } catch (const InputError& e) {
        problems_.push_back(fmt::format("{}: {}", flag, e.what()));
      }
    };
    amount("--k", written_.k, c.k);
    amount("--columns", written_.columns, c.columns);
    if (std::find(written_.of_compression.begin(), written_.of_compression.end(), "--rows") != written_.of_compression.end())
      c.rows = written_.rows;
    // A count of the settings must fit the smallest size, and what is wrong for it is wrong for all.
    for (const Problem& p : problems(c, settings_.first_bytes / static_cast<std::int64_t>(sizeof(float))))
      problems_.push_back(fmt::format("{}: {}", p.where == "/name" ? "--compression" : "--" + p.where.substr(1), p.what));
    for (const std::string& flag : written_.of_compression)
      if (std::ranges::find(compression_names(), c.name) != compression_names().end())
        refuse_if(flag == "--k" ? !is_sparse(c.name) : !sends_sketches(c.name), "{}: {} has none", flag, c.name);
    const std::string& transport = settings_.transport;
    refuse_if(transport == "cuda",
              "--compression: runs over nccl, or over tcp and mpi with --device gpu, where data lie on GPUs, not cuda");
    refuse_if(transport == "udp", "--compression: runs over threads, tcp, mpi and nccl, not udp");
    refuse_if(settings_.graph, "--graph: takes no --compression: what is sent follows from the data");
    refuse_if(!settings_.trace.empty() && transport == "nccl", "--trace: has no times of compressed all-reduces over nccl");
    refuse_if(settings_.collective != Collective::allreduce, "--compression: compresses allreduce, not {}", name_of(settings_.collective));
    refuse_if(settings_.dtype != DType::float32, "--compression: compresses float32, not {}", name_of(settings_.dtype));
    refuse_if(settings_.op != ReduceOp::sum, "--compression: compresses sums, not {}", name_of(settings_.op));
    refuse_if(settings_.aggregated != 1, "-m: must be 1 with --compression, got {}", settings_.aggregated);
    refuse_if(settings_.cut.channels != 1, "--channels: must be 1 with --compression, got {}", settings_.cut.channels);
    refuse_if(settings_.cut.server_hosts == ServerHosts::extra, "--server-hosts: must be workers with --compression");
    for (const std::string& name : settings_.algorithms)
      refuse_if(name == "mpi" || name == "nccl", "--algorithm: \"{}\" is the library's own, which compresses nothing", name);
    settings_.compression = std::move(c);
  }
  void interpret_device() {
    refuse_if(written_.device != "host" && written_.device != "gpu", "--device: must be host or gpu, got \"{}\"", written_.device);
    settings_.on_gpu = written_.device == "gpu";
    if (!settings_.on_gpu) return;
    const std::string& transport = settings_.transport;
    refuse_if(!WEFT_HAVE_CUDA, "--device gpu: {}", left_out("cuda"));
    refuse_if(transport != "tcp" && transport != "mpi",
              "--device gpu: only for --transport tcp and mpi (cuda and nccl have their data on GPUs)");
    refuse_if(settings_.cut.channels != 1, "--channels: must be 1 with --device gpu, got {}", settings_.cut.channels);
    refuse_if(!settings_.trace.empty(), "--trace: has no times of devices over tcp and mpi; leave out --device gpu");
  }
  void interpret_secret() {
    if (settings_.hosts.empty() && settings_.meeting.empty()) {
      refuse_if(!written_.secret_file.empty(),
                "--secret-file: needs --hosts or --meeting; processes that weft bench starts itself share a random secret");
      return;
    }
    try {
      settings_.secret = secret_in_file_or_environment(written_.secret_file);
    } catch (const InputError& e) {
      problems_.push_back(fmt::format("--secret-file: {}", e.what()));
    }
  }
  // Before anything runs: a run whose results cannot be kept is lost.
  void interpret_outputs() {
    std::vector<OutputFile> outputs;
    const auto add = [&](const char* flag, const std::string& file, const char* what, std::string_view mark) {
      if (file.empty() || !interpret_output(flag, file)) return;
      const auto replaces = [mark](std::string_view text) { return text.empty() || text.find(mark) != text.npos; };
      outputs.push_back({.file = file, .argument = fmt::format("{} {}", flag, file), .what = what, .replaces = replaces});
    };
    add("-J", settings_.json, "a result of weft bench", "\"tool\": \"weft bench\"");
    add("--trace", settings_.trace, "a trace of weft bench", "\"format\":\"weft trace\"");
    std::vector<std::filesystem::path> inputs;
    for (const std::string& input : {written_.schedule, written_.selection, written_.secret_file, settings_.compare})
      if (!input.empty()) inputs.emplace_back(input);
    gather(problems_, [&] { refuse_to_replace(outputs, inputs, settings_.force); });
  }
  bool interpret_output(const char* flag, const std::string& file) {
    const std::size_t before = problems_.size();
    namespace fs = std::filesystem;
    const fs::path folder = fs::absolute(file).parent_path();
    refuse_if(!fs::is_directory(folder), "{}: there is no folder {} to write to", flag, folder.string());
    refuse_if(fs::is_directory(file), "{}: {} is a folder", flag, file);
    refuse_if(fs::is_directory(folder) && ::access(folder.c_str(), W_OK) != 0, "{}: {} cannot be written to", flag, folder.string());
    return problems_.size() == before;
  }
  void interpret_step() {
    if (written_.step.empty()) return;
    size("-i", written_.step, settings_.step_bytes);
    refuse_if(written_.factor, "-f: sizes are multiplied by it, or -i is added: leave one of them out");
    const auto unit = static_cast<std::int64_t>(size_of(settings_.dtype));
    const std::int64_t range = settings_.last_bytes - settings_.first_bytes, least = std::max(unit, range / max_sizes + 1);
    refuse_if(settings_.step_bytes < least, "-i: must be at least {} bytes, a {} and for at most {} sizes, got {}", least,
              name_of(settings_.dtype), max_sizes, written_.step);
  }
  void interpret_hosts() {
    const std::vector<std::string>& hosts = settings_.hosts;
    for (const std::string& host : hosts)
      if (const std::string why = not_an_address(host); !why.empty()) problems_.push_back("--hosts: " + why);
    std::vector<std::string> sorted = hosts;
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    for (const std::string& host : sorted) refuse_if(std::count(hosts.begin(), hosts.end(), host) > 1, "--hosts: names {} twice", host);
  }
  void interpret_ranks() {
    interpret_hosts();
    interpret_launch();
    const int hosts = static_cast<int>(settings_.hosts.size()), servers = extra_servers(settings_.cut);
    if (settings_.transport == "udp") {
      interpret_nodes();
    } else if (settings_.transport != "tcp" && settings_.transport != "nccl") {
      refuse_if(hosts > 0 || settings_.rank >= 0, "--hosts, --rank: only for --transport tcp, udp and nccl");
    } else if (!settings_.meeting.empty()) {
      refuse_if(hosts > 0, "--meeting: finds the ranks' addresses; leave out --hosts");
      refuse_if(settings_.ranks < 1, "--meeting: needs the number of ranks: --ranks, or that of torchrun, mpirun or srun");
      const int all = settings_.with_servers();
      refuse_if(settings_.ranks > 0 && (settings_.rank < 0 || settings_.rank >= all),
                "--rank: must say which of the {} ranks this is, 0 to {}, got {}", all, all - 1, settings_.rank);
    } else if (hosts > 0) {
      refuse_if(settings_.ranks != 0 && settings_.ranks != hosts - servers, "-n: --hosts names {} ranks, got {}", hosts - servers,
                settings_.ranks);
      refuse_if(hosts <= servers, "--hosts: must name a rank before the {} servers, got {} hosts", servers, hosts);
      refuse_if(settings_.rank < 0 || settings_.rank >= hosts, "--rank: must say which of the {} hosts this is, 0 to {}, got {}", hosts,
                hosts - 1, settings_.rank);
      settings_.ranks = hosts - servers;
    } else {
      refuse_if(settings_.rank >= 0 && !settings_.launch, "--rank: needs --hosts or --meeting");
    }
    if (settings_.ranks == 0 && settings_.transport != "mpi" && settings_.transport != "nccl") settings_.ranks = 2;
  }
  // What torchrun, mpirun or srun say of this process, where it is one of several: always with nccl, which has a GPU for each; with tcp
  // where --meeting is given.
  void interpret_launch() {
    Settings& s = settings_;
    const bool nccl = s.transport == "nccl";
    if (!s.meeting.empty()) {
      refuse_if(!nccl && s.transport != "tcp", "--meeting: only for --transport tcp and nccl");
      if (const std::string why = not_an_address(s.meeting); !why.empty()) problems_.push_back("--meeting: " + why);
    }
    if (!s.hosts.empty() || s.rank >= 0 || !(nccl || (s.transport == "tcp" && !s.meeting.empty()))) return;
    s.launch = launched(own_environment());
    if (!s.launch) return;
    const Launch& l = *s.launch;
    if (s.meeting.empty()) s.meeting = l.meeting;
    refuse_if(s.meeting.empty() && !WEFT_HAVE_MPI,
              "--meeting: is needed, or MASTER_ADDR and MASTER_PORT: {} started {} ranks, which in a "
              "build without MPI find each other by that alone",
              l.by, l.ranks);
    s.rank = l.rank;
    gather(problems_, [&] { s.ranks = ranks_among(l.ranks, s, (l.by + " started").c_str()); });
  }
  // "" where it is one.
  static std::string not_an_address(const std::string& host) {
    const std::size_t colon = host.rfind(':');
    int port = 0;
    const char* const end = host.data() + host.size();
    if (colon == std::string::npos || colon == 0 || std::from_chars(host.data() + colon + 1, end, port) != std::from_chars_result{end, {}})
      return fmt::format("\"{}\" must be written host:port", host);
    return port < 1 || port > 65535 ? fmt::format("\"{}\": the port must be 1 to 65535", host) : "";
  }
  // Workers, servers and switches have places of their own.
  void interpret_nodes() {
    const std::vector<std::string>& names = settings_.algorithms;
    const int min_servers = std::find(names.begin(), names.end(), "atp") != names.end() ? 1 : 0;
    if (!written_.servers) settings_.cut.servers = min_servers;
    if (settings_.switches == 0 && !written_.switches) settings_.switches = 1;
    refuse_if(written_.server_hosts != "workers", "--server-hosts: over udp servers are processes of their own");
    refuse_if(settings_.cut.servers < 0 || settings_.cut.servers > max_ranks, "--servers: must be 1 to {}, got {}", max_ranks,
              settings_.cut.servers);
    refuse_if(settings_.switches < 1 || settings_.switches > max_ranks, "--switches: must be 1 to {}, got {}", max_ranks,
              settings_.switches);
    const int hosts = static_cast<int>(settings_.hosts.size()), others = settings_.cut.servers + settings_.switches;
    if (hosts > 0) {
      refuse_if(hosts <= others, "--hosts: must name workers, then {} servers, then {} switches, got {} hosts", settings_.cut.servers,
                settings_.switches, hosts);
      refuse_if(settings_.ranks != 0 && settings_.ranks != hosts - others, "-n: --hosts names {} workers, got {}", hosts - others,
                settings_.ranks);
      refuse_if(settings_.rank < 0 || settings_.rank >= hosts, "--rank: must say which of the {} hosts this is, 0 to {}, got {}", hosts,
                hosts - 1, settings_.rank);
      settings_.ranks = std::max(hosts - others, 1);
    } else {
      refuse_if(settings_.rank >= 0, "--rank: needs --hosts");
    }
  }

  void refuse_in_network() {
    for (const std::string& name : settings_.algorithms)
      refuse_if(is_in_network(name), "--algorithm: \"{}\" needs in-network aggregation: --transport udp", name);
    refuse_if(!written_.in_network.empty(), "{}: only for --transport udp", fmt::join(written_.in_network, ", "));
  }

  void interpret_seed() {
    if (written_.seed.empty()) return;
    const char* const end = written_.seed.data() + written_.seed.size();
    std::uint64_t& seed = settings_.in_network.faults.seed;
    const auto read = std::from_chars(written_.seed.data(), end, seed);
    refuse_if(read.ec != std::errc{} || read.ptr != end, "--seed: must be a whole number that is not negative, got {}", written_.seed);
  }

  void interpret_in_network() {
    const UdpSettings& n = settings_.in_network;
    std::vector<std::string_view> known;
    for (const InNetworkProtocol& protocol : in_network_protocols()) known.push_back(protocol.name);
    for (const std::string& name : settings_.algorithms)
      refuse_if(!is_in_network(name), "--algorithm: over udp must be one of {}, got \"{}\"", fmt::join(known, ", "), name);
    refuse_if(settings_.collective != Collective::allreduce, "--collective: in-network aggregation is for allreduce only, got {}",
              name_of(settings_.collective));
    refuse_if(settings_.op != ReduceOp::sum, "--op: in-network aggregation adds; it cannot do {}", name_of(settings_.op));
    refuse_if(settings_.dtype == DType::int64 || settings_.dtype == DType::uint8,
              "--dtype: packets carry int32 or, as fixed point, floating point, not {}", name_of(settings_.dtype));
    refuse_if(settings_.cut.channels != 1 || settings_.cut.pieces != 1 || settings_.cut.group != 0 || !settings_.cut.inner.empty() ||
                  !settings_.cut.up.empty() || !settings_.cut.down.empty(),
              "--channels, --pieces, --group, --inner, --up, --down: cut schedules, not what udp runs");
    refuse_if(!settings_.trace.empty(), "--trace: writes the operations of schedules, not of what udp runs");
    refuse_if(settings_.aggregated != 1, "-m: must be 1 over udp, got {}", settings_.aggregated);
    refuse_if(!settings_.compare.empty(), "--compare: simulates schedules, not what udp runs");
    refuse_if(n.atp.aggregators < 1, "--aggregators: must be at least 1, got {}", n.atp.aggregators);
    refuse_if(n.switchml.slots < 1, "--slots: must be at least 1, got {}", n.switchml.slots);
    refuse_if(n.atp.largest_window < 1 || n.atp.largest_window > 1 << 20, "--window: must be 1 to {}, got {}", 1 << 20,
              n.atp.largest_window);
    refuse_if(n.atp.initial_window < 1, "--initial-window: must be at least 1, got {}", n.atp.initial_window);
    refuse_if(n.atp.mtu.count < 1, "--mtu: must be at least 1 byte, got {}", n.atp.mtu.count);
    refuse_if(n.payload_bytes < 4 || n.payload_bytes % 4 != 0, "--payload: must be a multiple of 4 bytes and more than 0, got {}",
              n.payload_bytes);
    refuse_if(n.packet_bytes > udp_packet_limit, "--packet: must be at most {} bytes, what UDP can carry, got {}", udp_packet_limit,
              n.packet_bytes);
    refuse_if(std::int64_t{n.payload_bytes} + udp_overhead_bytes > n.packet_bytes,
              "--payload: {} bytes of values and {} of headers must fit into --packet = {}", n.payload_bytes, udp_overhead_bytes,
              n.packet_bytes);
    refuse_if(!(n.timeout_ms > 0) || n.timeout_ms > 60'000, "--timeout: must be more than 0 and at most 60000 ms, got {}", n.timeout_ms);
    probability("--loss", n.faults.loss);
    probability("--duplicate", n.faults.duplication);
    probability("--reorder", n.faults.reordering);
    interpret_seed();
    interpret_places();
    if (problems_.empty()) refuse_what_cannot_be_deployed();
  }
  void interpret_places() {
    const UdpSettings& n = settings_.in_network;
    const auto each = [&](const char* flag, const std::vector<int>& switches) {
      for (const int at : switches)
        refuse_if(at < 0 || at >= settings_.switches, "{}: must name one of the {} switches, 0 to {}, got {}", flag, settings_.switches,
                  settings_.switches - 1, at);
    };
    const int hanging = settings_.ranks + settings_.cut.servers;
    refuse_if(!n.below.empty() && n.below.size() != static_cast<std::size_t>(hanging),
              "--below: must name a switch for each of {} ranks, then of {} servers, got {}", settings_.ranks, settings_.cut.servers,
              n.below.size());
    each("--below", n.below);
    each("--passing", n.passing);
    const std::vector<std::string>& names = settings_.algorithms;
    refuse_if(layout_of(settings_).adding().empty() && std::find(names.begin(), names.end(), "switchml") != names.end(),
              "--passing: leaves no switch that adds, and switchml needs one");
  }
  void probability(const char* flag, double p) { refuse_if(!(p >= 0 && p <= 1), "{}: must be a probability, 0 to 1, got {}", flag, p); }
  void refuse_what_cannot_be_deployed() {
    for (const std::string& name : settings_.algorithms) {
      const InNetworkSettings settings = in_network_settings(settings_, name);
      for (const Problem& p : weft::problems(settings)) problems_.push_back(fmt::format("--algorithm {}: {}: {}", name, p.where, p.what));
      try {
        UdpDeployment(settings, layout_of(settings_), settings_.last_bytes / static_cast<std::int64_t>(size_of(settings_.dtype)));
      } catch (const InputError& e) {
        problems_.push_back(fmt::format("--algorithm {}: {}", name, e.what()));
      }
    }
  }
};

}  // namespace

std::vector<Collective> all_collectives() {
  std::vector<Collective> all;
  for (const Algorithm& a : algorithms())
    if (std::find(all.begin(), all.end(), a.collective) == all.end()) all.push_back(a.collective);
  return all;
}

std::string_view left_out(std::string_view transport) {
  if (!WEFT_HAVE_MPI && transport == "mpi") return "this build has no MPI: configure it again where MPI is found";
  if (!WEFT_HAVE_CUDA && (transport == "cuda" || transport == "nccl"))
    return "this build has no CUDA: configure it again where nvcc 12 or newer is found";
  if (!WEFT_HAVE_NCCL && transport == "nccl") return "this build has no NCCL: configure it again where NCCL is found, or with NCCL_ROOT";
  return {};
}

std::vector<std::string> understand(const Written& written, Settings& settings) { return Reader(written, settings).interpret(); }

}  // namespace weft::bench
