#include "sim/cases/describe.hpp"
#include "sim/cases/testing.hpp"
#include "sim/results/progress.hpp"
#include "sim/results/row.hpp"
#include "sim/results/row_notes.hpp"
#include "sim/results/table.hpp"
#include "sim/results/trace_events.hpp"
#include "sim/results/writers.hpp"

#include <set>

#include <unistd.h>

using namespace weft;

namespace {

Row some_row() {
  // 1 MB in 100 us on 4 ranks
  return {.scenario = "first",
          .fabric = "bigraph",
          .algorithm = "ring",
          .ranks = 4,
          .size = 1_MB,
          .time = 100_us,
          .time_p05 = 100_us,
          .time_p95 = 100_us,
          .wire_bytes_per_rank = 1500_KB,
          .messages = 24,
          .steps = 6,
          .max_flows_per_link = 2,
          .most_shared_link = "lower1->upper3",
          .most_shared_step = 5,
          .busiest_link = "upper0->lower1",
          .busiest_link_utilization = 0.5,
          .wall_s = 0.25,
          .bottleneck = 1000_Gbps};
}

// The row's own job, twice as slow as alone, and one that nobody disturbs.
std::vector<JobResult> two_jobs() {
  return {{.name = "workload",
           .algorithm = "ring",
           .ranks = 4,
           .size = 1_MB,
           .iterations = 2,
           .time = 100_us,
           .least = 90_us,
           .most = 110_us,
           .alone = 50_us,
           .wire_bytes_per_rank = 1500_KB,
           .messages = 24,
           .steps = 6},
          {.name = "b",
           .algorithm = "halving_doubling",
           .ranks = 2,
           .size = 2_MB,
           .start = 5_us,
           .time = 200_us,
           .least = 200_us,
           .most = 200_us,
           .alone = 200_us,
           .wire_bytes_per_rank = 2_MB,
           .messages = 4,
           .steps = 2}};
}

struct Run {
  std::vector<Case> cases;
  std::vector<Result> results;
};

// The good scenario's rows, "hdrm" twice as fast as "ring".
Run some_run(const Json& json) {
  Run out{.cases = cases_of(json), .results = {}};
  for (const RowRequest& request : rows_of(out.cases)) {
    Row row = some_row();
    row.algorithm = label(*request.algorithm);
    row.size = request.size;
    if (row.algorithm == "hdrm") row.time = 50_us;
    out.results.push_back({.request = request, .row = row});
  }
  return out;
}

}  // namespace

TEST_CASE("busbw has nccl-tests' factors") {
  Row row = some_row();
  CHECK(algbw_GBps(row) == doctest::Approx(10.0));
  CHECK(busbw_GBps(row) == doctest::Approx(15.0));  // 2 * 3/4
  for (const auto collective : {Collective::reduce_scatter, Collective::allgather, Collective::alltoall})
    CHECK(busbw_factor(collective, 4) == 0.75);
  for (const auto collective : {Collective::broadcast, Collective::reduce}) CHECK(busbw_factor(collective, 4) == 1.0);
  row.time = SimTime{};  // nothing to move: no bandwidth, not an infinite one
  CHECK(busbw_GBps(row) == 0.0);
}

TEST_CASE("bus bandwidth above the bottleneck link is called out, unless switches aggregate") {
  Row row = some_row();
  row.bottleneck = 120_Gbps;  // 15 GB/s: just what it has
  CHECK(too_fast(row) == "");
  row.bottleneck = 100_Gbps;
  CHECK(too_fast(row) ==
        "ring 1MB on bigraph (4 ranks): busbw 15.0000 GB/s passes the 12.5000 GB/s of the bottleneck link; this is a bug in the model");
  row.aggregates = true;
  CHECK(too_fast(row) == "");
}

TEST_CASE("a rank of an all-reduce behind a slow cable of a graph need send the message no more than once") {
  Row row = some_row();
  row.fabric = "graph";
  row.bottleneck = 80_Gbps;  // 10 GB/s, which is algbw; busbw is 15
  CHECK(too_fast(row) == "");
  row.bottleneck = 79_Gbps;
  CHECK(too_fast(row) != "");
  row.compressed = CompressionResult{};  // sends less
  CHECK(too_fast(row) == "");
  row.compressed.reset();
  row.collective = Collective::allgather;  // 10 x 3/4
  row.bottleneck = 60_Gbps;
  CHECK(too_fast(row) == "");
  row.bottleneck = 59_Gbps;
  CHECK(too_fast(row) != "");
}

