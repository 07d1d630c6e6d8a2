// How many of ATP's packets find their aggregator taken, and what that does to its windows, where no packet is simulated.
//
// A packet keeps its aggregator from its switch to the server and back, for `held_for` and what it waits for the server's link. One of a
// job of n workers that finds its aggregator taken goes on to the server n times, so where a share c of a job's packets does, each takes
// m(c) = (1 + (n - 1) c) packets' time there.
//
// Held. The packets of a window W come one behind the other at the rate of the worker's link, and leave m times as slowly, once the first
// has been held: of those beyond the b = rate x held_for that have come by then, one has left for m that came. So at most
//     N(W, c) = W - max(0, W - b) / m(c)
// of them are held at once.
//
// Places. A job takes its own places in turn (collectives/in_network/atp.hpp): it never meets itself while N <= A, and with more of them
// than places at most A of N find one (Little: packets added a second x how long each is held <= A). Others' packets it meets at random,
// with the probability of Erlang's formula for one place, a / (1 + a), whatever the times they hold it for; a is the sum over the other
// jobs of the share of time for which each would hold the place alone, min(1, N / A). So
//     c = F(c) = 1 - min(1, A / N(W, c)) / (1 + a).
// F does not fall with c, for a longer queue holds more, nor rise with A. A job begins with no queue, so it comes to the least fixed point,
// which does not rise with A either. That is F(0), or where F(F(0)) is more the one root above: from there on F is concave, since N is, and
// F(1) is at most 1.
//
// Where some workers are a window behind the others, a sum is whole if all of them find its place free: as long as they are apart. So the
// whole window holds places, and they come free for whole turns: one of ceil(W / A).
//
// Windows (ATP, section 3.5.2). They grow by a bit in each round trip, until m W - rate x round trip wait and are marked, and are halved
// then. So W is any between half of that window and all of it, and a window takes a round trip or m W packets' time, whichever is longer.
// Of a window that would be beyond its limit the limit counts: queues swing, and marks begin before the mean is marked.
#pragma once

#include <vector>

namespace weft {

// A job of ATP as far as collisions go. Packets are per link and second, times in seconds.
struct AtpLoad {
  int workers = 1, servers = 1;
  double packets_per_second = 0;  // of the slowest worker's link
  double server_speed = 1;        // of a server's link, of that
  double held_for = 0;            // from a switch to the server and back: how long a packet keeps its aggregator
  double elsewhere = 0;           // from the worker to its switch and back
  double window = 0;              // packets at most, of all of its flows
  double queue = 0;               // packets that a server's link holds before it marks them
  double aggregators = 1;         // that it may use
  double present = 1;             // of the time that is looked at
  bool uneven = false;            // some workers' links carry a server's packets too: they fall a window behind the others
  friend bool operator==(const AtpLoad&, const AtpLoad&) = default;
};

struct AtpCollisions {
  double share = 0;               // of the job's packets
  double seconds_per_packet = 0;  // of the message, as its windows come and go
};

// Of each job. Jobs with all of the `aggregators` share them. What a job holds changes by a smaller factor than what the others do, since
// its windows go as 1 / m and m as 1 + (n - 1) a / (1 + a): iterated, the jobs come to the one solution there is (a contraction of
// logarithms). Where one has too few places of its own as well, its least fixed point may jump, and 200 rounds end near there.
std::vector<AtpCollisions> expected_collisions(const std::vector<AtpLoad>& jobs, double aggregators);

}  // namespace weft
