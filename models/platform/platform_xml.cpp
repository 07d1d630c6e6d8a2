#include "kernels/base/xml.hpp"
#include "models/platform/cluster_shapes.hpp"
#include "models/platform/platform_element.hpp"
#include "models/platform/zones.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace weft {
namespace {

constexpr std::size_t max_in_shortest = 16384;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

struct LinkEnds {  // by the name in the file
  int up = -1, down = -1;
  bool split = false;
};

// By element those that SimGrid 3.32 knows (simgrid.dtd, version 4.1), and what older files may have besides. One that is misspelt would
// change the platform without a word.
const std::map<std::string, std::set<std::string>>& attributes_of_elements() {
  static const std::set<std::string> route = {"src", "dst", "gw_src", "gw_dst", "symmetrical"};
  static const std::set<std::string> zone = {"id", "routing"};
  static const std::map<std::string, std::set<std::string>> all = {
      {"platform", {"version"}},
      {"config", {"id"}},
      {"zone", zone},
      {"AS", zone},
      {"host", {"id", "speed", "core", "coordinates", "pstate", "speed_file", "availability_file", "state_file"}},
      {"router", {"id", "coordinates"}},
      {"link", {"id", "bandwidth", "latency", "sharing_policy", "bandwidth_file", "latency_file", "state_file"}},
      {"backbone", {"id", "bandwidth", "latency"}},
      {"host_link", {"id", "up", "down"}},
      {"cabinet", {"id", "prefix", "suffix", "radical", "speed", "bw", "lat", "core"}},
      {"cluster",
       {"id",
        "prefix",
        "suffix",
        "radical",
        "speed",
        "core",
        "bw",
        "lat",
        "sharing_policy",
        "bb_bw",
        "bb_lat",
        "bb_sharing_policy",
        "router_id",
        "limiter_link",
        "loopback_bw",
        "loopback_lat",
        "topology",
        "topo_parameters",
        "state_file",
        "availability_file"}},
      {"link_ctn", {"id", "direction"}},
      {"prop", {"id", "value"}},
      {"route", route},
      {"zoneRoute", route},
      {"ASroute", route},
      {"bypassRoute", route},
      {"bypassZoneRoute", route},
      {"bypassASroute", route}};
  return all;
}

void refuse_unknown_attributes(const XmlElement& element, LineProblems& problems) {
  if (const auto known = attributes_of_elements().find(element.name); known != attributes_of_elements().end())
    for (const auto& [attribute, value] : element.attributes)
      if (!known->second.contains(attribute))
        problems.add(element.line, "<{}> has no attribute {}; allowed: {}", element.name, shown_value(attribute),
                     fmt::join(known->second, ", "));
  for (const XmlElement& child : element.children) refuse_unknown_attributes(child, problems);
}

class PlatformReader {
 public:
  std::shared_ptr<const Platform> read(const XmlElement& root) {
    if (root.name != "platform") throw InputError(fmt::format("line {}: must be <platform>, got <{}>", root.line, root.name));
    refuse_unknown_attributes(root, problems_);
    if (const std::string* version = root.attribute("version"); version && *version != "4" && *version != "4.1")
      problems_.add(root.line, "version of <platform> must be 4 or 4.1, got {}", shown_value(*version));
    open_zone("(platform)", std::make_unique<RoutedZone>(false), -1, root.line);
    for (const XmlElement& child : root.children) {
      if (child.name == "config")
        read_config(child);
      else
        read_item(child, 0);
      if (is_too_large(child)) break;
    }
    problems_.refuse();
    for (const auto& zone : p_->zones) seal(*zone);
    problems_.refuse();
    if (p_->hosts.empty()) throw InputError(fmt::format("line {}: has no host", root.line));
    check_routes();
    problems_.refuse();
    return std::move(p_);
  }

 private:
  std::vector<PlatformLink>& links() { return p_->links; }
  PlatformElement in(const XmlElement& element) { return {element, problems_}; }

  // Points and zones.

