#include "validation/lab/network.hpp"

#include "models/fabric/graph_fabric.hpp"
#include "validation/lab/tools.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::lab {
namespace {

constexpr std::string_view name_begin = "weft-";

// One process for each run of commands of one tool in one namespace: thousands of lines take a second.
void run_all(const std::vector<Command>& commands) {
  for (auto first = commands.begin(); first != commands.end();) {
    const auto end = std::find_if(first, commands.end(), [&](const Command& c) { return c.tool != first->tool || c.in != first->in; });
    std::vector<std::string> tool = {std::string(name_of(first->tool))};
    if (!first->in.empty()) tool.insert(tool.end(), {"-n", first->in});
    tool.insert(tool.end(), {"-batch", "-"});
    std::string lines;
    for (auto c = first; c != end; ++c) lines += c->line + "\n";
    const Ended ended = run_tool(tool, lines);
    if (ended.status != 0) throw RunError(fmt::format("{}: {}", fmt::join(tool, " "), ended.err));
    first = end;
  }
}

void remove(const std::vector<std::string>& namespaces) {
  std::string lines;
  for (const std::string& name : namespaces) lines += "netns del " + name + "\n";
  run_tool({"ip", "-force", "-batch", "-"}, lines);
}

// Two hosts and a switch: all that a lab needs of the kernel and of iproute2.
Plan smallest() {
  GraphFabric pair{.nodes = {"a", "b"}, .switches = {"s"}, .links = {{"a", "s", 1_Gbps, 0_us}, {"b", "s", 1_Gbps, 0_us}}};
  return plan(*build(pair), {}, prefix_of_this_process());
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string prefix_of_this_process() { return fmt::format("{}{}", name_begin, ::getpid()); }

std::optional<std::string> obstacle() {
  if (::geteuid() != 0) return "the lab needs root: it makes network namespaces";
  try {
    const Network network(smallest());
  } catch (const RunError& e) {
    return fmt::format("the lab cannot be built on this machine: {}", first_line(e.what()));
  }
  return {};
}

std::vector<std::string> leftovers_among(const std::vector<std::string>& namespaces, bool (*lives)(pid_t)) {
  std::vector<std::string> out;
  for (const std::string& name : namespaces) {
    if (!name.starts_with(name_begin)) continue;
    pid_t process = 0;
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + name_begin.size(), end, process);
    if (error == std::errc{} && stop != end && *stop == '-' && !lives(process)) out.push_back(name);
  }
  return out;
}

std::vector<std::string> remove_leftovers() {
  std::vector<std::string> all;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/run/netns", none)) all.push_back(entry.path().filename().string());
  std::sort(all.begin(), all.end());
  const auto found = leftovers_among(all, [](pid_t process) { return ::kill(process, 0) == 0 || errno == EPERM; });
  for (const std::string& name : found)
    if (const Ended ended = run_tool({"ip", "netns", "del", name}); ended.status != 0)
      throw RunError(fmt::format("ip netns del {}: {}", name, first_line(ended.err)));
  return found;
}

Guardian::Guardian(std::vector<std::string> namespaces) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw RunError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  child_ = ::fork();
  if (child_ < 0) throw RunError(fmt::format("cannot fork: {}", std::strerror(errno)));
  if (child_ == 0) {
    ::setsid();  // what ends our terminal's processes leaves it alone
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, SIG_IGN);
    ::close(ends[1]);
    const int nowhere = ::open("/dev/null", O_RDWR);  // whoever reads our output is not to wait for this process too
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, standard);
    char never = 0;
    while (::read(ends[0], &never, 1) < 0 && errno == EINTR) {
    }
    remove(namespaces);
    ::_exit(0);
  }
  ::close(ends[0]);
  pipe_ = ends[1];
}

Guardian::~Guardian() {
  ::close(pipe_);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Network::Network(Plan plan) : plan_(std::move(plan)), guardian_(plan_.namespaces) { run_all(plan_.commands); }

std::int64_t Network::dropped_packets() const {
  std::int64_t dropped = 0;
  for (const std::string& name : plan_.namespaces) {
    const Ended ended = run_tool({"tc", "-n", name, "-s", "-j", "qdisc", "show"});
    const auto queues = nlohmann::json::parse(ended.out, nullptr, false);
    if (ended.status != 0 || queues.is_discarded()) throw RunError(fmt::format("tc -n {} -s qdisc: {}", name, first_line(ended.err)));
    for (const auto& queue : queues)
      if (queue.value("kind", "") == "tbf") dropped += queue.value("drops", std::int64_t{0});
  }
  return dropped;
}

}  // namespace weft::lab
