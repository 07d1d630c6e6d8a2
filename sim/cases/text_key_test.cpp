#include "sim/cases/text_key.hpp"

#include "kernels/files/files.hpp"
#include "kernels/testing/scratch_folder.hpp"

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("files are known again by what they hold, those in a folder too") {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder / "traces");
  write_file(folder / "a.xml", "one");
  write_file(folder / "traces" / "0.et", "rank 0");
  const std::set<std::filesystem::path> named = {folder / "a.xml", folder / "traces"};
  const std::string before = key_of(named);
  CHECK(before.size() == 64);
  CHECK(key_of(named) == before);
  write_file(folder / "a.xml", "two");
  const std::string changed = key_of(named);
  CHECK(changed != before);
  write_file(folder / "traces" / "0.et", "rank 1");
  CHECK(key_of(named) != changed);
  CHECK(key_of(std::set{folder / "a.xml"}) != key_of(named));
}