  PointId add_point(const std::string& name, int zone, int line) {
    const auto id = static_cast<PointId>(p_->points.size());
    if (name.empty()) problems_.add(line, "an id must not be empty");
    if (!point_named_.emplace(name, id).second) problems_.add(line, "{} is the id of another host, router or zone", shown_value(name));
    p_->points.push_back({.name = name, .zone = zone});
    return id;
  }

  void add_host(const std::string& name, int zone, int line) {
    const PointId id = add_point(name, zone, line);
    p_->points.back().is_host = true;
    p_->hosts.push_back(id);
  }

  bool is_too_large(const XmlElement& e) {
    if (p_->hosts.size() <= max_platform_hosts && links().size() <= max_platform_links) return false;
    problems_.add(e.line, "a platform may have {} hosts and {} links", max_platform_hosts, max_platform_links);
    return true;
  }

  int open_zone(const std::string& name, std::unique_ptr<PlatformZone> zone, int parent, int line) {
    const int id = static_cast<int>(p_->zones.size());
    zone->parent = parent;
    zone->line = line;
    zone->point = add_point(name, parent, line);
    p_->points.back().inner = id;
    p_->zones.push_back(std::move(zone));
    return id;
  }

  PointId find_point(const XmlElement& element, const char* attribute) {
    const std::string name = in(element).text(attribute);
    const auto found = point_named_.find(name);
    if (found != point_named_.end()) return found->second;
    if (element.attribute(attribute) != nullptr)
      problems_.add(element.line, "{} of <{}>: there is no host, router or zone {}", attribute, element.name, shown_value(name));
    return -1;
  }

  // Elements.

  void read_config(const XmlElement& config) {
    for (const XmlElement& prop : config.children)
      if (const std::string id = in(prop).text_or("id"); id.starts_with("network/"))
        problems_.add(prop.line, "<config> sets {}: what a message costs beyond its links is said by Weft's hardware profile",
                      shown_value(id));
  }

  void read_item(const XmlElement& e, int zone) {
    const std::string& name = e.name;
    if (name == "zone" || name == "AS") return read_zone(e, zone);
    if (name == "cluster") return read_cluster(e, zone);
    if (name == "host") return read_host(e, zone);
    if (name == "router") return void(add_point(in(e).text("id"), zone, e.line));
    if (name == "link") return void(read_link(e));
    if (name == "backbone") return read_backbone(e, zone);
    if (name == "cabinet") return read_cabinet(e, zone);
    if (name == "host_link") return read_host_link(e, zone);
    if (name == "route" || name == "zoneRoute" || name == "ASroute") return read_route(e, zone, false);
    if (name == "bypassRoute" || name == "bypassZoneRoute" || name == "bypassASroute") return read_route(e, zone, true);
    if (name == "prop" || name == "storage_type" || name == "storage") return;  // nothing that a message meets
    const bool deployment = name == "actor" || name == "process";
    problems_.add(e.line, "<{}> has no meaning here{}", shown_name(name),
                  deployment                                   ? ": a scenario's workload says who does what"
                  : name == "trace" || name == "trace_connect" ? ": hosts and links do not change over time"
                  : name == "peer"                             ? ": the distance between peers is guessed from coordinates, without links"
                                                               : "");
  }

  static std::string shown_name(const std::string& name) {
    const std::string quoted = shown_value(name);
    return quoted.substr(1, quoted.size() - 2);
  }

  void read_host(const XmlElement& e, int zone) {
    add_host(in(e).text("id"), zone, e.line);
    in(e).refuse_profiles({"speed_file", "availability_file", "state_file"});
  }

  LinkEnds add_link(const std::string& name, const PlatformLink& link, bool split, int line) {
    const int first = static_cast<int>(links().size());
    const LinkEnds ends{first, split ? first + 1 : first, split};
    if (!link_named_.emplace(name, ends).second) problems_.add(line, "link {} is there already", shown_value(name));
    for (const char* suffix : split ? std::vector<const char*>{"_UP", "_DOWN"} : std::vector<const char*>{""}) {
      links().push_back(link);
      links().back().name = name + suffix;
      if (split) link_named_.emplace(name + suffix, LinkEnds{static_cast<int>(links().size()) - 1, static_cast<int>(links().size()) - 1});
    }
    return ends;
  }

