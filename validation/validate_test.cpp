#include "models/training/read.hpp"
#include "sim/cases/cases.hpp"
#include "sim/scenario/profiles.hpp"
#include "validation/classes.hpp"
#include "validation/fit/without_model.hpp"
#include "validation/refit.hpp"
#include "validation/testing.hpp"
#include "validation/validate_text.hpp"

#include <sstream>

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::literals;

namespace {

const std::string reference_text = R"({
  "name": "made", "about": "Made up.", "scenario": "pair.json", "measurements": ["data.csv"],
  "claims": [{"what": "twice the rate is faster", "published": "up to 2x", "of": {"algorithm": "ring", "set": {"/fabric/link/bandwidth": "200Gbps"}},
              "against": {"algorithm": {"name": "ring", "pieces": 1}}, "sizes": ["1KiB", "1MB"], "largest_only": true, "at_least": 1.5, "at_most": 2}]})";

struct Made {
  ScratchFolder folder;
  std::filesystem::path file;
  Made() {
    folder.file("pair.json", pair_scenario);
    // 2 us and 80 ps a byte are right; the second is 10 % wrong and held out.
    folder.file("data.csv", "ranks,collective,size_bytes,time_us\n2,allreduce,1000000,82\n2,allreduce,2000000,180.0\n");
    file = folder.file("made.json", reference_text);
  }
};

}  // namespace

TEST_CASE("validate: a reference's points and claims are judged") {
  const Made made;
  const Judgement judged = judge(read_reference(made.file));
  CHECK(judged.fitted.points == 1);
  CHECK(judged.fitted.median == doctest::Approx(0).epsilon(0.001));
  CHECK(judged.held_out.points == 1);
  CHECK(judged.held_out.median == doctest::Approx(0.1));
  REQUIRE(judged.claims.size() == 1);
  CHECK(judged.claims[0].highest == doctest::Approx(82.0 / 42));
  CHECK(judged.claims[0].holds);
}

TEST_CASE("validate: files of measurements say behind their names what they do not say inside, as those of weft calibrate") {
  const Made made;
  made.folder.file("data.csv", "size_bytes,time_us\n1000000,82\n2000000,180.0\n");
  std::string text = reference_text;
  text.replace(text.find("data.csv"), 8, "data.csv:ranks=2,nodes=2,collective=allreduce");
  made.folder.file("made.json", text);
  const Judgement judged = judge(read_reference(made.file));
  REQUIRE(judged.points.size() == 2);
  CHECK(judged.points[0].setup.ranks == 2);
  CHECK(judged.points[0].setup.nodes == 2);
  CHECK(judged.points[0].setup.collective == "allreduce");
}

TEST_CASE("validate: a line that cannot be used fails, or is skipped and told where that is asked for") {
  const Made made;
  const auto data = made.folder.file("data.csv", "ranks,collective,size_bytes,time_us\n2,allreduce,1000000,82\n2,allreduce,2000000,soon\n");
  std::ostringstream out, err;
  ValidateArguments arguments{.references = {made.file.string()}};
  CHECK(problems_of([&] { validate_command(arguments, out, err); }).front().starts_with(data.string() + ":3:"));
  arguments.skip_bad = true;
  CHECK(validate_command(arguments, out, err) == 0);
  CHECK(err.str().starts_with("weft: skipped " + data.string() + ":3:"));
}

TEST_CASE("validate: what is wrong in each reference, and then in the measurements of each, is said at once") {
  const Made made;
  std::ostringstream out, err;
  const auto a = made.folder.file("a.json", R"({"name": 3})"), b = made.folder.file("b.json", "[]");
  const Lines unread = problems_of([&] { validate_command({.references = {a.string(), b.string(), made.file.string()}}, out, err); });
  CHECK(unread.front().starts_with(a.string()));
  CHECK(unread.back().starts_with(b.string()));
  const auto other = made.folder.file("other.csv", "ranks,collective,size_bytes,time_us\n2,allreduce,1000000,never\n");
  const auto data = made.folder.file("data.csv", "ranks,collective,size_bytes,time_us\n2,allreduce,1000000,soon\n");
  std::string text = reference_text;
  text.replace(text.find("data.csv"), 8, "other.csv");
  const auto second = made.folder.file("second.json", text);
  const Lines unmeasured = problems_of([&] { validate_command({.references = {made.file.string(), second.string()}}, out, err); });
  REQUIRE(unmeasured.size() == 2);
  CHECK(unmeasured[0].starts_with(data.string() + ":2:"));
  CHECK(unmeasured[1].starts_with(other.string() + ":2:"));
  CHECK(out.str().empty());
}

