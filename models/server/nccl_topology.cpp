#include "models/server/nccl_topology.hpp"

#include "models/fabric/validation.hpp"
#include "models/server/latencies.hpp"
#include "models/server/server_paths.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>

namespace weft {
namespace {

using Tree = boost::property_tree::ptree;

// An element, with its place for messages.
struct Element {
  const Tree& tree;
  std::string path;

  std::optional<std::string> attribute(const char* name) const {
    const auto value = tree.get_optional<std::string>(Tree::path_type(std::string("<xmlattr>/") + name, '/'));
    return value ? std::optional<std::string>(*value) : std::nullopt;
  }
};

struct Cpu {
  std::string socket, arch, vendor;
  int family = 0, model = 0;
};

struct NvLink {
  std::string gpu, target, target_class, path;
  int count = 0, sm = 0;
};

constexpr BitsPerSecond inside_host = 5000_GBps;  // NCCL's LOC_BW

// Walks over the elements as the parser does (RapidXML), without building anything. Where it meets what is no XML it stops: there the
// parser gives up too.
class DepthScan {
 public:
  explicit DepthScan(std::string_view text) : rest_(text.substr(0, text.find('\0'))) {}

  int deepest() {
    int depth = 0, deepest = 0;
    while (!rest_.empty()) {
      skip_until("<");
      if (starts("</")) {
        skip_until(">");
        --depth;
      } else if (starts("<?")) {
        skip_past("?>");
      } else if (starts("<![CDATA[")) {
        skip_past("]]>");
      } else if (starts("<!--")) {
        skip_past("-->");
      } else if (starts("<!DOCTYPE") && rest_.find_first_of(space) == 9) {
        skip_doctype();
      } else if (starts("<!")) {
        skip_past(">");
      } else if (!rest_.empty()) {
        deepest = std::max(deepest, ++depth);
        if (ends_at_once()) --depth;
      }
    }
    return deepest;
  }

 private:
  bool starts(std::string_view with) const { return rest_.starts_with(with); }
  void skip(std::size_t count) { rest_.remove_prefix(std::min(count, rest_.size())); }
  void skip_until(std::string_view what) { skip(rest_.find(what)); }
  void skip_past(std::string_view what) { skip_until(what), skip(what.size()); }
  void skip_all_of(const char* set) { skip(rest_.find_first_not_of(set)); }
  void skip_none_of(const char* set) { skip(rest_.find_first_of(set)); }
  bool give_up() { return rest_ = {}, false; }

  static constexpr const char* space = " \t\n\r";

  void skip_doctype() {
    for (int open = 0; !rest_.empty() && (open > 0 || rest_.front() != '>'); skip(1))
      open += rest_.front() == '[' ? 1 : rest_.front() == ']' ? -1 : 0;
  }

  // Behind "<": the name, the attributes, and whether the element ends in "/>".
  bool ends_at_once() {
    skip(1);
    skip_none_of(" \t\n\r/>?");
    for (skip_all_of(space); !starts("/") && !starts(">"); skip_all_of(space)) {
      const std::size_t before = rest_.size();
      skip_none_of(" \t\n\r/<>=?!");
      if (rest_.size() == before) return give_up();
      skip_all_of(space);
      if (!starts("=")) return give_up();
      skip(1);
      skip_all_of(space);
      if (!starts("\"") && !starts("'")) return give_up();
      const char quote[] = {rest_.front(), '\0'};
      skip(1);
      skip_past(quote);
    }
    if (starts("/>")) return true;
    return starts(">") ? false : give_up();
  }

