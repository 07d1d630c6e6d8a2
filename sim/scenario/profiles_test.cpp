#include "sim/scenario/profiles.hpp"

#include "kernels/testing/scratch_folder.hpp"
#include "sim/cases/testing.hpp"
#include "sim/scenario/hardware_fields.hpp"

using namespace weft;

TEST_CASE("the shipped profiles are read, and every number of each has a source") {
  const auto library = ProfileLibrary::beside("");
  CHECK(library.names().size() > 10);
  for (const std::string& name : library.names()) {
    CAPTURE(name);
    const HardwareProfile& profile = library.load(name);
    CHECK(profile.name == name);
    CHECK(problems(profile).empty());
    const Json written = Form<HardwareProfile>::write(profile), otherwise = Form<HardwareProfile>::write(HardwareProfile{});
    for (const auto& field : Form<HardwareProfile>::form().fields)
      if (field.name != "profile" && written.value(field.name, Json()) != otherwise.value(field.name, Json()))
        CHECK_MESSAGE(profile.sources.contains(field.name), field.name);
  }
}

TEST_CASE("ideal is the profile in which nothing costs time but the wire") {
  CHECK(Form<HardwareProfile>::write(ProfileLibrary::beside("").load("ideal")) == Form<HardwareProfile>::write(HardwareProfile{}));
}

TEST_CASE("the eflops_simulator profile gives the paper's 130 us by the derivation it states") {
  // 12 steps of overhead and 3 links of 500 ns; 2 * 63/64 * 256 KiB at 100 Gb/s
  const SimTime overhead = ProfileLibrary::beside("").load("eflops_simulator").send_overhead;
  const SimTime time = 12 * (overhead + 1500_ns) + 516096_B / 100_Gbps;
  CHECK(time.microseconds() == doctest::Approx(130.0).epsilon(1e-4));
}

TEST_CASE("a profile beside the scenario comes before the project's") {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder.path() / "hardware");
  folder.file("hardware/ideal.json", R"({"schema": 1, "send_overhead": {"value": "3us", "source": "a test"}})");
  const auto library = ProfileLibrary::beside(folder.path() / "scenario.json");
  CHECK(library.load("ideal").send_overhead == 3_us);
  CHECK(library.load("ideal").sources.at("send_overhead") == "a test");
  CHECK(library.load("eflops_testbed").first_use > SimTime{});
}

TEST_CASE("a profile that exists and cannot be read is called unreadable, not unknown") {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder.path() / "hardware");
  std::filesystem::create_symlink("p_loop.json", folder.path() / "hardware/p_loop.json");
  CHECK_THROWS_WITH_AS(ProfileLibrary::beside(folder.path() / "scenario.json").load("p_loop"),
                       doctest::Contains("p_loop.json: cannot be read: Too many levels of symbolic links"), InputError);
}

TEST_CASE("a profile whose numbers have no source, or are wrong, is refused") {
  const ScratchFolder folder;
  const auto file = folder.file("p.json", R"({"schema": 1, "send_overhead": "3us", "rendezvous": {"value": "3us", "source": ""},
      "first_use": {"value": 3, "source": "a test"}, "sendoverhead": 1, "wire_efficiency": {"value": 1.5, "source": "a test"}})");
  const std::string at = file.string();
  try {
    read_profile(file);
    FAIL("was read");
  } catch (const InputError& error) {
    CHECK(
        error.problems() ==
        Lines{
            at + ": /sendoverhead: unknown key (did you mean \"send_overhead\"?)",
            at + ": /send_overhead: must be an object {\"value\": a time such as \"500ns\", \"source\": where it comes from}, got \"3us\"",
            at + ": /first_use/value: a bare number has no unit: write a time with s, ms, us, ns or ps, such as \"500ns\"; got 3",
            at + ": /rendezvous/source: must say where the value comes from",
            at + ": /wire_efficiency/value: must be between 0.01 and 1.0, got 1.5"});
  }
}

TEST_CASE("a cost by size of a collective or an algorithm that nothing runs under is refused") {
  const ScratchFolder folder;
  const auto problems_of = [&](const char* collective, const char* algorithm) -> Lines {
    const Json cost = {{"collective", collective}, {"algorithm", algorithm}, {"ranks", 2}, {"size", "1KiB"}, {"factor", 2}};
    const Json profile = {{"schema", 1}, {"cost_by_size", {{"value", Json::array({cost})}, {"source", "a test"}}}};
    const auto file = folder.file("costs.json", profile.dump());
    try {
      read_profile(file);
    } catch (const InputError& error) {
      Lines out;
      for (const std::string& problem : error.problems()) out.push_back(problem.substr(file.string().size() + 2));
      return out;
    }
    return {};
  };
  CHECK(problems_of("allreduce", "nccl_nvls_tree_simple") == Lines{});
  CHECK(problems_of("alltoall", "nccl_ring_ll") == Lines{});
  CHECK(problems_of("alltoall", "nccl_ring") == Lines{});
  CHECK(problems_of("message", "message") == Lines{});
  CHECK(problems_of("latency", "latency") == Lines{});
  CHECK(problems_of("all_reduce", "rign") ==
        Lines{"/cost_by_size/value/0/collective: unknown collective \"all_reduce\" (did you mean \"allreduce\"?); allowed: \"allreduce\", "
              "\"reduce_scatter\", \"allgather\", \"broadcast\", \"reduce\", \"alltoall\", \"barrier\", \"message\", \"latency\", "
              "\"bandwidth\", \"bidirectional_bandwidth\""});
  const auto refused = [&](const char* collective, const char* algorithm, const std::string& start) {
    const Lines found = problems_of(collective, algorithm);
    return found.size() == 1 && found.front().starts_with("/cost_by_size/value/0/algorithm: unknown algorithm " + start);
  };
  CHECK(refused("allreduce", "rign", "\"rign\" (did you mean \"ring\"?); allowed: \"ring\", "));
  CHECK(refused("allreduce", "nccl", "\"nccl\""));  // its costs are by pattern
  CHECK(refused("allreduce", "mpi", "\"mpi\""));    // by what it chooses
  CHECK(refused("broadcast", "halving_doubling", "\"halving_doubling\""));
  CHECK(refused("message", "ring", "\"ring\"; allowed: \"message\""));
}