TEST_CASE("results.csv has the contract's columns, then the swept pointers") {
  Json json = good_scenario();
  json["sweep"] = Json::parse(R"([{"/seed": 1}, {"/fabric/link": {"bandwidth": "1Gbps", "latency": "1us"}}])");
  const Run run = some_run(json);
  const std::string csv = to_csv(run.results, run.cases);
  CHECK(csv.substr(0, csv.find('\n')) ==
        "scenario,fabric,network,algorithm,collective,ranks,size_bytes,dtype,time_us,algbw_GBps,busbw_GBps,wire_bytes_per_rank,messages,"
        "steps,"
        "max_flows_per_link,busiest_link,busiest_link_utilization,wall_s,time_us_p05,time_us_p95,runs,limiting_link,limiting_share,model,"
        "engine,compression,batch_per_gpu,"
        "compute_us,exposed_us,samples_per_s,scaling_efficiency,drops,marks,retransmitted,collisions,aggregated_share,queue_max_bytes,"
        "unproved,"
        "/seed,/fabric/link");
  CAPTURE(csv);
  CHECK(csv.find("\nfirst,bigraph,flow,ring,allreduce,4,262144,float32,100.0,2.62144,3.9321600000000005,1500000,24,6,2,upper0->lower1,0.5,"
                 "0.25,100.0,100.0,1,,,,,,,,,,,,,,,,,,1,\n") != csv.npos);
  CHECK(csv.find(",0.25,100.0,100.0,1,,,,,,,,,,,,,,,,,,,\"{\"\"bandwidth\"\":\"\"1Gbps\"\",\"\"latency\"\":\"\"1us\"\"}\"\n") != csv.npos);
}

TEST_CASE("jobs that share the network have a line each, in every form of the results") {
  Run run = some_run(good_scenario());
  run.results.resize(1);
  run.results[0].row->jobs = two_jobs();
  const std::string csv = to_csv(run.results, run.cases);
  CAPTURE(csv);
  CHECK(csv.find(",queue_max_bytes,unproved,job,start_us,iterations,least_us,most_us,alone_us,slowdown\n") != csv.npos);
  CHECK(csv.find(",0.25,100.0,100.0,1,,,,,,,,,,,,,,,,,,workload,0.0,2,90.0,110.0,50.0,2.0\n") != csv.npos);
  CHECK(csv.find("\nfirst,bigraph,flow,halving_doubling,allreduce,2,2000000,float32,200.0,10.0,10.0,2000000,4,2,") != csv.npos);
  CHECK(csv.find(",0.25,,,1,,,,,,,,,,,,,,,,,,b,5.0,1,200.0,200.0,200.0,1.0\n") != csv.npos);
  // Speeds 1/2 and 1: (3/2)^2 / (2 (1/4 + 1))
  CHECK(fairness(two_jobs()) == doctest::Approx(0.9));
  const Json row = Json::parse(to_json(run.results, run.cases))["rows"][0];
  CHECK(row["fairness"] == fairness(two_jobs()));
  CHECK(row["jobs"][0]["slowdown"] == 2.0);
  CHECK(row["jobs"][1]["size_bytes"] == 2000000);
  const std::string table = to_table(run.results, run.cases);
  CHECK(table.find("#   fairness of slowdowns (Jain's index): 0.900\n") != table.npos);
}

TEST_CASE("a table says what an algorithm chose for the size, once") {
  Run run = some_run(good_scenario());
  run.results.resize(1);
  Row& row = *run.results[0].row;
  row.algorithm = "mpi", row.chosen = "halving_doubling";
  CHECK(to_table(run.results, run.cases).find("  mpi: halving_doubling  ") != std::string::npos);
  row.algorithm = "two_level(group=2)", row.chosen = "two_level(group=2,inner=ring)";
  CHECK(to_table(run.results, run.cases).find("  two_level(group=2,inner=ring)  ") != std::string::npos);
}

