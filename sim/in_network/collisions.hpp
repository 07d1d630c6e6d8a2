// How many of ATP's packets find their aggregator taken, where no packet is simulated.
#pragma once

#include <vector>

namespace weft {

// A job of ATP as far as collisions go. Packets are per server link and second, times in seconds.
struct AtpLoad {
  int workers = 1, servers = 1;
  double packets_per_second = 0;  // of the slowest worker's link
  double held_for = 0;            // from a switch to the server and back: how long a packet keeps its aggregator
  double elsewhere = 0;           // from the worker to its switch and back
  double window = 0;              // packets, of all of its flows
  double queue = 0;               // packets that a link's queue holds before it marks them
  double aggregators = 1;         // that it may use
  double present = 1;             // of the time that is looked at
  bool uneven = false;            // some workers' links carry a server's packets too: they fall a window behind the others
};

// The share of each job's packets that find their aggregator taken: by others, of whose N packets in aggregators each holds one
// of A, so that N / A of them are; or by its own of one turn earlier, since a flow that keeps N packets in A < N aggregators
// finds one free every ceil(N / A) turns. What collides goes to the server by itself, which then limits the rate and
// lets a queue build up, so that packets hold their aggregators for longer: solved by iteration. Where workers are uneven their
// whole window is in aggregators, waiting for those behind.
std::vector<double> collision_shares(const std::vector<AtpLoad>& jobs, double aggregators);

}  // namespace weft