  std::string_view rest_;
};

void refuse_depth(std::string_view text) {
  constexpr int most = 64;
  if (const int deepest = DepthScan(text).deepest(); deepest > most)
    throw InputError(fmt::format("elements are nested {} deep, at most {} are allowed", deepest, most));
}

class TopologyReader {
 public:
  Server read(std::string_view text) {
    Tree document = parse(text);
    const auto system = document.find("system");
    if (system == document.not_found()) throw InputError("has no element <system>");
    const Element root{system->second, "/system"};
    const std::string version = root.attribute("version").value_or("");
    found_.require(version == "1" || version == "2", "/system/version", "must be \"1\" or \"2\", got \"{}\"", version);
    for_each_child(root, [&](const std::string& name, const Element& child) {
      if (name == "cpu") read_cpu(child);
    });
    found_.require(!cpus_.empty(), "/system", "has no element <cpu>");
    found_.require(cpus_.size() <= max_sockets_per_server, "/system", "has {} elements <cpu>, at most {} are allowed", cpus_.size(),
                   max_sockets_per_server);
    found_.require(cpus_.empty() || !server_.gpus.empty(), "/system", "has no GPU: a server needs at least one <gpu> in a <pci>");
    // Beside cards these are bridges and tunnels, and NCCL lists them below the socket of each process that found them.
    if (server_.nics.empty())
      for (const auto& [nic, socket] : below_sockets_) read_nets(nic, socket, std::nullopt, inside_host);
    if (server_.nics.empty()) give_no_nic(server_);
    if (cpus_.size() <= max_sockets_per_server) connect_sockets();
    connect_nvlinks();
    for (const Element& link : pci_links_) connect_pci_link(link);
    if (found_.none())
      for (auto& [where, what] : problems(server_)) found_.require(false, where, "{}", what);
    std::vector<std::string> lines;
    for (const auto& [where, what] : found_.take()) lines.push_back(fmt::format("{}{}{}", where, where.empty() ? "" : ": ", what));
    if (!lines.empty()) throw InputError(std::move(lines));
    return std::move(server_);
  }

 private:
  static Tree parse(std::string_view text) {
    if (text.size() > max_topology_bytes)
      throw InputError(fmt::format("has {} bytes, at most {} are allowed", text.size(), max_topology_bytes));
    refuse_depth(text);  // the parser calls itself for each level
    std::istringstream in{std::string(text)};
    Tree tree;
    try {
      boost::property_tree::read_xml(in, tree, boost::property_tree::xml_parser::no_comments);
    } catch (const boost::property_tree::xml_parser_error& error) {
      throw InputError(fmt::format("line {}: is not XML: {}", error.line(), error.message()));
    }
    return tree;
  }

  template <class Visit>
  void for_each_child(const Element& element, Visit visit) {
    std::map<std::string, int> seen;
    for (const auto& [name, tree] : element.tree) {
      if (name.starts_with("<")) continue;  // attributes, text
      visit(name, Element{tree, fmt::format("{}/{}[{}]", element.path, name, seen[name]++)});
    }
  }

  std::string required(const Element& element, const char* name, const char* allowed) {
    const auto value = element.attribute(name);
    found_.require(value && !value->empty(), element.path, "has no {}: write {}", name, allowed);
    return value.value_or("");
  }

  std::optional<std::int64_t> whole(const Element& element, const char* name, std::optional<std::int64_t> otherwise) {
    const auto text = element.attribute(name);
    if (!text && otherwise) return otherwise;
    std::int64_t value = 0;
    const std::string digits = text.value_or("");
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc{} && end == digits.data() + digits.size()) return value;
    found_.require(false, fmt::format("{}/{}", element.path, name), "must be a whole number, got \"{}\"", digits);
    return std::nullopt;
  }

  void read_cpu(const Element& element) {
    Cpu cpu{.socket = fmt::format("socket{}", element.attribute("numaid").value_or(std::to_string(cpus_.size()))),
            .arch = element.attribute("arch").value_or(""),
            .vendor = element.attribute("vendor").value_or("")};
    cpu.family = static_cast<int>(whole(element, "familyid", 0).value_or(0));
    cpu.model = static_cast<int>(whole(element, "modelid", 0).value_or(0));
    server_.sockets.push_back(cpu.socket);
    amd_ = cpu.vendor == "AuthenticAMD";
    server_.processor = amd_ ? HostProcessor::amd : cpu.arch == "arm64" ? HostProcessor::arm : HostProcessor::intel;
    // Peer-to-peer packets are cut to 64 bytes by Intel CPUs (NCCL: INTEL_P2P_OVERHEAD).
    if (cpu.vendor == "GenuineIntel") server_.root_complex_payload = 64;
    cpus_.push_back(cpu);
    for_each_child(element, [&](const std::string& name, const Element& child) {
      if (name == "pci") read_pci(child, cpu.socket, true);
      if (name == "nic") below_sockets_.emplace_back(child, cpu.socket);
    });
  }