TEST_CASE("what packets met is told where something waited, and in results.json in any case") {
  Run run = some_run(good_scenario());
  run.results.resize(1);
  run.results[0].row->packet = PacketSummary{.packets = 7};
  CHECK(to_table(run.results, run.cases).find("packets:") == std::string::npos);
  PacketSummary busy{
      .packets = 9, .resent = 2, .marked = 3, .pauses = 1, .fullest_switch = "leaf0", .switch_high_water = 12_KB, .queues_in_use = 1};
  busy.queues = {{.link = "leaf0->spine1", .high_water = 8_KB, .marked = 3, .pauses = 1, .paused = 2_us}};
  run.results[0].row->packet = busy;
  const std::string table = to_table(run.results, run.cases);
  CAPTURE(table);
  CHECK(table.find("#   packets: 9 sent, 2 retransmitted, 3 marked; 1 pause; longest queue 8KB at leaf0->spine1; fullest switch: leaf0, "
                   "12KB\n") != table.npos);
  const Json packet = Json::parse(to_json(run.results, run.cases))["rows"][0]["packet"];
  CHECK(packet["marked"] == 3);
  CHECK(packet["longest_queues"][0]["high_water_bytes"] == 8000);
}

TEST_CASE("what switches did is a line of the table, and in results.json by job and by switch") {
  Run run = some_run(good_scenario());
  run.results.resize(1);
  InNetworkSummary& s = run.results[0].row->in_network.emplace();
  s.places = 64;
  s.jobs = {{.name = "workload", .servers = 2, .packets = 300, .aggregated = 1, .sent = 600, .largest_window = 40},
            {.name = "b",
             .servers = 1,
             .packets = 100,
             .aggregated = 0.5,
             .sent = 200,
             .resent = 7,
             .timeouts = 2,
             .marked = 3,
             .largest_window = 50}};
  s.switches = {{.name = "leaf0", .places = 64, .most_in_use = 5, .packets = 700, .added = 700},
                {.name = "leaf1", .places = 64, .most_in_use = 64, .packets = 100, .added = 60, .collided = 40}};
  // 350 of 400 packets, 40 of 800.
  const std::string table = to_table(run.results, run.cases);
  CAPTURE(table);
  CHECK(table.find("#   switches: at most 64 of 64 aggregators in use, in leaf1; 5.00 % collided, 87.50 % of 400 packets fully aggregated; "
                   "7 of 800 retransmitted, 2 timeouts, 3 marked, largest window 50 packets\n") != table.npos);
  const Json json = Json::parse(to_json(run.results, run.cases))["rows"][0]["in_network"];
  CHECK(json["jobs"][1]["aggregated_share"] == 0.5);
  CHECK(json["switches"][1]["collided"] == 40);

  s.switches.clear();
  s.left_out = "queues";
  CHECK(to_table(run.results, run.cases)
            .find("#   switches: 87.50 % of packets expected to be fully aggregated, 64 aggregators each; without queues\n") !=
        std::string::npos);
}

TEST_CASE("results.json says where the rows come from, and what failed") {
  Run run = some_run(good_scenario());
  run.results[1].row.reset();
  run.results[1].failure = "no";
  const Json json = Json::parse(to_json(run.results, run.cases));
  CHECK(json["kind"] == "simulated");
  CHECK(json["order"] == "own_step");
  CHECK(json["weft"].contains("commit"));
  CHECK(json["cases"][0]["scenario"]["fabric"]["ecmp"]["seed"] == 1);
  CHECK(json["cases"][0]["scenario"]["workload"]["ranks"] == 32);
  CHECK(json["rows"].size() == 3);
  CHECK(json["rows"][0]["busbw_GBps"] == busbw_GBps(*run.results[0].row));
  CHECK(json["failed"] == Json::parse(R"([{"case": 0, "algorithm": "hdrm", "size_bytes": 262144, "why": "no"}])"));
}

