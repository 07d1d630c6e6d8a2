#include "kernels/base/nearest_name.hpp"

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("edit distance counts inserted, removed, replaced and swapped letters") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("ring", "ring") == 0);
  CHECK(edit_distance("", "ring") == 4);
  CHECK(edit_distance("algoritm", "algorithm") == 1);
  CHECK(edit_distance("rings", "ring") == 1);
  CHECK(edit_distance("rang", "ring") == 1);
  CHECK(edit_distance("rign", "ring") == 1);  // a swap is one slip, not two
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("the nearest name is found when the letters differ by a slip") {
  const std::vector<std::string> allowed = {"ring", "halving_doubling", "hdrm", "algorithm"};
  CHECK(nearest_name("rign", allowed) == "ring");
  CHECK(nearest_name("algoritm", allowed) == "algorithm");
  CHECK(nearest_name("halving-doubling", allowed) == "halving_doubling");
  CHECK(nearest_name("ring", allowed) == "ring");
}

TEST_CASE("a name that is only begun is suggested whole, unless another differs by a slip") {
  const std::vector<std::string> allowed = {"bert_large", "transformer_base", "gpt2_xl"};
  CHECK(nearest_name("gpt2", allowed) == "gpt2_xl");
  CHECK(nearest_name("transformer", allowed) == "transformer_base");
  CHECK(nearest_name("bert", {"bert_large", "best"}) == "best");
  CHECK(nearest_name("gp", allowed) == std::nullopt);
}

TEST_CASE("a name that resembles nothing gets no suggestion") {
  const std::vector<std::string> allowed = {"ring", "hdrm"};
  CHECK(nearest_name("switchml", allowed) == std::nullopt);
  CHECK(nearest_name("", allowed) == std::nullopt);
  CHECK(nearest_name("ring", {}) == std::nullopt);
  CHECK(nearest_name("x", {"y"}) == std::nullopt);  // every letter would change
  CHECK(nearest_name(std::string(100'000, 'r'), allowed) == std::nullopt);
}

TEST_CASE("of equally near names the earlier one is suggested") { CHECK(nearest_name("sizr", {"size", "sizs"}) == "size"); }

}  // namespace weft
