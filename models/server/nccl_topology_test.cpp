#include "models/server/nccl_topology.hpp"

#include "models/server/server_paths.hpp"

#include <regex>

#include <doctest/doctest.h>

using namespace weft;

namespace {

const std::string small = R"(<system version="1">
  <cpu numaid="0" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:10:00.0" class="0x060400" link_speed="8.0 GT/s PCIe" link_width="16">
      <pci busid="0000:11:00.0" class="0x030200" link_speed="8.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="70" rank="0" gdr="1"/>
      </pci>
      <pci busid="0000:12:00.0" class="0x020700" link_speed="8.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_0" dev="0" speed="100000" port="1" gdr="1"/></nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:81:00.0" class="0x030200" link_speed="8 GT/s" link_width="8">
      <gpu dev="1" sm="70" rank="1"/>
    </pci>
  </cpu>
</system>)";

std::string with(const std::string& from, const std::string& to) {
  std::string out = small;
  const auto at = out.find(from);
  REQUIRE(at != std::string::npos);
  return out.replace(at, from.size(), to);
}

std::string problems_of(const std::string& xml) {
  try {
    read_nccl_topology(xml);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

const ServerLink& link(const Server& s, const std::string& from, const std::string& to) {
  for (const ServerLink& l : s.links)
    if (l.from == from && l.to == to) return l;
  FAIL("no link " << from << " " << to);
  return s.links.front();
}

std::string nvlinks(const char* gpu, const char* targets) {
  return "<gpu dev=\"" + std::string(gpu) + "\" sm=\"90\">" + targets + "</gpu>";
}

}  // namespace

TEST_CASE("nccl topology: sockets, switches, GPUs and NICs with their PCIe links") {
  const Server s = read_nccl_topology(small);
  CHECK(s.sockets == std::vector<std::string>{"socket0", "socket1"});
  CHECK(s.gpus == std::vector<std::string>{"gpu0", "gpu1"});
  CHECK(s.nics == std::vector<std::string>{"net0"});
  CHECK(link(s, "pci-0000:10:00.0", "gpu0").pcie == PcieLink{.generation = 3, .width = 16});
  CHECK(link(s, "socket1", "gpu1").pcie == PcieLink{.generation = 3, .width = 8});
  CHECK(link(s, "socket0", "socket1").bandwidth == 10_GBps);  // Skylake
  CHECK(s.root_complex_payload == 64);
  // 100 Gb/s is less than the 105.9 Gb/s of the slot
  CHECK(link(s, "pci-0000:10:00.0", "net0").bandwidth == 100_Gbps);
}

TEST_CASE("nccl topology: version 2, AMD sockets, a width of 0 and NICs without a speed are read as NCCL does") {
  std::string xml = std::regex_replace(small, std::regex("GenuineIntel"), "AuthenticAMD");
  xml = std::regex_replace(xml, std::regex("version=\"1\""), "version=\"2\"");
  xml = std::regex_replace(xml, std::regex("link_width=\"8\""), "link_width=\"0\"");
  xml = std::regex_replace(xml, std::regex("speed=\"100000\""), "speed=\"-1\"");
  const Server s = read_nccl_topology(xml);
  CHECK(link(s, "socket0", "socket1").bandwidth == 16_GBps);
  CHECK(link(s, "socket1", "gpu1").pcie->width == 16);
  CHECK(link(s, "pci-0000:10:00.0", "net0").bandwidth == 10_Gbps);
  CHECK(s.root_complex_payload == 0);
}

TEST_CASE("nccl topology: a NIC on a PCIe 4 port of an AMD socket has 154 Gbps each way while both are used, on an Intel one what it has") {
  const std::string intel = with(R"(<gpu dev="1" sm="70" rank="1"/>
    </pci>)",
                                 R"(<gpu dev="1" sm="70" rank="1"/>
    </pci>
    <pci busid="0000:91:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16">
      <nic><net name="cxi0" dev="1" speed="200000" port="1"/></nic>
    </pci>)");
  const std::string amd = std::regex_replace(intel, std::regex("GenuineIntel"), "AuthenticAMD");
  CHECK(link(read_nccl_topology(amd), "socket1", "net1").contention == PeerContention{.nic_duplex_rate = 154_Gbps});
  CHECK(link(read_nccl_topology(amd), "pci-0000:10:00.0", "net0").contention == PeerContention{});
  CHECK(link(read_nccl_topology(intel), "socket1", "net1").contention == PeerContention{});
}

