#include "validation/fit/honoured.hpp"

#include "sim/scenario/cases.hpp"
#include "validation/testing.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

Scenario with(const std::vector<std::string>& settings) {
  const ScratchFolder folder;
  std::vector<Setting> set;
  for (const std::string& text : settings) set.push_back(parse_setting(text));
  return load_cases(folder.file("star.json", star_scenario(4)), set).front().scenario;
}

std::vector<std::string> places(const std::vector<Problem>& problems) {
  std::vector<std::string> out;
  for (const Problem& problem : problems) out.push_back(problem.where);
  return out;
}

}  // namespace

TEST_CASE("honoured: a scenario of one workload on the flow network is, and whatever else it says is refused in its place") {
  using Places = std::vector<std::string>;
  CHECK(not_honoured(with({})).empty());
  CHECK(places(not_honoured(with({"/network=packet"}))) == Places{"/network"});
  CHECK(places(not_honoured(with({"/network=simgrid"}))) == Places{"/network"});
  CHECK(places(not_honoured(with({"/server=two_nic"}))) == Places{"/server"});
  CHECK(places(not_honoured(with({R"(/start_skew={"max": "5us"})"}))) == Places{"/start_skew"});
  CHECK(places(not_honoured(with({R"(/traffic=[{"pattern": "permutation", "size": "1MiB"}])"}))) == Places{"/traffic"});
  CHECK(places(not_honoured(with({R"(/jobs=[{"ranks": 2}])", "/workload/ranks=2", "/workload/iterations=3"}))) ==
        Places{"/jobs", "/workload/iterations"});
}

TEST_CASE("honoured: the packet network is, where switches take part in every algorithm and the command has it") {
  CHECK(not_honoured(with({"/network=packet", "/workload/algorithm=switchml"})).empty());
  CHECK(not_honoured(with({"/network=packet", "/workload/algorithm=switchml"}), {.in_network_on_packet = false}).size() == 1);
  CHECK(not_honoured(with({"/network=packet", R"(/workload/algorithm=["ring", "switchml"])"})).size() == 1);
}
