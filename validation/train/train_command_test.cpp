#include "validation/train/train_command.hpp"

#include "kernels/base/error.hpp"
#include "kernels/files/files.hpp"
#include "kernels/testing/scratch_folder.hpp"

#include <algorithm>
#include <sstream>

#include <doctest/doctest.h>

using namespace weft;

namespace {

TrainArguments quick() { return {.hidden = {8}, .epochs = 2}; }

std::string output(const TrainArguments& arguments) {
  std::ostringstream out;
  CHECK(train_command(arguments, out) == 0);
  return out.str();
}

std::string refused(const TrainArguments& arguments) {
  std::ostringstream out;
  try {
    train_command(arguments, out);
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("where errors are kept in the sketch the output says that there is no warm-up") {
  TrainArguments a = quick();
  a.epochs = 1;
  a.compressions = {"gs_sgd"};
  a.memory = "sketch";
  CHECK(output(a).find("# no warm-up where errors are kept in the sketch") != std::string::npos);
  a.warm_up = {"none"};
  CHECK(output(a).find("no warm-up") == std::string::npos);
}

TEST_CASE("one training prints its epochs, several a summary, and both are written as CSV with a plot") {
  TrainArguments a = quick();
  const ScratchFolder folder;
  a.output = (folder / "training.csv").string();
  a.scenario = fmt::format("{}/this_machine.json", WEFT_SCENARIOS);
  const std::string one = output(a);
  CHECK(
      one.starts_with("# mlp 64-8-10, 610 parameters; 4 ranks over threads, 8 images of each in a step; 1438 images to learn from, 359 to "
                      "judge by\n# simulated on this_machine: 0s for a gradient"));
  CHECK(one.find("sim. time s") != std::string::npos);
  const std::string csv = read_file(a.output);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 3);
  CHECK(read_file(folder / "training.svg").starts_with("<svg"));
  a.scenario.clear();
  a.compressions = {"dense", "gtopk"};
  a.seeds = 2;
  const std::string many = output(a);
  CHECK(many.find("no warm-up") == std::string::npos);
  CHECK(many.find("epochs to 95%") != std::string::npos);
  const std::string more = read_file(a.output);
  CHECK(std::count(more.begin(), more.end(), '\n') == 9);
}

TEST_CASE("flags that cannot be are refused, all at once") {
  TrainArguments a = quick();
  a.transport = "tpc";
  a.k = "many";
  a.warm_up = {"200%"};
  a.seeds = 0;
  a.timeout_s = 0;
  a.scenario = "nowhere.json";
  CHECK(refused(a) ==
        "--transport: must be one of threads, tcp, got \"tpc\" (did you mean \"tcp\"?)\n"
        "--k: \"many\": write a count (1000) or a share of the elements (1%)\n"
        "--warm-up: must be a share above 0% and up to 100%, such as 95%, got 200%\n"
        "--seeds: must be 1 to 1000, got 0\n"
        "--timeout: must be more than 0 and at most 86400, got 0\n"
        "nowhere.json: cannot be read: No such file or directory");
  a = quick();
  a.compressions = {"gs_sgd", "gtopk"};
  const std::string zero = "0";
  a.k = a.columns = zero;
  CHECK(refused(a) == "--columns: must be 1 to 2147483647, got 0\n--k: must be at least 1, got 0");
  a = quick();
  a.set = {"/network=flow"};
  CHECK(refused(a) == "--set: there is no --scenario to set keys of");
  a = quick();
  a.scenario = fmt::format("{}/this_machine.json", WEFT_SCENARIOS);
  a.ranks = 5;
  CHECK(refused(a) == "--ranks: must be at most 4, the endpoints of the scenario's fabric, got 5");
}

TEST_CASE(
    "what stands where a training writes is replaced only when weft train wrote it, or by force, and the folder is looked for first") {
  const ScratchFolder folder;
  TrainArguments a = quick();
  a.epochs = 1;
  a.output = (folder / "training.csv").string();
  write_file(folder / "training.svg", "<html>mine</html>");
  CHECK(refused(a) == fmt::format("-o {}: {} exists and is not a plot; write to another place, or give --force to replace it", a.output,
                                  (folder / "training.svg").string()));
  CHECK(!std::filesystem::exists(a.output));
  a.force = true;
  output(a);
  a.force = false;
  output(a);
  write_file(a.output, "mine");
  CHECK(
      refused(a) ==
      fmt::format("-o {0}: {0} exists and is not a table of weft train; write to another place, or give --force to replace it", a.output));
  a.output = (folder / "nowhere" / "training.csv").string();
  CHECK(refused(a) == fmt::format("-o {}: there is no folder {}", a.output, (folder / "nowhere").string()));
}

TEST_CASE("flags of weft train that change nothing are refused, and so are names of files that would not say what is in them") {
  TrainArguments a = quick();
  a.compressions = {"dense"};
  a.rows = 7;
  a.k = "2%";
  a.memory = "sketch";
  a.model = "logistic";
  CHECK(refused(a) ==
        "--rows: is of sketches; dense has none\n--memory: sketch needs a sketch; dense has none\n"
        "--k: is of compressions that choose elements; dense has none\n--hidden: is of the model mlp; logistic has no hidden layers");
  a = quick();
  a.compressions = {"dense", "gtopk"};
  a.columns = "5%";
  a.k = "2%";
  CHECK(refused(a) == "--columns: is of sketches; dense, gtopk have none");
  a.compressions = {"gs_gsd"};
  CHECK(refused(a).starts_with("--compression: unknown compression \"gs_gsd\""));
  a = quick();
  a.target = "0.95";
  CHECK(refused(a) == "--target: must be a share above 0% and up to 100%, such as 95%, got 0.95");
  a = quick();
  a.output = "figure.png";
  CHECK(refused(a) == "-o figure.png: must end in .csv, beside which the plot is written as .svg, or in .md for a page");
}

TEST_CASE("a training names the flag that is wrong, once") {
  TrainArguments a = quick();
  a.ranks = 0;
  CHECK(refused(a) == "--ranks: must be 1 to 64, got 0");
  a = quick();
  a.algorithm = "rong";
  CHECK(refused(a).starts_with("--algorithm: unknown allreduce algorithm \"rong\""));
  a = quick();
  a.gradient = "5ms";
  CHECK(refused(a) == "--gradient: there is no --scenario whose steps would take it");
}
