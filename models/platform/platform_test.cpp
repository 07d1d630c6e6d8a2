#include "models/platform/platform.hpp"

#include "kernels/base/error.hpp"
#include "kernels/testing/mutations.hpp"
#include "models/fabric/routes.hpp"
#include "models/fabric/simgrid_fabric.hpp"
#include "models/platform/platform_units.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

namespace weft {
namespace {

std::string example(const std::string& name) {
  std::ifstream in(std::filesystem::path(WEFT_PLATFORM_EXAMPLES) / (name + ".xml"));
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

PointId host(const Platform& platform, const std::string& name) {
  for (const PointId id : platform.hosts)
    if (platform.points[static_cast<std::size_t>(id)].name == name) return id;
  FAIL("no host " << name);
  return -1;
}

std::vector<std::string> route(const Platform& platform, const std::string& from, const std::string& to) {
  std::vector<int> links;
  REQUIRE(platform.append_route(host(platform, from), host(platform, to), links));
  std::vector<std::string> names;
  for (const int link : links) names.push_back(platform.links[static_cast<std::size_t>(link)].name);
  return names;
}

std::string node(int number) { return fmt::format("node-{}.simgrid.org", number); }

std::string zone(const std::string& content, const char* routing = "Full") {
  return fmt::format("<platform version=\"4.1\">\n<zone id=\"z\" routing=\"{}\">\n{}</zone>\n</platform>\n", routing, content);
}
const std::string two_hosts = "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>\n";

std::string refused(const std::string& text) {
  try {
    read_platform(text);
    return "was read";
  } catch (const InputError& e) {
    return e.what();
  }
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("quantities of platforms are in bits or bytes, of 1000 or 1024, and times have a unit or are seconds") {
  CHECK(platform_bandwidth("125MBps") == 1_Gbps);
  CHECK(platform_bandwidth("10Gbps") == 10_Gbps);
  CHECK(platform_bandwidth("1KiBps") == BitsPerSecond{8192});
  CHECK(platform_bandwidth("1e3") == BitsPerSecond{8000});
  CHECK(platform_latency("50us") == 50_us);
  CHECK(platform_latency("0") == 0_us);
  CHECK(platform_latency("1.5") == SimTime{1'500'000'000'000});
  for (const char* wrong : {"", "MBps", "0Bps", "-1Bps", "1MBpsx", "1XBps", "nanBps", "1e300Bps", "1 MBps"}) {
    CAPTURE(wrong);
    CHECK_FALSE(platform_bandwidth(wrong));
  }
  for (const char* wrong : {"", "us", "-1us", "1year", "1e30s"}) CHECK_FALSE(platform_latency(wrong));
}

TEST_CASE("a cluster's hosts reach one another up, over the backbone, and down") {
  const auto platform = read_platform(example("cluster_backbone"));
  CHECK(platform->hosts.size() == 100);
  CHECK(route(*platform, node(0), node(2)) == Names{"cluster0_link_0_UP", "cluster0_backbone", "cluster0_link_2_DOWN"});
}

TEST_CASE("clusters are joined through their routers") {
  const auto platform = read_platform(example("meta_cluster"));
  CHECK(platform->hosts.size() == 60);
  CHECK(route(*platform, "host-1.cluster1", "host-1.cluster2") ==
        Names{"link_host-1.cluster1_UP", "backbone1", "link1-2", "backbone2", "link_host-1.cluster2_DOWN"});
}

TEST_CASE("a bypass is taken before the route between zones") {
  const auto platform = read_platform(example("bypassZoneRoute"));
  CHECK(route(*platform, "1", "2") == Names{"my_cluster_1_link_1_UP", "link_tmp", "my_cluster_2_link_2_DOWN"});
  CHECK(route(*platform, "2", "1") == Names{"my_cluster_2_link_2_UP", "link2", "link1", "my_cluster_1_link_1_DOWN"});
}

TEST_CASE("explicit routes are taken as they stand, and back the other way round") {
  const auto platform = read_platform(example("small_platform"));
  CHECK(platform->hosts.size() == 7);
  CHECK(route(*platform, "Tremblay", "Jupiter") == Names{"9"});
  CHECK(route(*platform, "Tremblay", "Fafard") == Names{"4", "3", "2", "0", "1", "8"});
  CHECK(route(*platform, "Fafard", "Tremblay") == Names{"8", "1", "0", "2", "3", "4"});
}

TEST_CASE("Fat-Trees go up as far as they must, tori the shorter way round, dragonflies over one cable between groups") {
  const auto tree = read_platform(example("cluster_fat_tree"));
  CHECK(tree->links.size() == 2 * (16 + 4 * 2 * 2));
  CHECK(route(*tree, node(0), node(1)).size() == 2);
  CHECK(route(*tree, node(0), node(15)).size() == 4);
  const auto torus = read_platform(example("cluster_torus"));  // 3 x 2 x 2
  CHECK(torus->links.size() == 2 * 12 * 3);
  CHECK(route(*torus, node(0), node(2)) == Names{"bob_cluster_link_from_2_to_0_DOWN"});
  CHECK(route(*torus, node(0), node(11)).size() == 3);
  const auto dragonfly = read_platform(example("cluster_dragonfly"));
  CHECK(dragonfly->hosts.size() == 120);
  const Names far = route(*dragonfly, node(0), node(119));
  CHECK(std::ranges::count_if(far, [](const std::string& link) { return link.find("_blue_") != link.npos; }) == 1);
}

TEST_CASE("shortest ways count links, and the first found stays") {
  const std::string square = two_hosts +
                             R"(<router id="x"/><router id="y"/>
<link id="ax" bandwidth="1GBps" latency="1us"/><link id="xy" bandwidth="1GBps" latency="1us"/><link id="yb" bandwidth="1GBps" latency="1us"/>
<link id="xb" bandwidth="1MBps" latency="1s"/>
<route src="a" dst="x"><link_ctn id="ax"/></route><route src="x" dst="y"><link_ctn id="xy"/></route>
<route src="y" dst="b"><link_ctn id="yb"/></route><route src="x" dst="b"><link_ctn id="xb"/></route>
)";
  for (const char* routing : {"Floyd", "Dijkstra", "DijkstraCache"}) {
    const auto platform = read_platform(zone(square, routing));
    CHECK(route(*platform, "a", "b") == Names{"ax", "xb"});
    CHECK(route(*platform, "b", "a") == Names{"xb", "ax"});
  }
}

TEST_CASE("what passes a fatpipe has at most its bandwidth, and its latency") {
  const auto platform = read_platform(zone(two_hosts +
                                           R"(<link id="pipe" bandwidth="1Gbps" latency="3us" sharing_policy="FATPIPE"/>
<link id="wire" bandwidth="10Gbps" latency="2us" sharing_policy="SPLITDUPLEX"/>
<route src="a" dst="b"><link_ctn id="wire" direction="UP"/><link_ctn id="pipe"/></route>
)"));
  CHECK(route(*platform, "b", "a") == Names{"pipe", "wire_DOWN"});
  const auto fabric = build(SimgridFabric{.file = "f", .platform = platform});
  CHECK(fabric->terms(0, 1).rate_cap == 1_Gbps);
  Routes routes(*fabric, {});
  CHECK(routes.latency(routes.of(0, 1)) == 5_us);
  CHECK(routes.bandwidth(routes.of(0, 1)) == 10_Gbps);
  CHECK(fabric->link_name(0) == "pipe");
}

TEST_CASE("what has no meaning is refused by its name and line") {
  const std::string link = "<link id=\"l\" bandwidth=\"1GBps\" latency=\"1us\"/><route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>\n";
  CHECK(refused(zone(two_hosts + link)) == "was read");
  CHECK(refused(zone(two_hosts + link + "<peer id=\"p\"/>\n")) ==
        "line 5: <peer> has no meaning here: the distance between peers is guessed from coordinates, without links");
  CHECK(refused(zone(two_hosts + link, "Vivaldi")) ==
        "line 2: routing of <zone> must be Full, Floyd, Dijkstra, DijkstraCache, Cluster or None, got \"Vivaldi\"");
  CHECK(refused(zone(two_hosts + link + "<link id=\"w\" bandwidth=\"1MBps\" sharing_policy=\"WIFI\"/>\n")) ==
        "line 5: sharing_policy of <link> must be SHARED, SPLITDUPLEX or FATPIPE, got \"WIFI\"");
  CHECK(refused(zone(two_hosts + link + "<link id=\"w\" bandwidth=\"1MBps\" state_file=\"w.profile\"/>\n")) ==
        "line 5: state_file of <link>: hosts and links that change over time have no meaning here");
  CHECK(refused("<platform><config><prop id=\"network/model\" value=\"CM02\"/></config><host id=\"a\" speed=\"1f\"/></platform>") ==
        "line 1: <config> sets \"network/model\": what a message costs beyond its links is said by Weft's hardware profile");
}

TEST_CASE("an attribute that no such element has is refused, as SimGrid does, and so is a version that is not read here") {
  CHECK(refused(zone(two_hosts + "<link id=\"l\" bandwidth=\"1GBps\" latency=\"1us\" sharing_polcy=\"FATPIPE\"/>"
                                 "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>\n")) ==
        "line 4: <link> has no attribute \"sharing_polcy\"; allowed: bandwidth, bandwidth_file, id, latency, latency_file, sharing_policy, "
        "state_file");
  CHECK(refused("<platform version=\"3\"><host id=\"a\" speed=\"1f\"/></platform>") ==
        "line 1: version of <platform> must be 4 or 4.1, got \"3\"");
}

TEST_CASE("what is wrong with a platform is said with its line, all at once") {
  CHECK(refused("<algo/>") == "line 1: must be <platform>, got <algo>");
  CHECK(refused("<platform version=\"4.1\"/>") == "line 1: has no host");
  CHECK(refused(zone(two_hosts)) == "line 1: there is no route from \"a\" to \"b\"");
  CHECK(refused(zone("<host id=\"a\" speed=\"1f\"/>\n<host id=\"a\" speed=\"1f\"/>\n<link id=\"l\" bandwidth=\"fast\"/>\n"
                     "<route src=\"a\" dst=\"c\"><link_ctn id=\"m\"/></route>\n")) ==
        "line 4: \"a\" is the id of another host, router or zone\n"
        "line 5: bandwidth of <link> must be a bandwidth above zero such as \"125MBps\" or \"10Gbps\", got \"fast\"\n"
        "line 6: dst of <route>: there is no host, router or zone \"c\"\nline 6: there is no link \"m\"");
  const auto cluster = [](const char* topology, const char* parameters) {
    return zone(
        fmt::format("<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-7\" speed=\"1f\" bw=\"1GBps\" lat=\"1us\" topology=\"{}\" "
                    "topo_parameters=\"{}\"/>\n",
                    topology, parameters));
  };
  CHECK(refused(cluster("TORUS", "2,2,2")) == "was read");
  CHECK(refused(cluster("TORUS", "3,2")) == "line 3: the TORUS has 6 hosts, and radical names 8");
  CHECK(
      refused(cluster("FAT_TREE", "2;4,2;1,2")) ==
      "line 3: topo_parameters of a FAT_TREE must be levels, children, parents and cables by level, \"2;4,4;1,2;1,2\", got \"2;4,2;1,2\"");
  CHECK(refused(cluster("RING", "8")) == "line 3: topology of <cluster> must be FLAT, TORUS, FAT_TREE or DRAGONFLY, got \"RING\"");
}

TEST_CASE("whatever bytes a platform has, it is read or refused") {
  const int rounds = mutation_rounds(2000);
  Mutations mutations(
      {example("cluster_torus"), example("cluster_fat_tree"), example("cluster_dragonfly"), example("bypassZoneRoute"), zone(two_hosts)},
      20260102);
  int read = 0;
  for (int round = 0; round < rounds; ++round) {
    try {
      const auto platform = read_platform(mutations.next());
      CHECK(!platform->hosts.empty());
      ++read;
    } catch (const InputError&) {
    }
  }
  CHECK(read > rounds / 20);
}

TEST_CASE("no host sends more than the links together that its routes begin with") {
  // Of a torus of 3 x 2 x 2 a host uses both links of the ring of three, and one of each ring of two: 4 x 100 Gb/s.
  const auto cluster = [](const char* shape) {
    return read_platform(fmt::format("<platform version=\"4.1\"><cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-11\" speed=\"1Gf\" "
                                     "bw=\"12.5GBps\" lat=\"1us\" {}/></platform>",
                                     shape))
        ->max_from_a_host();
  };
  CHECK(cluster("topology=\"TORUS\" topo_parameters=\"3,2,2\"") == 400_Gbps);
  CHECK(cluster("") == 100_Gbps);
  CHECK(cluster("topology=\"FAT_TREE\" topo_parameters=\"2;6,2;1,2;1,1\"") == 100_Gbps);

  // Routes that share a link add it once; a FATPIPE alone is each flow's own.
  const std::string hosts = "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/><host id=\"c\" speed=\"1Gf\"/>\n";
  const std::string links =
      "<link id=\"x\" bandwidth=\"1Gbps\" latency=\"0\"/><link id=\"p\" bandwidth=\"3Gbps\" latency=\"0\" sharing_policy=\"FATPIPE\"/>\n";
  const auto joined = [&](const char* ab, const char* ac, const char* bc) {
    return read_platform(
               zone(fmt::format("{}{}<route src=\"a\" dst=\"b\"><link_ctn id=\"{}\"/></route>\n<route src=\"a\" dst=\"c\"><link_ctn "
                                "id=\"{}\"/></route>\n<route src=\"b\" dst=\"c\"><link_ctn id=\"{}\"/></route>\n",
                                hosts, links, ab, ac, bc)))
        ->max_from_a_host();
  };
  CHECK(joined("x", "x", "x") == 1_Gbps);
  CHECK(joined("x", "p", "x") == 4_Gbps);
  CHECK(joined("p", "p", "p") == 6_Gbps);
}

}  // namespace weft