  std::optional<PcieLink> link_of(const Element& element) {
    const auto said = element.attribute("link_speed");
    found_.require(said.has_value(), element.path, "has no link_speed: write \"8.0 GT/s PCIe\" or another generation's");
    if (!said) return std::nullopt;
    // A virtual machine's kernel does not know what its devices hang on, and NCCL takes the third generation then.
    const bool is_unknown = said->empty() || said->starts_with("Unknown");
    const std::string speed = is_unknown ? "8 GT/s" : *said;
    char* end = nullptr;
    PcieLink link{.generation = pcie_generation(std::strtod(speed.c_str(), &end))};
    const std::string where = element.path + "/link_speed";
    const bool known = std::string_view(end).starts_with(" GT/s") && link.generation > 0;
    found_.require(known, where, "must be 2.5, 5, 8, 16, 32 or 64 GT/s, got \"{}\"", speed);
    const auto text = element.attribute("link_width");
    const auto width = text && text->empty() ? 0 : whole(element, "link_width", 0);
    if (!known || !width) return std::nullopt;
    link.width = *width == 0 ? 16 : static_cast<int>(std::min<std::int64_t>(*width, 1000));  // as NCCL reads it
    const auto wrong = problems(link);
    for (const auto& [path, what] : wrong) found_.require(false, element.path + "/link_width", "{}", what);
    return wrong.empty() ? std::optional{link} : std::nullopt;
  }

  void read_pci(const Element& element, const std::string& above, bool at_root) {
    const std::string bus = required(element, "busid", "the address of the device");
    const auto pcie = link_of(element);
    if (!bus.empty() && !buses_.insert(bus).second) {
      found_.require(false, element.path + "/busid", "stands in the file twice, got \"{}\": the tree would have a cycle", bus);
      return;
    }
    const SimTime latency = at_root ? through_root : through_switch;
    bool is_switch = element.attribute("class").value_or("").starts_with("0x0604");
    int nets = 0;
    for_each_child(element, [&](const std::string& name, const Element& child) {
      if (name == "pci" || name == "pcilink") is_switch = true;
      if (name == "nic") nets += static_cast<int>(child.tree.count("net"));
    });
    std::string here = above;
    if (is_switch || nets > 1) {  // the ports of one card share its slot
      here = fmt::format("pci-{}", bus);
      server_.pcie_switches.push_back(here);
      connect(above, here, pcie, {}, latency);
    }
    for_each_child(element, [&](const std::string& name, const Element& child) {
      if (name == "pci") read_pci(child, here, false);
      if (name == "pcilink") pci_links_.push_back(child), pci_link_from_.push_back(here);
      if (name == "gpu") read_gpu(child, bus, above, pcie, latency);
      if (name == "nic") read_nets(child, here, pcie, {});
    });
  }

  void read_gpu(const Element& element, const std::string& bus, const std::string& above, std::optional<PcieLink> pcie, SimTime latency) {
    const std::string gpu = fmt::format("gpu{}", required(element, "dev", "the GPU's number"));
    const int sm = static_cast<int>(whole(element, "sm", 0).value_or(0));
    server_.gpus.push_back(gpu);
    gpu_at_[bus] = gpu;
    connect(above, gpu, pcie, {}, latency);
    for_each_child(element, [&](const std::string& name, const Element& child) {
      if (name != "nvlink") return;
      const int count = static_cast<int>(whole(child, "count", 1).value_or(0));
      nvlinks_.push_back({gpu, child.attribute("target").value_or(""), child.attribute("tclass").value_or(""), child.path, count, sm});
    });
  }