TEST_CASE("validate: a profile is taken from the folder that the reference names, also where a scenario does not look for it") {
  const Made made;
  made.folder.file("ideal.json", R"({"schema": 1, "send_overhead": {"value": "1ms", "source": "made up"}})");
  std::string text = reference_text;
  text.replace(text.find("pair.json\""), 10, "pair.json\", \"profile\": \"ideal.json\"");
  made.folder.file("made.json", text);
  const Judgement judged = judge(read_reference(made.file));
  REQUIRE(judged.points.size() == 2);
  for (const double us : judged.simulated_us) CHECK(us > 1000);
}

TEST_CASE("validate: a profile that has not been fitted yet is missed by its name, with what fits it") {
  const Made made;
  std::string text = reference_text;
  text.replace(text.find("pair.json\""), 10, "pair.json\", \"profile\": \"later.json\"");
  made.folder.file("made.json", text);
  const std::string said = problems_of([&] { judge(read_reference(made.file)); }).front();
  CHECK(said.find("later.json yet: weft validate --refit fits it") != std::string::npos);
}

TEST_CASE("validate: a held-out error that grows fails, and one that is not committed") {
  const Made made;
  std::vector<Judgement> judged = {judge(read_reference(made.file))};
  const std::string baseline = baseline_text(judged);
  CHECK(grown_errors(judged, baseline).empty());
  judged[0].held_out.median = 0.11;
  CHECK(grown_errors(judged, baseline) == Lines{"made: the held-out error grew, median: 11.0 % was 10.0 %"});
  CHECK(grown_errors(judged, "{}") == Lines{"made: is not in baseline.json"});
  judged[0].held_out.median = 0.1;
  judged[0].claims[0].holds = false;
  CHECK(grown_errors(judged, baseline) == Lines{"made: no longer so: " + judged[0].claims[0].claim.what});
}

TEST_CASE("validate: the summary goes between its markers") {
  const Made made;
  const std::vector<Judgement> judged = {judge(read_reference(made.file))};
  const std::string page = "before\n<!-- validate:begin -->\nstale text\n<!-- validate:end -->\nafter\n";
  const std::string renewed = with_summary(page, judged);
  CHECK(renewed.starts_with("before\n<!-- validate:begin -->\n| reference"));
  CHECK(renewed.find("stale text") == renewed.npos);
  CHECK(renewed.find("| made | twice the rate is faster | up to 2x | up to 1.95x |  | yes |") != renewed.npos);
  CHECK(renewed.ends_with("<!-- validate:end -->\nafter\n"));
  CHECK(with_summary(renewed, judged) == renewed);
  CHECK_THROWS_AS(with_summary("no markers", judged), InputError);
}

TEST_CASE("validate: what it comes to goes between its markers on the first page") {
  const Made made;
  const std::vector<Judgement> judged = {judge(read_reference(made.file))};
  const std::string renewed = with_short_summary("<!-- errors:begin -->\nstale\n<!-- errors:end -->\n", judged, {});
  CHECK(renewed ==
        "<!-- errors:begin -->\n| predicted | points | median error | 95th percentile |\n|---|---:|---:|---:|\n"
        "| sizes between those fitted | 1 | 10.0 % | 10.0 % |\n<!-- errors:end -->\n");
  CHECK_THROWS_AS(with_short_summary("no markers", judged, {}), InputError);
}

TEST_CASE("validate: whole scales are held out by rule, the others fitted; beside them are the errors without a model") {
  const Made made;
  made.folder.file("data.csv",
                   "nodes,ranks,collective,size_bytes,time_us\n2,2,allreduce,1000000,82\n2,2,allreduce,2000000,162\n"
                   "2,2,allreduce,4000000,322\n4,4,allreduce,1000000,126\n");
  CHECK(summarise(judge(read_reference(made.file)).without_model).points == 1);
  std::string text = reference_text;
  text.insert(text.find("\"claims\""), "\"hold_out\": {\"nodes\": [4]}, ");
  const Judgement judged = judge(read_reference(made.folder.file("scales.json", text)));
  CHECK(judged.fitted.points == 3);
  CHECK(judged.held_out.points == 1);
  CHECK(judged.held_out.median == doctest::Approx(0).epsilon(0.001));  // six steps of 1 us and 20 us of cable
  // The bus bandwidth of 1 MB on two ranks, of which four send half as much again each.
  CHECK(judged.without_model == std::vector<std::optional<double>>{{}, {}, {}, 1.5 * 82 / 126 - 1});
}