TEST_CASE("the table marks the fastest of a size and says what was in effect") {
  const Run run = some_run(good_scenario());
  const std::string table = to_table(run.results, run.cases);
  CHECK(table.find("fabric bigraph, 8 switches x 4 nodes; host_link 100Gbps 500ns, fabric_link 100Gbps 500ns; ecmp hash (seed 1)") !=
        table.npos);
  CHECK(table.find("hardware ideal, network flow, order own_step, seed 1") != table.npos);
  CHECK(table.find("# hdrm: step 5 puts 2 flows on lower1->upper3\n") != table.npos);
  std::size_t marks = 0, rows = 0;
  for (std::size_t at = 0; at < table.size(); at = table.find('\n', at) + 1) {
    const std::string line = table.substr(at, table.find('\n', at) - at);
    if (line.starts_with("#")) continue;
    ++rows;
    CHECK((line.find("hdrm") != line.npos) == (line.find('*') != line.npos));
    marks += line.find('*') != line.npos ? 1U : 0U;
  }
  CHECK(rows == 4);
  CHECK(marks == 2);
}

TEST_CASE("beside the profile stand those of its values that the scenario gives itself, up to five") {
  Json json = good_scenario();
  json["hardware"] = Json::parse(R"({"profile": "ideal", "send_overhead": "20us", "receive_overhead": "0s"})");
  Run run = some_run(json);
  CHECK(to_table(run.results, run.cases).find("#   hardware ideal (send_overhead 20us), network flow, ") != std::string::npos);
  json["hardware"].update(Json::parse(R"({"first_use": "1us", "rendezvous": "1us", "reduce_launch": "1us", "call_overhead": "1us",
                                          "wire_efficiency": 0.9, "receive_overhead": "1us"})"));
  run = some_run(json);
  const std::string table = to_table(run.results, run.cases, {.width = 1000});
  CAPTURE(table);
  CHECK(table.find(
            "#   hardware ideal (call_overhead 1us, first_use 1us, receive_overhead 1us, reduce_launch 1us, rendezvous 1us and 2 more),") !=
        table.npos);
}

TEST_CASE("the kernels of a compression are a part of a step by themselves, where they cannot be hidden") {
  Run run = some_run(good_scenario());
  run.results.resize(1);
  Row& row = *run.results[0].row;
  row.training = TrainingResult{.model = "m", .engine = "ddp", .compute = 60_us, .exposed = 40_us, .stragglers = 5_us};
  row.compressed = CompressionResult{.compression = "gs_sgd", .kernels = 20_us};
  const auto table = [&] { return to_table(run.results, run.cases, {.width = 1000}); };
  CAPTURE(table());
  CHECK(table().find(
            "breakdown: compute 0.060 ms, compression kernels 0.020 ms, exposed communication 0.015 ms, waiting for other ranks 0.005 "
            "ms, ") != std::string::npos);
  CHECK(table().find("gs_sgd: compression kernels: up to 0.020 ms per rank; ") != std::string::npos);
  row.compressed->compression = "gs_sgd(kernels=cpu_core)";
  CHECK(table().find("breakdown: compute 0.060 ms, exposed communication 0.035 ms, ") != std::string::npos);
}

TEST_CASE("where messages of other algorithms cost nothing they are said to look faster than NCCL than they are") {
  const auto said = [](std::vector<std::string> algorithms, SimTime overhead) {
    Run run = some_run(good_scenario());
    Scenario& s = run.cases.front().scenario;
    s.hardware.name = "of_nccl", s.hardware.network_overhead = overhead, s.hardware.call_overhead = 3_us;
    s.workload.algorithms.clear();
    for (std::string& name : algorithms) s.workload.algorithms.push_back({.name = std::move(name)});
    return to_table(run.results, run.cases).find("# hardware of_nccl has latencies for NCCL only: ") != std::string::npos;
  };
  CHECK(said({"ring", "nccl"}, {}));
  CHECK_FALSE(said({"ring", "nccl"}, 1_us));
  CHECK_FALSE(said({"ring", "halving_doubling"}, {}));
  CHECK_FALSE(said({"nccl", "nccl"}, {}));
}

