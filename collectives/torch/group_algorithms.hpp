// Which schedule a collective runs: the one that was asked for, else one that suits the size. Each is proved once.
#pragma once

#include "collectives/registry/registry.hpp"
#include "collectives/schedule/schedule.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

namespace weft {

class GroupAlgorithms {
 public:
  // `asked` is a list such as "ring" or "allreduce=hierarchical_ring/group=2,broadcast=chain/pieces=16"; without a
  // collective it is for allreduce. Throws InputError with everything in it that cannot be run by so many ranks.
  GroupAlgorithms(int ranks, std::string_view asked);

  const Schedule& schedule(Collective, Rank root, std::int64_t bytes);
  // What schedule() takes, by name.
  const Request& request(Collective, std::int64_t bytes);

 private:
  Request by_size(Collective, std::int64_t bytes) const;

  int ranks_;
  std::map<Collective, Request> asked_;
  std::map<std::pair<Collective, std::string>, Request> chosen_;
  std::map<std::tuple<Collective, std::string, Rank>, Schedule> built_;
};

}  // namespace weft