  LinkEnds read_link(const XmlElement& e) {
    in(e).refuse_profiles({"bandwidth_file", "latency_file", "state_file"});
    const auto [split, fatpipe] = in(e).sharing("sharing_policy", "SHARED");
    return add_link(in(e).text("id"),
                    {.name = {}, .bandwidth = in(e).bandwidth("bandwidth"), .latency = in(e).latency("latency"), .fatpipe = fatpipe}, split,
                    e.line);
  }

  void read_zone(const XmlElement& e, int parent) {
    const std::string id = in(e).text("id"), routing = lower(in(e).text("routing"));
    std::unique_ptr<PlatformZone> zone;
    if (routing == "full" || routing == "none")
      zone = std::make_unique<RoutedZone>(false);
    else if (routing == "floyd" || routing == "dijkstra" || routing == "dijkstracache")
      zone = std::make_unique<RoutedZone>(true);
    else if (routing == "cluster")
      zone = std::make_unique<StarZone>();
    else
      return problems_.add(e.line, "routing of <{}> must be Full, Floyd, Dijkstra, DijkstraCache, Cluster or None, got {}", e.name,
                           shown_value(in(e).text_or("routing")));
    const int number = open_zone(id, std::move(zone), parent, e.line);
    for (const XmlElement& child : e.children) {
      read_item(child, number);
      if (is_too_large(child)) return;
    }
    finish_star(number);
  }

  // Stars: arms are known when their backbone is.
  StarZone* star(const XmlElement& e, int zone) {
    auto* out = dynamic_cast<StarZone*>(p_->zones[static_cast<std::size_t>(zone)].get());
    if (out == nullptr) problems_.add(e.line, "<{}> must be in a zone of routing Cluster", e.name);
    return out;
  }
  void read_backbone(const XmlElement& e, int zone) {
    if (star(e, zone) != nullptr) backbone_[zone] = read_link(e).up;
  }
  void read_host_link(const XmlElement& e, int zone) {
    const PointId host = find_point(e, "id");
    const auto up = find_link(e, "up"), down = find_link(e, "down");
    if (StarZone* at = star(e, zone); at != nullptr && host >= 0 && up && down) at->arms[host] = {{up->up}, {down->down}};
  }
  void read_cabinet(const XmlElement& e, int zone) {
    StarZone* const at = star(e, zone);
    const auto ids = in(e).host_numbers();
    const BitsPerSecond rate = in(e).bandwidth("bw");
    const SimTime delay = in(e).latency("lat");
    if (at == nullptr || !ids) return;
    for (const int id : *ids) {
      const std::string host = fmt::format("{}{}{}", in(e).text_or("prefix"), id, in(e).text_or("suffix"));
      const auto point = static_cast<PointId>(p_->points.size());
      add_host(host, zone, e.line);
      const LinkEnds link = add_link("link_" + host, {.name = {}, .bandwidth = rate, .latency = delay}, true, e.line);
      at->arms[point] = {{link.up}, {link.down}};
    }
  }
  void finish_star(int zone) {
    auto* const at = dynamic_cast<StarZone*>(p_->zones[static_cast<std::size_t>(zone)].get());
    const auto backbone = backbone_.find(zone);
    if (at == nullptr || backbone == backbone_.end()) return;
    for (auto& [point, arm] : at->arms) arm.up.push_back(backbone->second), arm.down.insert(arm.down.begin(), backbone->second);
  }

