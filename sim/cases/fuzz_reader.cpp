// libFuzzer target: whatever the text, reading it ends with cases or with problems, and cases that were read show as text
// that reads back as the same cases.
//
//   CXX=clang++ cmake -B build/fuzz -G Ninja -DWEFT_FUZZ=ON -DWEFT_SANITIZE=address,undefined && ninja -C build/fuzz fuzz_reader
//   mkdir -p build/fuzz/corpus && build/fuzz/bin/fuzz_reader -dict=sim/scenario/fuzz.dict -max_len=4096 -runs=1000000 build/fuzz/corpus
//   scenarios
#include "sim/cases/cases.hpp"
#include "sim/cases/plan.hpp"
#include "sim/scenario/profiles.hpp"

#include <cstdint>
#include <string_view>

using namespace weft;

namespace {

std::vector<Case> read(std::string_view text, Input& in) {
  Json json = parse_json(text, in.problems);
  if (!in.problems.empty() && json.is_null()) return {};
  return expand(std::move(json), {}, "fuzzed", in);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ProfileLibrary profiles = ProfileLibrary::beside("");
  Input in{.profiles = &profiles};
  const auto cases = read({reinterpret_cast<const char*>(data), size}, in);
  for (const Problem& problem : in.problems) check(!problem.what.empty(), "a problem without words at {}", problem.where);
  if (!in.problems.empty() || cases.empty()) return 0;
  const std::string shown_once = to_json(cases).dump();
  Input again{.profiles = &profiles};
  const auto same = read(shown_once, again);
  check(again.problems.empty(), "what was shown is refused: {}", again.problems.empty() ? "" : again.problems.front().what);
  check(to_json(same).dump() == shown_once, "shown twice, two texts");
  check(rows_of(cases).size() >= cases.size(), "a case without rows");
  return 0;
}
