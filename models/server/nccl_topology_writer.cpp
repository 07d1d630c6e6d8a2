#include "models/server/nccl_topology.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

namespace weft {
namespace {

double gigabytes(BitsPerSecond rate) { return static_cast<double>(rate.count) / 8e9; }

// How NCCL tells processors apart, and the GB/s that it expects between two of them (src/graph/topo.h).
struct Processor {
  HostProcessor maker;
  const char *arch, *vendor;
  int family, model;
  double between;
};
constexpr std::array<Processor, 6> processors = {{{HostProcessor::intel, "x86_64", "GenuineIntel", 6, 79, 6},    // Broadwell
                                                  {HostProcessor::intel, "x86_64", "GenuineIntel", 6, 85, 10},   // Skylake
                                                  {HostProcessor::intel, "x86_64", "GenuineIntel", 6, 143, 22},  // Sapphire Rapids
                                                  {HostProcessor::intel, "x86_64", "GenuineIntel", 6, 207, 40},  // Emerald Rapids
                                                  {HostProcessor::amd, "x86_64", "AuthenticAMD", 25, 1, 16},     // Zen 3
                                                  {HostProcessor::arm, "arm64", "ARM", 8, 0, 6}}};

constexpr double usual_between = 16;  // what a server of one socket is taken for: a Xeon of about the time of Zen 3

// NVLinks of one GPU by its compute capability, GB/s: what NCCL counts on of each, and the full rate of all that it has.
struct NvLinkKind {
  int sm;
  double each, together;
};
constexpr std::array<NvLinkKind, 5> nvlink_kinds = {{{60, 18, 80}, {70, 20, 150}, {80, 20, 300}, {90, 20.6, 450}, {100, 40.1, 900}}};
constexpr NvLinkKind without_nvlinks = nvlink_kinds[1];

// The first whose links have as much together, if such links make the rate of the fastest exactly; else the first that has as much.
const NvLinkKind& kind_for(BitsPerSecond fastest, BitsPerSecond together) {
  const NvLinkKind* first = nullptr;
  for (const NvLinkKind& kind : nvlink_kinds) {
    if (gigabytes(together) > kind.together) continue;
    if (!first) first = &kind;
    const double links = gigabytes(fastest) / kind.each;
    if (std::abs(links - std::round(links)) < 1e-3) return kind;
  }
  return first ? *first : nvlink_kinds.back();
}

// How many of them a link of this rate is made of, which may be that of the wires, a quarter more than NCCL counts on.
int links_in(BitsPerSecond rate, const NvLinkKind& kind) {
  constexpr double rounding = 1e-3;
  return std::clamp(static_cast<int>(gigabytes(rate) / kind.each + rounding), 1, 64);
}

constexpr std::array<const char*, 6> transfers = {"2.5", "5.0", "8.0", "16.0", "32.0", "64.0"};  // GT/s, by generation from 1

// As said, or the slowest that carries the rate.
PcieLink pcie_of(const ServerLink& link) {
  if (link.pcie) return *link.pcie;
  for (int generation = 1; generation <= 6; ++generation)
    for (const int width : {1, 2, 4, 8, 16})
      if (const PcieLink fits{.generation = generation, .width = width}; pcie_rate(fits) >= link.bandwidth) return fits;
  return {.generation = 6, .width = 16};
}

bool among(const std::vector<std::string>& names, const std::string& name) { return std::ranges::find(names, name) != names.end(); }

class Writer {
 public:
  Writer(const Server& server, BitsPerSecond nic) : s_(server), nic_(nic) {}

  std::string write() {
    if (s_.is_sub_node()) throw InputError("the server is one GPU with its NIC: there is no topology to write; give \"server\"");
    nvlinks_ = kind_of_nvlinks();
    number_devices();
    out_ = "<system version=\"1\">\n";
    for (std::size_t i = 0; i < s_.sockets.size(); ++i) write_socket(i);
    out_ += "</system>\n";
    std::vector<std::string> lost;
    for (const auto* devices : {&s_.gpus, &s_.nics})
      for (const std::string& device : *devices)
        if (!placed_.contains(device))
          lost.push_back(fmt::format("{} hangs below no socket: a topology file of NCCL has no place for it", device));
    if (!lost.empty()) throw InputError(lost);
    return std::move(out_);
  }

 private:
  const std::string& other_end(const ServerLink& link, const std::string& name) const { return link.from == name ? link.to : link.from; }

  template <class Visit>
  void for_links_of(const std::string& name, Visit visit) const {
    for (const ServerLink& link : s_.links)
      if (link.from == name || link.to == name) visit(link, other_end(link, name));
  }

  bool is_nvlink(const ServerLink& link) const {
    const auto gpu_or_switch = [&](const std::string& name) { return among(s_.gpus, name) || among(s_.nvswitches, name); };
    return gpu_or_switch(link.from) && gpu_or_switch(link.to);
  }