  void read_cluster(const XmlElement& e, int parent) {
    const std::string id = in(e).text("id"), topology = in(e).text_or("topology", "FLAT");
    const auto ids = in(e).host_numbers();
    const auto [split, fatpipe] = in(e).sharing("sharing_policy", "SPLITDUPLEX");
    ClusterLinks cables{.links = links(),
                        .name = id,
                        .bandwidth = in(e).bandwidth("bw"),
                        .latency = in(e).latency("lat"),
                        .split = split,
                        .fatpipe = fatpipe};
    if (in(e).has("limiter_link")) cables.limiter = in(e).bandwidth("limiter_link");
    if (!ids) return;
    if (topology == "FLAT") return read_flat_cluster(e, parent, *ids, cables);
    auto shaped = std::make_unique<ShapedZone>();
    shaped->shape = read_cluster_shape(in(e), topology, static_cast<std::int64_t>(ids->size()), cables);
    ShapedZone& zone = *shaped;
    const int number = open_zone(id, std::move(shaped), parent, e.line);
    for (std::size_t i = 0; i < ids->size(); ++i) {
      zone.numbers[static_cast<PointId>(p_->points.size())] = static_cast<int>(i);
      add_host(fmt::format("{}{}{}", in(e).text_or("prefix"), (*ids)[i], in(e).text_or("suffix")), number, e.line);
    }
  }

  void read_flat_cluster(const XmlElement& e, int parent, const std::vector<int>& ids, const ClusterLinks& cables) {
    auto made = std::make_unique<StarZone>();
    StarZone& star = *made;
    const int zone = open_zone(cables.name, std::move(made), parent, e.line);
    const std::string prefix = in(e).text_or("prefix"), suffix = in(e).text_or("suffix");
    int backbone = -1;
    if (in(e).has("bb_bw")) {
      const bool shared_by_none = in(e).sharing("bb_sharing_policy", "SHARED").fatpipe;
      backbone =
          add_link(cables.name + "_backbone",
                   {.name = {}, .bandwidth = in(e).bandwidth("bb_bw"), .latency = in(e).latency("bb_lat"), .fatpipe = shared_by_none},
                   false, e.line)
              .up;
    }
    for (const int id : ids) {
      const auto point = static_cast<PointId>(p_->points.size());
      add_host(fmt::format("{}{}{}", prefix, id, suffix), zone, e.line);
      const LinkEnds link =
          add_link(fmt::format("{}_link_{}", cables.name, id),
                   {.name = {}, .bandwidth = cables.bandwidth, .latency = cables.latency, .fatpipe = cables.fatpipe}, cables.split, e.line);
      StarZone::Arm arm{{link.up}, {link.down}};
      if (cables.limiter.count > 0) {
        const int limiter = add_link(fmt::format("{}_link_{}_limiter", cables.name, id),
                                     {.name = {}, .bandwidth = cables.limiter, .latency = {}}, false, e.line)
                                .up;
        arm.up.insert(arm.up.begin(), limiter), arm.down.push_back(limiter);
      }
      if (backbone >= 0) arm.up.push_back(backbone), arm.down.insert(arm.down.begin(), backbone);
      star.arms[point] = std::move(arm);
    }
    const std::string router = in(e).text_or("router_id");
    add_point(router.empty() ? fmt::format("{}{}_router{}", prefix, cables.name, suffix) : router, zone, e.line);
  }

  // Routes.

  std::optional<LinkEnds> find_link(const XmlElement& e, const char* attribute) {
    const std::string name = in(e).text(attribute);
    const auto found = link_named_.find(name);
    if (found != link_named_.end()) return found->second;
    if (e.attribute(attribute) != nullptr) problems_.add(e.line, "there is no link {}", shown_value(name));
    return std::nullopt;
  }

  struct Way {
    std::vector<int> there = {}, back = {};
  };
  Way read_links(const XmlElement& route) {
    Way out;
    for (const XmlElement& e : route.children) {
      if (e.name != "link_ctn") {
        problems_.add(e.line, "<{}> has no meaning in a route", shown_name(e.name));
        continue;
      }
      const auto ends = find_link(e, "id");
      if (!ends) continue;
      const std::string direction = in(e).text_or("direction", "NONE");
      if (direction != "UP" && direction != "DOWN" && direction != "NONE")
        problems_.add(e.line, "direction must be UP, DOWN or NONE, got {}", shown_value(direction));
      if (ends->split && direction == "NONE") problems_.add(e.line, "a SPLITDUPLEX link must be passed UP or DOWN");
      const bool up = direction != "DOWN";
      out.there.push_back(up ? ends->up : ends->down);
      out.back.insert(out.back.begin(), up ? ends->down : ends->up);
    }
    return out;
  }

