// Rings on servers that are alike look the same from each of them: moved on by the ranks of a server, every rank does what it did. So the
// ranks of one server stand for all: whose message goes to the next server sends it to the first one's own ranks, over their links.
#pragma once

#include "models/fabric/fabric.hpp"
#include "sim/executor/chains.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

// Of the places of chains, each channel's `ranks` behind those of the one before.
template <class Model>
class Rotation {
  using Walk = Chains<Model>;
  using Way = typename Walk::Way;
  using Part = typename Walk::Part;

 public:
  // `entered` and the costs of `parts` by place. They must outlive it.
  Rotation(const Model& model, std::span<const Way> ways, std::span<const std::int64_t> entered, std::span<const Part> parts,
           std::size_t ranks)
      : model_(model), ways_(ways), ranks_(ranks), turn_(ranks) {
    std::vector<std::uint64_t> looks;
    for (std::size_t place = 0; place < ways.size(); ++place) looks.push_back(look_of(place, entered[place], parts));
    for (std::size_t turn = 1; turn <= ranks / 2; ++turn) {
      if (ranks % turn != 0 || !looks_alike(looks, turn) || !moves_links(turn)) continue;
      turn_ = turn;
      return;
    }
  }

  bool found() const { return turn_ < ranks_; }
  // Of those that stand for all: how many there are, the ranks of a channel side by side, and which one stands for a place.
  std::size_t places() const { return ways_.size() / ranks_ * turn_; }
  std::size_t stands_for(std::size_t place) const { return place / ranks_ * turn_ + place % ranks_ % turn_; }

  std::vector<Way> ways() const {
    std::vector<Way> out(places());
    for_standing([&](std::size_t place) {
      Way& way = out[stands_for(place)] = ways_[place];
      if (way.to >= 0) way.to = static_cast<Rank>(stands_for(static_cast<std::size_t>(way.to)));
    });
    return out;
  }
  std::vector<Part> parts(std::span<const Part> of_all) const {
    std::vector<Part> out;
    for (const Part& part : of_all) {
      out.push_back({.steps = part.steps, .of = {}});
      for_standing([&](std::size_t place) { out.back().of.push_back(part.of[place]); });
    }
    return out;
  }
  // The network on which their messages meet as those of all do.
  Model network() const {
    Model out = model_;
    for_standing([&](std::size_t place) {
      if (ways_[place].meets) out.go_over(ways_[place].route, onto_);
    });
    return out;
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  // Where a link is moved to by turn after turn: one of the links of an orbit, all of which are different.
  struct Seat {
    std::uint32_t orbit = none, turns = 0;
  };

  template <class Each>
  void for_standing(const Each& each) const {
    for (std::size_t first = 0; first < ways_.size(); first += ranks_)
      for (std::size_t rank = 0; rank < turn_; ++rank) each(first + rank);
  }
  std::size_t moved(std::size_t place, std::size_t by) const { return place / ranks_ * ranks_ + (place % ranks_ + by) % ranks_; }

  // What places have in common that look alike: all that is about them but the links.
  std::uint64_t look_of(std::size_t place, std::int64_t entered, std::span<const Part> parts) const {
    StateHash look;
    const Way& way = ways_[place];
    look.add(entered);
    look.add(way.meets);
    if (way.to < 0) {
      look.add(-1);
    } else {
      const auto to = static_cast<std::size_t>(way.to);
      look.add(static_cast<std::int64_t>(to / ranks_));
      look.add(static_cast<std::int64_t>((to % ranks_ + ranks_ - place % ranks_) % ranks_));
      if (way.meets) {
        look.add(way.latency_ps);
        look.add(model_.terms(way.route));
        for (const LinkId link : model_.path(way.route))
          for (const double rate : model_.rates(link)) look.add(std::bit_cast<std::int64_t>(rate));
      }
    }
    for (const Part& part : parts) {
      const auto& c = part.of[place];
      for (const std::int64_t cost : {c.sends, c.ahead, c.alone, c.behind, c.work, c.wire_bytes}) look.add(cost);
    }
    return look.value();
  }

  bool looks_alike(std::span<const std::uint64_t> looks, std::size_t turn) const {
    for (std::size_t place = 0; place < looks.size(); ++place)
      if (looks[place] != looks[moved(place, turn)]) return false;
    return true;
  }

  // Whether a turn moves each link on which messages meet to another one, as it does all of their messages, and all turns together to as
  // many links. Then onto_ is known.
  bool moves_links(std::size_t turn) {
    const std::size_t turns = ranks_ / turn;
    std::vector<Seat> seats(model_.links());
    std::uint32_t orbits = 0;
    onto_.resize(model_.links());
    std::vector<LinkId> links;
    const auto take = [&](const auto& link_after) {  // of so many turns
      const Seat first = seats[static_cast<std::size_t>(link_after(0))];
      if (first.orbit == none) {
        for (std::size_t n = 0; n < turns; ++n) {
          const LinkId link = link_after(n);
          Seat& seat = seats[static_cast<std::size_t>(link)];
          if (seat.orbit != none) return false;
          seat = {orbits, static_cast<std::uint32_t>(n)};
          onto_[static_cast<std::size_t>(link)] = link_after(0);
        }
        ++orbits;
        return true;
      }
      for (std::size_t n = 1; n < turns; ++n) {
        const Seat& seat = seats[static_cast<std::size_t>(link_after(n))];
        if (seat.orbit != first.orbit || seat.turns != (first.turns + n) % turns) return false;
      }
      return true;
    };
    for (std::size_t place = 0; place < ways_.size(); ++place) {
      if (place % ranks_ >= turn || !ways_[place].meets) continue;
      const auto path = [&](std::size_t n) { return model_.path(ways_[moved(place, n * turn)].route); };
      for (std::size_t hop = 0; hop < path(0).size(); ++hop) {
        const LinkId link = path(0)[hop], opposite = model_.opposite(link);
        if (!take([&](std::size_t n) { return path(n)[hop]; })) return false;
        if (opposite < 0) continue;
        if (!take([&](std::size_t n) { return model_.opposite(path(n)[hop]); })) return false;
        if (onto_[static_cast<std::size_t>(link)] == onto_[static_cast<std::size_t>(opposite)]) return false;
      }
    }
    return true;
  }

  const Model& model_;
  const std::span<const Way> ways_;
  const std::size_t ranks_;
  std::size_t turn_;          // ranks; all of them: only a full one leaves everything as it is
  std::vector<LinkId> onto_;  // by link on which messages meet: which one stands for it
};

}  // namespace weft