TEST_CASE("validate: a rule that holds out nothing is refused, with the values that there are") {
  const Made made;
  const auto problems_with = [&](const std::string& rule) {
    std::string text = reference_text;
    text.insert(text.find("\"claims\""), "\"hold_out\": " + rule + ", ");
    const auto file = made.folder.file("idle.json", text);
    return problems_of([&] { judge(read_reference(file)); });
  };
  CHECK(problems_with(R"({"ranks": [2, 8], "collectives": ["bcast"]})") ==
        Lines{"made: /hold_out/ranks: 8 is of no measurement; there are [2]",
              "made: /hold_out/collectives: \"bcast\" is of no measurement; there are [\"allreduce\"]"});
  CHECK(problems_with(R"({"systems": ["x"]})") == Lines{"made: /hold_out/systems: \"x\" is of no measurement; there are [\"\"]"});
}

TEST_CASE("validate: a reference is fitted again as it says, and the profile is judged") {
  const Made made;
  std::filesystem::create_directories(made.folder / "hardware");
  std::string text = reference_text;
  text.insert(text.find("\"claims\""),
              R"("profile": "hardware/made.json", "fit": {"parameters": ["send_overhead", "wire_efficiency"], "start": "ideal"}, )");
  const Reference reference = read_reference(made.folder.file("fitted.json", text));
  std::ostringstream out, err;
  refit(reference, out, err);
  CHECK(out.str().starts_with("# made: fitted again"));
  CHECK(judge(reference).fitted.median < 0.02);  // what is usual of hosts pulls where points are as few
  CHECK(read_file(made.folder / "hardware" / "made.json").find("weft validate --refit validation/references/made.json") !=
        std::string::npos);
}