TEST_CASE("of rows that stand for several runs the fastest is marked only where its spread keeps clear of all others") {
  Json json = good_scenario();
  json["repeat"] = Json::parse(R"({"runs": 3, "vary": ["start"]})");
  Run run = some_run(json);
  for (Result& result : run.results) {
    Row& row = *result.row;
    row.runs = 3;
    row.time_p05 = row.time - 5_us, row.time_p95 = row.time + 5_us;
    row.times = {row.time_p05, row.time, row.time_p95};
  }
  const std::string clear = to_table(run.results, run.cases);
  CAPTURE(clear);
  CHECK(clear.find("#   repeated: 3 runs (seed 1), each with other starts within 1ns\n") != clear.npos);
  CHECK(clear.find("hdrm        50.00 *   45.00 to 55.00") != clear.npos);
  CHECK(clear.find("# * fastest of its case and size: its p95 lies below the p05 of all others\n") != clear.npos);
  for (Result& result : run.results) result.row->time_p95 = 95_us;  // where "ring" has runs too
  const std::string touching = to_table(run.results, run.cases);
  CHECK(touching.find("50.00 *") == touching.npos);
  const Json row = Json::parse(to_json(run.results, run.cases))["rows"][0];
  CHECK(row["runs"] == 3);
  CHECK(row["times_us"] == Json::parse("[95.0, 100.0, 105.0]"));
}

TEST_CASE("no line of a table is wider than the terminal, and a comparison of many algorithms goes on below") {
  Json json = good_scenario();
  json["workload"]["algorithm"] = Json::parse(R"(["ring", "hdrm", "halving_doubling", {"name": "ring", "channels": 4, "segment": "128KiB"},
      {"name": "hierarchical_ring", "group": 4}, "recursive_doubling", "double_binary_tree"])");
  json["sweep"] = Json::parse(R"({"/fabric/link/latency": ["500ns", "1us"], "/placement": ["linear", "random"]})");
  const Run run = some_run(json);
  for (const std::size_t width : {80U, 100U, 200U}) {
    const std::string table = to_table(run.results, run.cases, {.width = width});
    for (std::size_t at = 0; at < table.size(); at = table.find('\n', at) + 1) {
      const std::string line = table.substr(at, table.find('\n', at) - at);
      CAPTURE(line);
      CHECK(line.size() <= width);
    }
  }
}

TEST_CASE("markdown has a heading and a table for each case") {
  const Run run = some_run(good_scenario());
  const std::string text = to_markdown(run.results, run.cases);
  CAPTURE(text);
  CHECK(text.starts_with("### first\n\n- fabric bigraph, 8 switches x 4 nodes;"));
  CHECK(text.find("\n| size | algorithm | time (us) | algbw (GB/s) |") != text.npos);
  CHECK(text.find(" | hdrm | **50.00** | ") != text.npos);
}

TEST_CASE("cases are compared side by side") {
  Json json = good_scenario();
  json["sweep"] = Json::parse(R"([{}, {"/fabric/switches": 16, "/workload/algorithm": ["ring"]}])");
  const Run run = some_run(json);
  const std::string table = to_table(run.results, run.cases);
  CHECK(table.find("bigraph, 8 switches x 4 nodes         100.00          50.00*") != table.npos);
  CHECK(table.find("bigraph, 16 switches x 4 nodes        100.00              -") != table.npos);
}

TEST_CASE("cases with long names are numbered in a comparison, and told by what differs") {
  Json json = good_scenario();
  json["sweep"] = Json::parse(R"([{"/fabric/link/bandwidth": "100Gbps", "/hardware": "eflops_testbed", "/placement": "linear"},
                                  {"/fabric/link/bandwidth": "200Gbps", "/hardware": "eflops_simulator", "/placement": "linear"}])");
  json["workload"]["algorithm"] = "ring";
  const Run run = some_run(json);
  const std::string table = to_table(run.results, run.cases, {.width = 80});
  CAPTURE(table);
  CHECK(table.find("#\n# case 1: fabric/link/bandwidth=100Gbps, hardware=eflops_testbed\n"
                   "# case 2: fabric/link/bandwidth=200Gbps, hardware=eflops_simulator\n") != table.npos);
  CHECK(table.find("  case 1        100.00\n  case 2        100.00\n") != table.npos);
}