TEST_CASE("nccl topology: all NVSwitches are one, and direct NVLinks count once") {
  const char* to_switches =
      R"(<nvlink target="0000:a0:00.0" count="4" tclass="0x068000"/><nvlink target="0000:a1:00.0" count="5" tclass="0x068000"/>)";
  std::string xml = with(R"(<gpu dev="0" sm="70" rank="0" gdr="1"/>)", nvlinks("0", to_switches));
  const Server switched = read_nccl_topology(xml);
  CHECK(switched.nvswitches == std::vector<std::string>{"nvswitch"});
  CHECK(link(switched, "gpu0", "nvswitch").bandwidth == 9 * BitsPerSecond{20'600'000'000 * 8});

  xml = with(R"(<gpu dev="0" sm="70" rank="0" gdr="1"/>)", nvlinks("0", R"(<nvlink target="0000:81:00.0" count="2" tclass="0x030200"/>)"));
  xml.replace(xml.find(R"(<gpu dev="1" sm="70" rank="1"/>)"), 31,
              nvlinks("1", R"(<nvlink target="0000:11:00.0" count="2" tclass="0x030200"/>)"));
  const Server direct = read_nccl_topology(xml);
  CHECK(link(direct, "gpu0", "gpu1").bandwidth == 2 * BitsPerSecond{20'600'000'000 * 8});
  CHECK(ServerPaths(direct).peer(0, 1).size() == 1);
}

TEST_CASE("nccl topology: two ports of a card share its slot, and a NIC below a socket is virtual") {
  const Server s = read_nccl_topology(with("</nic>", R"(<net name="mlx5_1" dev="1" speed="100000"/></nic>)"));
  CHECK(link(s, "pci-0000:12:00.0", "net1").bandwidth == 100_Gbps);
  CHECK(link(s, "pci-0000:10:00.0", "pci-0000:12:00.0").pcie.has_value());
  const std::string_view bridge = R"(<nic><net name="br0" dev="7" speed="25000"/></nic></cpu>)";
  std::string xml = with("</cpu>", std::string(bridge));  // as a process on each socket found it
  xml.replace(xml.rfind("</cpu>"), 6, bridge);
  CHECK(read_nccl_topology(xml).nics == std::vector<std::string>{"net0"});
  const std::string card = R"(<nic><net name="mlx5_0" dev="0" speed="100000" port="1" gdr="1"/></nic>)";
  const Server virtual_only = read_nccl_topology(xml.replace(xml.find(card), card.size(), ""));
  CHECK(virtual_only.nics == std::vector<std::string>{"net7"});
  CHECK(link(virtual_only, "socket0", "net7").bandwidth == 25_Gbps);
}

TEST_CASE("nccl topology: a server without a NIC is one by itself") {
  const Server s = read_nccl_topology(with(R"(<nic><net name="mlx5_0" dev="0" speed="100000" port="1" gdr="1"/></nic>)", ""));
  CHECK(s.nics == std::vector<std::string>{std::string(no_nic)});
}

TEST_CASE("nccl topology: what a virtual machine does not know of its PCIe links is the third generation with 16 lanes") {
  for (const char* unknown : {"", "Unknown", "Unknown speed"}) {
    CAPTURE(unknown);
    const Server s =
        read_nccl_topology(with(R"(link_speed="8 GT/s" link_width="8")", fmt::format(R"(link_speed="{}" link_width="")", unknown)));
    CHECK(link(s, "socket1", "gpu1").pcie == PcieLink{.generation = 3, .width = 16});
  }
}

TEST_CASE("nccl topology: what is wrong is said with its place, all at once") {
  CHECK(problems_of("<system version=\"1\"><cpu>").find("line 1: is not XML: ") == 0);
  CHECK(problems_of("") != "");
  CHECK(problems_of("<graphs version=\"1\"/>") == "has no element <system>");
  CHECK(problems_of("<system version=\"3\"/>") == "/system/version: must be \"1\" or \"2\", got \"3\"\n/system: has no element <cpu>");
  CHECK(problems_of(with(R"(link_speed="8 GT/s" )", "")) ==
        "/system/cpu[1]/pci[0]: has no link_speed: write \"8.0 GT/s PCIe\" or another generation's");
  CHECK(problems_of(with("8 GT/s\"", "9 GT/s\"")) ==
        "/system/cpu[1]/pci[0]/link_speed: must be 2.5, 5, 8, 16, 32 or 64 GT/s, got \"9 GT/s\"");
  CHECK(problems_of(with(R"(link_width="8")", R"(link_width="7")")) ==
        "/system/cpu[1]/pci[0]/link_width: must be 1, 2, 4, 8, 12 or 16 lanes, got 7");
  CHECK(problems_of(with("speed=\"100000\"", "speed=\"fast\"")) ==
        "/system/cpu[0]/pci[0]/pci[1]/nic[0]/net[0]/speed: must be a whole number, got \"fast\"");
}

TEST_CASE("nccl topology: a cycle, unknown NVLink ends and ten thousand GPUs are refused") {
  CHECK(problems_of(with("0000:81:00.0", "0000:10:00.0")) ==
        "/system/cpu[1]/pci[0]/busid: stands in the file twice, got \"0000:10:00.0\": the tree would have a cycle");
  CHECK(problems_of(with(R"(<gpu dev="0" sm="70" rank="0" gdr="1"/>)",
                         nvlinks("0", R"(<nvlink target="0000:99:00.0" count="2" tclass="0x030200"/>)"))) ==
        "/system/cpu[0]/pci[0]/pci[0]/gpu[0]/nvlink[0]/target: must be the busid of a GPU or an NVSwitch (tclass 0x068000), got "
        "\"0000:99:00.0\"");
  std::string cpus;
  for (int i = 0; i < 10'000; ++i) cpus += "<cpu numaid=\"" + std::to_string(i + 2) + "\" arch=\"x86_64\"/>";
  CHECK(problems_of(with("</system>", cpus + "</system>")).find("/system: has 10002 elements <cpu>, at most 64 are allowed") !=
        std::string::npos);
  std::string many;
  for (int i = 2; i < 10'000; ++i)
    many += "<pci busid=\"g" + std::to_string(i) + "\" class=\"0x0302\" link_speed=\"8 GT/s\" link_width=\"16\"><gpu dev=\"" +
            std::to_string(i) + "\"/></pci>";
  CHECK(problems_of(with("</system>", "<cpu numaid=\"2\">" + many + "</cpu></system>"))
            .find("/gpus: must be between 1 and 1024, got 10000") == 0);
  std::string deep = "<system version=\"1\">";
  for (int i = 0; i < 100'000; ++i) deep += "<pci>";
  CHECK(problems_of(deep) == "elements are nested 100001 deep, at most 64 are allowed");
}

TEST_CASE("nccl topology: only what ends an element counts as its end") {
  const auto nested = [](const std::string& element) {
    std::string text = "<system version=\"1\">";
    for (int i = 0; i < 100'000; ++i) text += element;
    return text;
  };
  for (const std::string element : {"<a b=\"/>\">", "<a b = '\"/>'>", "<a>/>", "<a><![CDATA[</a></a>]]>", "<a><!-- </a></a> -->",
                                    "<a><?x </a></a> ?>", "<a><!DOCTYPE x [</a></a>]>", "<a=\">"}) {
    CAPTURE(element);
    CHECK(problems_of(nested(element)) == "elements are nested 100001 deep, at most 64 are allowed");
  }
  // What the parser would not follow either is its to refuse.
  for (const std::string element : {"<a b>", "<a b=c>", "<a/ >"}) {
    CAPTURE(element);
    CHECK(problems_of(nested(element)).find("is not XML") != std::string::npos);
  }
  std::string flat;
  for (int i = 0; i < 1000; ++i) flat += "<a b='>'/><a></a>";
  CHECK(problems_of(with("</system>", flat + "</system>")) == "");
}

TEST_CASE("nccl topology: a server without a GPU is none") {
  CHECK(problems_of(R"(<system version="1"><cpu numaid="0"><pci busid="n" class="0x020000" link_speed="2.5 GT/s PCIe" link_width="1">)"
                    R"(<nic><net name="m" dev="0" speed="1000" port="1"/></nic></pci></cpu></system>)") ==
        "/system: has no GPU: a server needs at least one <gpu> in a <pci>");
}

TEST_CASE("nccl topology: what is written is read again as a server with the same devices and rates, for every preset") {
  for (const std::string& name : server_presets()) {
    if (name == "sub_node") continue;
    CAPTURE(name);
    const Server s = server_preset(name);
    Server read = read_nccl_topology(to_nccl_topology(s, 100_Gbps));
    read.policy = s.policy;  // which the file does not say
    CHECK(read.sockets.size() == s.sockets.size());
    CHECK(read.pcie_switches.size() == s.pcie_switches.size());
    CHECK(read.gpus.size() == s.gpus.size());
    CHECK(read.nics.size() == s.nics.size());
    CHECK(read.nvswitches.empty() == s.nvswitches.empty());
    CHECK(problems(read).empty());
    // The same GPUs reach one another inside the server.
    const ServerPaths here(s), there(read);
    for (int a = 0; a < s.gpu_count(); ++a)
      for (int b = 0; b < s.gpu_count(); ++b)
        if (a != b) CHECK(here.peer(a, b).empty() == there.peer(a, b).empty());
  }
}

TEST_CASE("nccl topology: a file that is read, written and read again says the same") {
  const Server once = read_nccl_topology(small);
  const Server twice = read_nccl_topology(to_nccl_topology(once, {}));
  CHECK(twice.gpus == once.gpus);
  CHECK(twice.nics == once.nics);
  CHECK(twice.root_complex_payload == once.root_complex_payload);
  CHECK(twice.links.size() == once.links.size());
  CHECK(link(twice, "socket1", "gpu1").pcie == PcieLink{.generation = 3, .width = 8});
  CHECK(link(twice, "socket0", "socket1").bandwidth == 10_GBps);
  CHECK(link(twice, twice.pcie_switches.front(), "net0").bandwidth == 100_Gbps);
}

TEST_CASE("nccl topology: an H100 server is written with its 18 NVLinks of 20.6 GB/s and the rate of its cables") {
  const std::string xml = to_nccl_topology(server_preset("dgx_h100"), 400_Gbps);
  const auto count = [&](const std::string& what) {
    int found = 0;
    for (std::size_t at = xml.find(what); at != std::string::npos; at = xml.find(what, at + 1)) ++found;
    return found;
  };
  CHECK(count("<gpu ") == 8);
  CHECK(count("sm=\"90\"") == 8);
  CHECK(count("count=\"18\" tclass=\"0x068000\"") == 8);
  CHECK(count("speed=\"400000\"") == 8);
  CHECK(count("modelid=\"143\"") == 2);  // 22 GB/s between Sapphire Rapids
  // The rate of one NVLink is the same of V100 and A100: how many a GPU has tells them apart.
  CHECK(to_nccl_topology(server_preset("dgx_a100"), 200_Gbps).find("sm=\"80\"") != std::string::npos);
  CHECK(to_nccl_topology(server_preset("v100_nvlink"), 100_Gbps).find("sm=\"70\"") != std::string::npos);
  CHECK(to_nccl_topology(server_preset("dgx_b200"), 400_Gbps).find("sm=\"100\"") != std::string::npos);
  const std::string one_socket = to_nccl_topology(server_preset("hgx_a100_4"), 200_Gbps);
  CHECK(one_socket.find("sm=\"80\"") != std::string::npos);
  CHECK(one_socket.find("vendor=\"AuthenticAMD\"") != std::string::npos);
  CHECK_THROWS_WITH_AS(to_nccl_topology(server_preset("sub_node"), 400_Gbps),
                       "the server is one GPU with its NIC: there is no topology to write; give \"server\"", InputError);
}