  void read_route(const XmlElement& e, int zone, bool bypass) {
    const PointId from = find_point(e, "src"), to = find_point(e, "dst");
    const bool gateways = e.name != "route" && e.name != "bypassRoute";
    const PointId from_gateway = gateways ? find_point(e, "gw_src") : -1, to_gateway = gateways ? find_point(e, "gw_dst") : -1;
    const Way way = read_links(e);
    const std::string symmetrical = in(e).text_or("symmetrical", bypass ? "NO" : "YES");
    const bool both = symmetrical == "YES" || symmetrical == "yes";
    if (!both && symmetrical != "NO" && symmetrical != "no")
      problems_.add(e.line, "symmetrical must be YES or NO, got {}", shown_value(symmetrical));
    if (from < 0 || to < 0 || (gateways && (from_gateway < 0 || to_gateway < 0))) return;
    if (way.there.empty()) return problems_.add(e.line, "a route must have at least one link");
    const auto named = [&](PointId point) { return shown_value(p_->points[static_cast<std::size_t>(point)].name); };
    const auto own_zone = [&](PointId point) { return p_->points[static_cast<std::size_t>(point)].zone == zone; };
    if (!bypass && (!own_zone(from) || !own_zone(to)))
      return problems_.add(e.line, "a route must be between two of its own zone; {} is not", named(own_zone(from) ? to : from));
    const PlatformRoute there{way.there, from_gateway, to_gateway}, back{way.back, to_gateway, from_gateway};
    auto* const routed = dynamic_cast<RoutedZone*>(p_->zones[static_cast<std::size_t>(zone)].get());
    if (!bypass && routed == nullptr) return problems_.add(e.line, "a zone of routing Cluster has no <{}>", e.name);
    const auto add = [&](PointId a, PointId b, const PlatformRoute& route) {
      const bool added =
          bypass ? p_->zones[static_cast<std::size_t>(zone)]->bypasses.emplace(std::pair(a, b), route).second : routed->add(a, b, route);
      if (!added)
        problems_.add(e.line, "there is a route from {} to {} already (routes go both ways where symmetrical is not NO)", named(a),
                      named(b));
    };
    add(from, to, there);
    if (both && from != to) add(to, from, back);
  }

  void seal(PlatformZone& zone) {
    auto* const routed = dynamic_cast<RoutedZone*>(&zone);
    if (routed == nullptr) return;
    routed->number_points();
    if (routed->shortest_points() > max_in_shortest)
      problems_.add(zone.line, "shortest ways are found among at most {} hosts, routers and zones, got {}", max_in_shortest,
                    routed->shortest_points());
  }

  // Between all hosts, or where these are many between the first and all others.
  void check_routes() {
    constexpr std::size_t max_checked = 256;
    const std::vector<PointId>& hosts = p_->hosts;
    std::vector<int> scratch;
    const auto check = [&](PointId from, PointId to) {
      scratch.clear();
      if (from == to || (p_->append_route(from, to, scratch) && !scratch.empty())) return true;
      const auto& named = p_->points;
      problems_.add(1, "there is no route from {} to {}", shown_value(named[static_cast<std::size_t>(from)].name),
                    shown_value(named[static_cast<std::size_t>(to)].name));
      return false;
    };
    for (const PointId from : hosts)
      for (const PointId to : hosts)
        if ((hosts.size() <= max_checked || from == hosts.front() || to == hosts.front()) && !check(from, to)) return;
  }

  std::shared_ptr<Platform> p_ = std::make_shared<Platform>();
  LineProblems problems_;
  std::map<std::string, PointId, std::less<>> point_named_;
  std::map<std::string, LinkEnds, std::less<>> link_named_;
  std::map<int, int> backbone_;  // link by zone
};

}  // namespace

std::shared_ptr<const Platform> read_platform(std::string_view xml) { return PlatformReader().read(read_xml(xml)); }

}  // namespace weft
