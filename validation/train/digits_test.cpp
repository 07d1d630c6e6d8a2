#include "validation/train/digits.hpp"

#include "kernels/testing/scratch_folder.hpp"
#include "validation/train/testing.hpp"

#include <algorithm>
#include <filesystem>

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::train;

TEST_CASE("the digits that ship are 1797 images, every fifth to judge by, each digit among both") {
  const Digits& digits = train::test::digits();
  CHECK(digits.training.count() == 1438);
  CHECK(digits.test.count() == 359);
  for (const Images& images : {digits.training, digits.test}) {
    CHECK(images.values.size() == images.count() * Images::pixels);
    CHECK(*std::min_element(images.values.begin(), images.values.end()) == 0);
    CHECK(*std::max_element(images.values.begin(), images.values.end()) == 1);
    for (int digit = 0; digit < Images::classes; ++digit)
      CHECK(std::count(images.labels.begin(), images.labels.end(), digit) > static_cast<std::ptrdiff_t>(images.count() / 20));
  }
  CHECK(digits.training.labels[0] == 0);
  CHECK(digits.training.values[2] == 5.0f / 16);
}

TEST_CASE("a file that does not hold digits is refused with its line") {
  const ScratchFolder folder;
  const std::string good = std::string(64, 'g') + ",7\n";
  const auto refused = [&](const std::string& content, const std::string& what) {
    const std::filesystem::path file = folder.file("digits.csv", content);
    CHECK_THROWS_WITH_AS(read_digits(file.string()), (file.string() + what).c_str(), InputError);
  };
  refused("", ":1: must be \"pixels,digit\", got \"\"");
  const std::string wrong = "must be 64 pixels, 0 to 9 and a to g, a comma and a digit, got ";
  refused("pixels,digit\n" + good + "12,3\n", ":3: " + wrong + "\"12,3\"");
  for (const std::string& line :
       {std::string(64, 'h') + ",7", std::string(63, '0') + ",7", std::string(64, '0') + ",x", std::string(64, '0') + "77"})
    refused("pixels,digit\n" + line + "\n", ":2: " + wrong + "\"" + line + "\"");
  refused("pixels,digit\n" + good, ": must have at least 50 images, has 1");
  CHECK_THROWS_WITH_AS(read_digits("no_such.csv"), doctest::Contains("no_such.csv: cannot be read"), InputError);
}