  void read_nets(const Element& nic, const std::string& above, std::optional<PcieLink> pcie, BitsPerSecond otherwise) {
    for_each_child(nic, [&](const std::string& name, const Element& net) {
      if (name != "net") return;
      const std::string device = fmt::format("net{}", required(net, "dev", "the NIC's number"));
      if (!pcie && std::ranges::count(server_.nics, device) > 0) return;
      auto megabits = whole(net, "speed", 10'000).value_or(0);
      if (megabits <= 0) megabits = 10'000;  // as NCCL reads it
      found_.require(megabits <= 10'000'000, net.path + "/speed", "must be at most 10000000 Mbit/s, got {}", megabits);
      server_.nics.push_back(device);
      const BitsPerSecond speed{std::min<std::int64_t>(megabits, 10'000'000) * 1'000'000};
      const BitsPerSecond slot = pcie ? pcie_rate(*pcie) : otherwise;
      if (slot.count > 0 && speed < slot)
        connect(above, device, {}, speed, through_switch);
      else
        connect(above, device, pcie, pcie ? BitsPerSecond{} : otherwise, through_switch);
      if (amd_ && pcie && pcie->generation == 4 && above == server_.sockets.back())
        server_.links.back().contention.nic_duplex_rate = nic_duplex_rate_of_root_port;
    });
  }

  // Without a speed there is a problem already, and nothing to connect.
  void connect(const std::string& from, const std::string& to, std::optional<PcieLink> pcie, BitsPerSecond bandwidth, SimTime latency) {
    if (pcie || bandwidth.count > 0) server_.links.push_back({from, to, pcie, bandwidth, latency});
  }

  // NCCL's topo.h and topo.cc, GB/s.
  static BitsPerSecond between(const Cpu& cpu) {
    if (cpu.arch == "ppc64") return 32_GBps;
    if (cpu.arch == "arm64") return 6_GBps;
    if (cpu.vendor == "AuthenticAMD") return 16_GBps;
    if (cpu.vendor != "GenuineIntel") return 10_GBps;
    if (cpu.family == 6 && cpu.model >= 0xCF) return 40_GBps;  // Emerald Rapids
    if (cpu.family == 6 && cpu.model >= 0x8F) return 22_GBps;  // Sapphire Rapids
    return cpu.family == 6 && cpu.model >= 0x55 ? 10_GBps : 6_GBps;
  }

  static BitsPerSecond of_nvlink(int sm) {
    if (sm >= 100) return BitsPerSecond{40'100'000'000 * 8};
    if (sm >= 90) return BitsPerSecond{20'600'000'000 * 8};
    if (sm == 86) return 12_GBps;
    return sm >= 70 ? 20_GBps : 18_GBps;
  }

  void connect_sockets() {
    for (std::size_t a = 0; a < cpus_.size(); ++a)
      for (std::size_t b = a + 1; b < cpus_.size(); ++b) connect(cpus_[a].socket, cpus_[b].socket, {}, between(cpus_[a]), between_sockets);
  }

  void connect_nvlinks() {
    std::map<std::string, BitsPerSecond> to_switch;
    std::map<std::pair<std::string, std::string>, BitsPerSecond> to_gpu;
    for (const NvLink& link : nvlinks_) {
      found_.require(link.count >= 1 && link.count <= 64, link.path + "/count", "must be between 1 and 64, got {}", link.count);
      const BitsPerSecond rate = std::max(0, std::min(link.count, 64)) * of_nvlink(link.sm);
      if (link.target_class.starts_with("0x0680")) {
        to_switch[link.gpu].count += rate.count;
      } else if (const auto peer = gpu_at_.find(link.target); peer != gpu_at_.end()) {
        found_.require(peer->second != link.gpu, link.path + "/target", "must be another GPU, got \"{}\" itself", link.target);
        if (link.gpu < peer->second) to_gpu[{link.gpu, peer->second}].count += rate.count;  // the other end lists it too
      } else {
        found_.require(false, link.path + "/target", "must be the busid of a GPU or an NVSwitch (tclass 0x068000), got \"{}\"",
                       link.target);
      }
    }
    if (!to_switch.empty()) server_.nvswitches.push_back("nvswitch");
    for (const auto& [gpu, rate] : to_switch) connect(gpu, "nvswitch", {}, rate, to_nvswitch);
    for (const auto& [ends, rate] : to_gpu) connect(ends.first, ends.second, {}, rate, to_nvswitch);
  }

  void connect_pci_link(const Element& link) {
    const std::string from = pci_link_from_[static_cast<std::size_t>(&link - pci_links_.data())];
    const std::string target = required(link, "target", "the busid of a bridge");
    const std::string to = "pci-" + target;
    const bool known = std::find(server_.pcie_switches.begin(), server_.pcie_switches.end(), to) != server_.pcie_switches.end();
    found_.require(known || target.empty(), link.path + "/target", "must be the busid of a bridge, got \"{}\"", target);
    if (known && from < to) connect(from, to, {}, inside_host, through_switch);  // the other end lists it too
  }

  Problems found_;
  Server server_{.preset = ""};
  std::vector<Cpu> cpus_;
  bool amd_ = false;  // the CPU that is being read
  std::set<std::string> buses_;
  std::map<std::string, std::string> gpu_at_;  // by busid
  std::vector<NvLink> nvlinks_;
  std::vector<std::pair<Element, std::string>> below_sockets_;  // NICs and their sockets
  std::vector<Element> pci_links_;
  std::vector<std::string> pci_link_from_;
};

}  // namespace

Server read_nccl_topology(std::string_view xml) { return TopologyReader{}.read(xml); }

}  // namespace weft