TEST_CASE("below a row stands what would be gained if what limits it were twice as fast") {
  Run run = some_run(good_scenario());
  Row& row = *run.results[0].row;
  row.what_if = {{.twice_as_fast = "leaf3->spine3", .time = 82_us, .change = -0.18},
                 {.twice_as_fast = "all 64 links between leaf* and spine*", .time = 1500_us, .change = 14},
                 {.twice_as_fast = "all 128 links", .time = 100_us, .change = -0.0004}};
  const std::string table = to_table(run.results, run.cases);
  CAPTURE(table);
  CHECK(table.find("#   with leaf3->spine3 twice as fast: 82.00 us (-18.0 %)\n") != table.npos);
  CHECK(table.find("#   with all 64 links between leaf* and spine* twice as fast: 1.500 ms (+1400.0 %)\n") != table.npos);
  CHECK(table.find("#   with all 128 links twice as fast: 100.00 us (no change)\n") != table.npos);
  const Json json = Json::parse(to_json(run.results, run.cases))["rows"][0]["what_if"];
  CHECK(json.at(0) == Json::parse(R"({"twice_as_fast": "leaf3->spine3", "time_us": 82.0, "change": -0.18})"));
}

TEST_CASE("traffic of which no flow ended within the run has no rate") {
  Row row = some_row();
  row.traffic = {{.streams = 1}, {.streams = 2, .count = 3, .bytes = 6_MB, .busy = 1500_us}};
  CHECK(notes_of(row) == std::vector<std::string>{"traffic 0: no flow of 1 stream has ended within the run",
                                                  "traffic 1: 3 flows of 2 streams ended, 4.000 GB/s each on average"});
}

TEST_CASE("a trace is JSON with the events of every row") {
  std::vector<Result> results(2);
  results[0].trace = trace_events({}, 0, "ring \"1\"");
  results[1].trace = trace_events({}, 1, "hdrm");
  const Json trace = Json::parse(to_trace(results, cases_of(good_scenario())));
  REQUIRE(trace["traceEvents"].size() == 4);
  CHECK(trace["traceEvents"][0]["args"]["name"] == "ring \"1\"");
  CHECK(trace["traceEvents"][2]["args"]["name"] == "hdrm");
}

TEST_CASE("the progress bar fills up and keeps to its width") {
  CHECK(progress_line(0, 4, "x", 79) == "[------------------------] 0/4  x");
  CHECK(progress_line(2, 4, "x", 79) == "[############------------] 2/4  x");
  CHECK(progress_line(4, 4, std::string(200, 'x'), 79).size() == 79);
}

TEST_CASE("a row under way is shown with the time it has taken and the time it has come to") {
  CHECK(row_under_way("first: ring, 1MiB", std::chrono::seconds(59), {}) == "59 s: first: ring, 1MiB");
  CHECK(row_under_way("first: ring, 1MiB", std::chrono::seconds(62), {.now = 5250_us}) ==
        "1:02 min, 5.250 ms simulated: first: ring, 1MiB");
  // A quarter of the work in 62 s: the rest takes three times as long; 310 million events are 5 million a second.
  CHECK(row_under_way("first", std::chrono::seconds(62), {.now = 5250_us, .events = 310'000'000, .share = 0.25}) ==
        "1:02 min, 25 %, 3:06 min left, 5.0 M events/s, 5.250 ms simulated: first");
  CHECK(row_under_way("first", std::chrono::seconds(0), {.now = {}, .events = 10, .share = 0.5}) == "0 s, 50 %: first");
}

TEST_CASE("the slowest endpoint of a graph is found over all its cables") {
  GraphFabric graph{
      .nodes = {"a", "b"}, .switches = {"s"}, .links = {{"a", "s", 10_Gbps, 1_us}, {"a", "s", 10_Gbps, 1_us}, {"s", "b", 25_Gbps, 1_us}}};
  CHECK(slowest_endpoint(graph) == 20_Gbps);
  CHECK(slowest_endpoint(Star{.nodes = 2, .host_link = {7_Gbps, 1_us}}) == 7_Gbps);
}