  // The file says one for each GPU, and here all are alike.
  NvLinkKind kind_of_nvlinks() const {
    BitsPerSecond fastest, most;
    for (const std::string& gpu : s_.gpus) {
      BitsPerSecond together;
      for_links_of(gpu, [&](const ServerLink& link, const std::string&) {
        if (!is_nvlink(link)) return;
        fastest = std::max(fastest, link.spec().bandwidth);
        together = BitsPerSecond{together.count + link.spec().bandwidth.count};
      });
      most = std::max(most, together);
    }
    return fastest.count > 0 ? kind_for(fastest, most) : without_nvlinks;
  }

  void number_devices() {
    int next = 1;
    for (const auto* devices : {&s_.pcie_switches, &s_.gpus, &s_.nics, &s_.nvswitches})
      for (const std::string& device : *devices) {
        bus_[device] = fmt::format("{:04x}:{:02x}:00.0", next / 256, next % 256);
        ++next;
      }
  }

  const Processor& processor() const {
    double between = 0;
    for (const ServerLink& link : s_.links)
      if (among(s_.sockets, link.from) && among(s_.sockets, link.to)) between = std::max(between, gigabytes(link.spec().bandwidth));
    if (s_.sockets.size() == 1) between = usual_between;
    const Processor* best = nullptr;
    for (const Processor& p : processors) {
      if (p.maker != s_.processor) continue;
      if (!best || std::abs(p.between - between) < std::abs(best->between - between)) best = &p;
    }
    return *best;
  }

  void write_socket(std::size_t number) {
    const Processor& p = processor();
    line(1, fmt::format("<cpu numaid=\"{}\" affinity=\"ffffffff\" arch=\"{}\" vendor=\"{}\" familyid=\"{}\" modelid=\"{}\">", number,
                        p.arch, p.vendor, p.family, p.model));
    placed_.insert(s_.sockets[number]);
    write_below(s_.sockets[number], 2);
    line(1, "</cpu>");
  }

  void write_below(const std::string& above, int depth) {
    for_links_of(above, [&](const ServerLink& link, const std::string& device) {
      if (is_nvlink(link) || among(s_.sockets, device) || among(s_.nvswitches, device)) return;
      if (!placed_.insert(device).second) {
        if (among(s_.pcie_switches, device) && among(s_.pcie_switches, above) && parent_[above] != device && parent_[device] != above)
          line(depth, fmt::format("<pcilink target=\"{}\"/>", bus_[device]));
        return;
      }
      parent_[device] = above;
      write_device(link, device, depth);
    });
  }

  void write_device(const ServerLink& link, const std::string& device, int depth) {
    const PcieLink pcie = pcie_of(link);
    const bool gpu = among(s_.gpus, device), nic = among(s_.nics, device);
    line(depth, fmt::format("<pci busid=\"{}\" class=\"{}\" link_speed=\"{} GT/s PCIe\" link_width=\"{}\">", bus_[device],
                            gpu   ? "0x030200"
                            : nic ? "0x020700"
                                  : "0x060400",
                            transfers[static_cast<std::size_t>(pcie.generation - 1)], pcie.width));
    if (gpu)
      write_gpu(device, depth + 1);
    else if (nic)
      write_nic(link, device, depth + 1);
    else
      write_below(device, depth + 1);
    line(depth, "</pci>");
  }

  void write_gpu(const std::string& gpu, int depth) {
    const auto number = std::ranges::find(s_.gpus, gpu) - s_.gpus.begin();
    line(depth, fmt::format("<gpu dev=\"{0}\" sm=\"{1}\" rank=\"{0}\" gdr=\"1\">", number, nvlinks_.sm));
    for_links_of(gpu, [&](const ServerLink& link, const std::string& other) {
      if (is_nvlink(link))
        line(depth + 1, fmt::format("<nvlink target=\"{}\" count=\"{}\" tclass=\"{}\"/>", bus_[other],
                                    links_in(link.spec().bandwidth, nvlinks_), among(s_.gpus, other) ? "0x030200" : "0x068000"));
    });
    line(depth, "</gpu>");
  }

  // What passes a NIC: the cable, or what its own link is said to carry.
  void write_nic(const ServerLink& link, const std::string& nic, int depth) {
    BitsPerSecond rate = nic_;
    if (!link.pcie && link.bandwidth.count > 0) rate = rate.count > 0 ? std::min(rate, link.bandwidth) : link.bandwidth;
    if (rate.count == 0) rate = pcie_rate(pcie_of(link));
    const auto number = std::ranges::find(s_.nics, nic) - s_.nics.begin();
    line(depth, fmt::format("<nic><net name=\"{0}\" dev=\"{1}\" speed=\"{2}\" port=\"1\" latency=\"0\" guid=\"{1:#x}\" maxconn=\"131072\" "
                            "gdr=\"1\"/></nic>",
                            nic, number, rate.count / 1'000'000));
  }

  void line(int depth, const std::string& text) { fmt::format_to(std::back_inserter(out_), "{:{}}{}\n", "", 2 * depth, text); }

  const Server& s_;
  BitsPerSecond nic_;
  NvLinkKind nvlinks_ = without_nvlinks;
  std::string out_;
  std::map<std::string, std::string> bus_, parent_;
  std::set<std::string> placed_;
};

}  // namespace

std::string to_nccl_topology(const Server& server, BitsPerSecond nic) { return Writer(server, nic).write(); }

}  // namespace weft