TEST_CASE("validate: a class is the middle of its systems, or half-way to it, each of which is predicted from the others") {
  HardwareProfile a, b, c;
  a.send_overhead = 1_us, b.send_overhead = 5_us, c.send_overhead = 2_us;
  a.wire_efficiency = 0.5;
  CHECK(middle_of({a, b, c}).send_overhead == 2_us);
  CHECK(middle_of({a, b}).send_overhead == 1_us);  // the lower of two
  CHECK(middle_of({a, b, c}).wire_efficiency == 1);
  CHECK(middle_of({a, b, c}, {{}, {}, {"send_overhead"}}).send_overhead == 1_us);  // of 1 and 5: the third does not know
  CHECK(middle_of({a, b, c}, {{"send_overhead"}, {"send_overhead"}, {"send_overhead"}}).send_overhead == 2_us);
  CHECK(middle_of({a, b, c}, {{"send_overhead"}, {}, {"send_overhead"}}).send_overhead == 2_us);  // one alone of three counts no more
  CHECK(middle_of({a, b}, {{"send_overhead"}, {}}).send_overhead == 5_us);                        // of two it does
  CHECK_THROWS_AS(middle_of({}), InputError);
  a.cost_by_size = {{"message", "message", 2, 1_KiB, 4.0}, {"allreduce", "ring", 2, 1_KiB, 9.0}};
  b.cost_by_size = {{"message", "message", 2, 4_KiB, 2.0}};
  const HardwareProfile middle = middle_of({a, b, c});
  REQUIRE(middle.cost_by_size.size() == 2);                    // of messages; those of calls are of one system
  CHECK(middle.cost_by_size[0].factor == doctest::Approx(2));  // of 4, 2 and 1

  a.handshake_threshold = 64_KiB, b.handshake_threshold = 16_KiB, c.handshake_threshold = 32_KiB;
  const HardwareProfile mean = mean_of({a, b, c});
  CHECK(mean.send_overhead == 2'150_ns);  // the third root of 10, three digits of it
  CHECK(mean.wire_efficiency == doctest::Approx(0.794));
  CHECK(mean.handshake_threshold == 32_KiB);  // a library has a threshold or another, none in between
  REQUIRE(mean.cost_by_size.size() == 2);
  CHECK(mean.cost_by_size[0].factor == doctest::Approx(2));  // of 4, 2 and 1
  CHECK(mean_of({b, c}).cost_by_size[0].factor == doctest::Approx(1.4142));

  a.nccl_base = 4, a.ll128_bias = 0.25;
  CHECK(halfway_from_published(a).nccl_base == 2);
  CHECK(halfway_from_published(a).ll128_bias == 0.5);
  CHECK(halfway_from_published(a).send_overhead == 1_us);  // of which nothing is published
  CHECK(halfway_from_published(a).network_hops == 1);
  a.nccl_channel = 3_us;
  CHECK(halfway_from_published(a).nccl_channel == 1'500_ns);
  a.nccl_network = 8_us;
  CHECK(halfway_from_published(a).nccl_network == 4_us);
  a.call_overhead = 19'800_ns;  // with the 6.6 us of the table 26.4, four times as long: half of the way is twice as long
  CHECK(halfway_from_published(a).call_overhead == 6'600_ns);

  const Made made;
  std::string text = reference_text;
  text.insert(text.find("\"claims\""), "\"class\": \"twins\", ");
  const Reference one = read_reference(made.folder.file("one.json", text)), other = one;
  const std::vector<JudgedClass> classes = judge_classes({one, other});
  REQUIRE(classes.size() == 1);
  CHECK(classes[0].name == "twins");
  REQUIRE(classes[0].members.size() == 2);
  CHECK(classes[0].members[0].error.points == 2);
  CHECK(classes[0].error.p95 == doctest::Approx(0.1));
  CHECK(classes[0].least_p95 == 0);  // the same call takes both as long
  text.replace(text.find("data.csv"), 8, "twice.csv");
  made.folder.file("twice.csv", "ranks,collective,size_bytes,time_us\n2,allreduce,1000000,164\n");
  const Reference twice = read_reference(made.folder.file("twice.json", text));
  CHECK(judge_classes({one, twice})[0].least_p95 == doctest::Approx(1 / 3.0));
  CHECK(judge_classes({one})[0].error.points == 0);
  CHECK(table_of(judge_classes({one})).find("one system only") != std::string::npos);
}

TEST_CASE("validate: what calls of NCCL cost on top of its table is known of systems of a class that measured some in LL") {
  // Each call of the slow system takes 20 us longer. Those of the other one are as in the table, and so it is predicted from the slow one,
  // unless that measured a short call, too: then half of what it has counts (as a mean, with the 6.6 us of the table).
  const Made made;
  std::string scenario = pair_scenario;
  scenario.replace(scenario.find("\"ring\""), 6, "\"nccl\"");
  const auto file = made.folder.file("nccl.json", scenario);
  Simulator simulator(load_cases(file).front().scenario);
  const auto line_of = [&](std::int64_t size, const HardwareProfile& hardware) {
    return fmt::format("2,allreduce,nccl,{},{}\n", size,
                       simulator.time_us({.collective = "allreduce", .algorithm = {"nccl"}, .ranks = 2, .size = Bytes{size}}, hardware));
  };
  const auto reference_of = [&](const std::string& name, const std::string& lines) {
    made.folder.file(name + ".csv", "ranks,collective,algorithm,size_bytes,time_us\n" + lines);
    return read_reference(made.folder.file(name + "_reference.json", fmt::format(R"({{"name": "{0}", "about": "Made up.",
        "scenario": "nccl.json", "measurements": ["{0}.csv"], "profile": "{0}.json", "class": "pairs"}})",
                                                                                 name)));
  };
  const HardwareProfile quick, slow{.call_overhead = 20_us};
  made.folder.file("quick.json", R"({"schema": 1})");
  made.folder.file("slow.json", R"({"schema": 1, "call_overhead": {"value": "20us", "source": "made up"}})");
  const Reference other = reference_of("quick", line_of(8, quick));
  const Reference long_calls = reference_of("slow", line_of(64 << 20, slow));
  CHECK(judge_classes({other, long_calls})[0].members[0].error.median < 0.001);
  const Reference all_calls = reference_of("slow", line_of(8, slow) + line_of(64 << 20, slow));
  CHECK(judge_classes({other, all_calls})[0].members[0].error.median > 0.2);
}

