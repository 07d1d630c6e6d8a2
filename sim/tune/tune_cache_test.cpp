#include "sim/tune/tune_cache.hpp"

#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/star.hpp"

#include <doctest/doctest.h>

namespace weft {
namespace {

LabelledGraph path(const std::string& labels) {
  LabelledGraph g;
  for (const char c : labels) {
    if (!g.labels.empty()) g.edges.emplace_back(g.labels.size() - 1, g.labels.size());
    g.labels.emplace_back(1, c);
  }
  return g;
}

LabelledGraph star(int nodes) { return graph_of(*build(FabricSpec{Star{.nodes = nodes, .host_link = {100_Gbps, 1_us}}})); }

}  // namespace

TEST_CASE("edit distance: of paths it is that of their labels") {
  CHECK(edit_distance(path("kitten"), path("sitting")) == 3);
  CHECK(edit_distance(path("abc"), path("abc")) == 0);
  CHECK(edit_distance(path("abc"), path("")) == 3);
  CHECK(edit_difference(path("abcd"), path("wxyz")) == 1);
}

TEST_CASE("edit distance: small graphs are assigned node by node") {
  LabelledGraph triangle{{"a", "a", "b"}, {{0, 1}, {1, 2}, {2, 0}}}, turned{{"b", "a", "a"}, {{1, 2}, {2, 0}, {0, 1}}};
  CHECK(edit_distance(triangle, turned) == 0);
  LabelledGraph without = triangle;
  without.edges.pop_back();
  CHECK(edit_distance(triangle, without) == 1);
  LabelledGraph relabelled = triangle;
  relabelled.labels = {"c", "a", "b"};
  CHECK(edit_distance(triangle, relabelled) == 1);
  // A star of 9 is one of 8 and a node with a cable, which is two links.
  CHECK(edit_distance(star(8), star(9)) == 3);
  CHECK(edit_distance(star(9), star(8)) == 3);
}

TEST_CASE("edit distance: of large graphs it is at least 0, and 0 for equal ones") {
  CHECK(edit_distance(star(400), star(400)) == 0);
  CHECK(edit_distance(star(400), star(500)) > edit_distance(star(400), star(410)));
  CHECK(edit_difference(star(400), star(410)) < 0.05);
}

TEST_CASE("tune cache: the most similar model and fabric are found again") {
  TuneCache cache;
  cache.add({"resnet50", graph_of(known_model("resnet50")), star(8), {{"/workload/engine/streams", "8"}}, 2.0});
  cache.add({"bert", graph_of(known_model("bert_large")), star(8), {{"/workload/engine/streams", "16"}}, 3.0});
  const auto same = cache.find(graph_of(known_model("resnet50")), star(8));
  REQUIRE(same);
  CHECK(same->difference == 0);
  const auto near = cache.find(graph_of(known_model("resnet101")), star(9));
  REQUIRE(near);
  CHECK(near->entry->name == "resnet50");
  CHECK(near->difference > 0);
  CHECK(cache.find(graph_of(known_model("gpt2_xl")), star(10))->entry->name == "bert");
  CHECK(!cache.find(graph_of(known_model("vgg16")), star(100), 0.1));
}

TEST_CASE("tune cache: the better settings of one model and fabric stay") {
  TuneCache cache;
  const auto entry = [](double cost, const char* streams) {
    return TunedSettings{"r", path("ab"), path("c"), {{"/streams", streams}}, cost};
  };
  cache.add(entry(2, "8"));
  cache.add(entry(3, "4"));
  CHECK(cache.entries().size() == 1);
  CHECK(cache.entries()[0].settings.at("/streams") == "8");
  cache.add(entry(1, "12"));
  CHECK(cache.entries()[0].settings.at("/streams") == "12");
}

TEST_CASE("tune cache: what is written is read again, and a damaged file is refused") {
  TuneCache cache;
  cache.add({"r", path("aab"), star(3), {{"/streams", "8"}}, 1.25});
  const TuneCache again = TuneCache::from_json(cache.to_json(), "c.json");
  CHECK(again.to_json() == cache.to_json());
  CHECK(again.find(path("aab"), star(3))->difference == 0);
  CHECK_THROWS_WITH_AS(TuneCache::from_json("{", "c.json"), doctest::Contains("c.json: is no cache of tuned settings: it is not JSON"),
                       InputError);
  CHECK_THROWS_WITH_AS(TuneCache::from_json(R"({"schema": 1, "name": "x"})", "c.json"),
                       "c.json: is no cache of tuned settings: it has no list \"entries\"", InputError);
  CHECK_THROWS_WITH_AS(TuneCache::from_json(R"({"schema": 1, "entries": [{"name": "x", "cost": 1, "settings": {},
      "model": {"labels": ["a"], "nodes": [0], "edges": [[0, 5]]}, "fabric": {}}]})",
                                            "c.json"),
                       "c.json: /entries/0: an edge from 0 to 5 in a graph of 1 nodes", InputError);
}

}  // namespace weft