TEST_CASE("validate: what a slow network adds to the hops between two servers counts for a class as paid once") {
  // Of two systems of two ranks, whose ring has two hops: each is predicted with half of what the other's network takes.
  const Made made;
  std::string scenario = pair_scenario;
  scenario.replace(scenario.find("\"ring\""), 6, "\"nccl\"");
  made.folder.file("nccl.json", scenario);
  const auto reference_of = [&](const std::string& name, const std::string& parameter, const std::string& value) {
    made.folder.file("one.csv", "ranks,collective,algorithm,size_bytes,time_us\n2,allreduce,nccl,8,40\n");
    made.folder.file(name + ".json", fmt::format(R"({{"schema": 1, "{0}": {{"value": "{1}", "source": "made up"}}}})", parameter, value));
    return read_reference(made.folder.file(name + "_reference.json", fmt::format(R"({{"name": "{0}", "about": "Made up.",
        "scenario": "nccl.json", "measurements": ["one.csv"], "profile": "{0}.json", "class": "pairs"}})",
                                                                                 name)));
  };
  const Reference once = reference_of("once", "nccl_network", "8us"), hops = reference_of("hops", "nccl_hop", "4us");
  const JudgedClass judged = judge_classes({once, hops})[0];
  CHECK(judged.members[0].error.median == doctest::Approx(judged.members[1].error.median));
}

TEST_CASE("validate: a backward pass is judged by the times of its layers, and its device is fitted to the models that are not held out") {
  const ScratchFolder folder;
  DeviceProfile truth = read_device(read_file(project_scenarios() / "devices" / "v100.json"), "v100");
  truth.rates.at("float32").convolution_3x3 = 0.9;
  truth.memory_efficiency = 0.5;
  std::string rows = "model,order_in_backward,wait_since_previous_us,param_bytes\n";
  for (const char* name : {"resnet20", "vgg16_cifar"}) {
    const Model model = known_model(name);
    const StepTimes times = compute_times(model, truth, {.batch = 64});
    for (std::size_t l = model.layers.size(); l-- > 0;)
      for (std::size_t t = model.layers[l].tensors.size(); t-- > 0;)
        rows += fmt::format("{},0,{},{}\n", name, t + 1 == model.layers[l].tensors.size() ? times.layers[l].backward.microseconds() : 0.0,
                            4 * model.layers[l].tensors[t].elements);
  }
  folder.file("rows.csv", rows);
  const std::string text = R"({"name": "backward", "about": "Made up.",
    "layers": [{"file": "rows.csv", "model": "resnet20", "batch": 64}, {"file": "rows.csv", "model": "vgg16_cifar", "batch": 64}],
    "hold_out": {"models": ["vgg16_cifar"]}, "profile": "devices/backward.json",
    "fit": {"parameters": ["convolution_3x3", "memory_efficiency"], "start": "v100"}})";
  const Reference reference = read_reference(folder.file("reference.json", text));
  std::ostringstream out, err;
  refit(reference, out, err);
  const Judgement judged = judge(reference);
  CHECK(judged.fitted.points == 59);
  CHECK(judged.fitted.p95 < 0.02);
  CHECK(judged.held_out.points == 54);
  CHECK(judged.held_out.p95 < 0.02);
  CHECK(table_of(std::vector{judged}, false).find("model vgg16_cifar") != std::string::npos);
  std::string open = text;
  open.replace(open.find("\"parameters\""), 56, "");
  CHECK(problems_of([&] { refit(read_reference(folder.file("open.json", open)), out, err); }) ==
        Lines{"backward: /fit/parameters: missing: what is fitted of the device"});
  std::string bare = text;
  bare.replace(bare.find("\"profile\": \"devices/backward.json\","), 35, "");
  CHECK(problems_of([&] { read_reference(folder.file("bare.json", bare)); })[0].find(
            "/profile: is missing: the device's, that \"layers\" are judged with") != std::string::npos);
}

TEST_CASE("validate: a bad reference is refused with every place") {
  const ScratchFolder folder;
  const auto file =
      folder.file("bad.json", R"({"name": "x", "about": "y", "scenario": "z", "measurments": [], "claims": [{"what": "w"}]})");
  const auto problems = problems_of([&] { read_reference(file); });
  REQUIRE(problems.size() >= 2);
  CHECK(problems[0].find("/measurments: unknown key (did you mean \"measurements\"?)") != std::string::npos);
}

TEST_CASE("validate: the references that ship are read") {
  const auto files = shipped_references();
  CHECK(files.size() >= 10);
  for (const auto& file : files) {
    CAPTURE(file.string());
    CHECK(!read_reference(file).name.empty());
  }
}
