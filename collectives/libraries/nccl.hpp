// NCCL's algorithms, as its kernels and proxies run them: rings that go through the GPUs of each server and stay on the rail of
// their NIC, trees between servers with a chain inside each, and sums in switches.
#pragma once

#include "collectives/schedule/cost.hpp"
#include "collectives/schedule/schedule.hpp"
#include "kernels/base/units.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft {

// `automatic`: the one that is expected to be done first (models/nccl_tuning.hpp); where no size is known, ring and simple.
enum class NcclAlgorithm : std::uint8_t { automatic, ring, tree, nvls, nvls_tree, collnet_direct, collnet_chain };
enum class NcclProtocol : std::uint8_t { automatic, ll, ll128, simple };
std::string_view name_of(NcclAlgorithm);
std::string_view name_of(NcclProtocol);

// Neighbouring ranks are the GPUs of a server, or `machines` says which are.
struct NcclShape {
  int ranks = 1;
  int gpus = 1;                                  // of each server, or of the one with fewest
  int nics = 1;                                  // of each server; NIC i is that of GPU i * gpus / nics and of those behind it
  int channels = 1;                              // channel c leaves and enters servers through NIC c mod nics
  int pieces = 1;                                // of each channel's part, one behind the other: of trees and of chains
  std::vector<std::vector<int>> orders = {};     // in which a channel goes through the GPUs of a server, as NVLinks join them, in turn;
                                                 // none: in the order of their numbers
  bool pxn = false;                              // NVLinks join the GPUs of a server, and relay what leaves by another GPU's NIC
  std::vector<std::vector<Rank>> machines = {};  // by server the ranks of its GPUs; those beyond `gpus` have no NIC of their own

  int servers() const { return machines.empty() ? ranks / gpus : static_cast<int>(machines.size()); }
  int gpus_of(int server) const { return machines.empty() ? gpus : static_cast<int>(machines[static_cast<std::size_t>(server)].size()); }
  Rank rank(int server, int gpu) const {
    return machines.empty() ? server * gpus + gpu : machines[static_cast<std::size_t>(server)][static_cast<std::size_t>(gpu)];
  }
  bool is_even() const { return ranks == servers() * gpus; }
};

// What one message carries at most: a step of NCCL's buffers, as NCCL makes it smaller for messages that would fill few of them.
Bytes nccl_chunk(NcclProtocol protocol, Bytes part, int hops);

// In a channel the ring enters a server at the GPU of the channel's NIC. Where a NIC has several GPUs it leaves at another of
// them; where it has one, the ring leaves at the next one's, and enters the next server there, which it goes through the other way
// round (NCCL's alternate rings): messages between servers stay on a rail, but for one of an odd number of servers. Where an order of
// the GPUs is given, the ring goes along it, from a GPU on with which it leaves by the NIC that it came by, if there is one, and so that
// all channels use all NICs alike.
// Ring all-reduce: 2(n-1) steps; each rank sends 2(n-1)/n of the message.
Schedule nccl_ring_allreduce(const NcclShape&);
Cost nccl_ring_allreduce_cost(const NcclShape&);

// Each channel's part is halved between two binary trees of servers, complementary as in double_binary_tree. Inside a server the
// GPUs are a chain that ends at the GPU of the channel's NIC. First all pieces go up, then down: 2(ceil(log2 servers) + gpus - 1 +
// pieces - 1) steps.
Schedule nccl_tree_allreduce(const NcclShape&);
Cost nccl_tree_allreduce_cost(const NcclShape&);

// NVLink SHARP, where the NVSwitch of a server adds: of every chunk one rank gets the sum from the switch, and the switch copies it
// to all. As messages between the ranks, of which each sends its part of every chunk to the rank that the chunk is of, and then
// its chunk to all: 2 steps of n(n-1) messages, and 2(n-1)/n of the message on each rank's links, where the switch makes (n+1)/n of it.
Schedule nccl_nvls_allreduce(const NcclShape&);
Cost nccl_nvls_allreduce_cost(const NcclShape&);
// How much less that is. Beyond 8 GPUs the switch makes no less of it than of 8: a rack of GB300 all-reduces 481 GB/s on 8 and 473 on 64 of
// its GPUs (16 GiB, NCCL 2.28, a report of Oracle's cloud).
double nvls_gain(int gpus);

// NVLink SHARP inside servers and trees between them (NVLSTree): of each GPU's part of the message the switch gives it the sum of its
// server, trees of the servers' GPUs of that number add these up as nccl_tree_allreduce does, and the switch copies the result to all.
// As messages each GPU sends its part of every other's to that one, and gets it from there: 2(ceil(log2 servers) + 1 + pieces - 1) steps.
Schedule nccl_nvls_tree_allreduce(const NcclShape&);
Cost nccl_nvls_tree_allreduce_cost(const NcclShape&);

// CollNet: the switches between servers aggregate what the servers' heads send, the GPUs by the NICs, and copy the sum to all of them
// (SHARP). The switches of NIC i are server i of the schedule, rank ranks + i: however the switches share the work, each head sends every
// byte once and gets it once. First all pieces go up, then down.
//
// Along the chain of each channel's tree to its head, and back: 2(gpus + pieces - 1) steps.
Schedule nccl_collnet_chain_allreduce(const NcclShape&);
Cost nccl_collnet_chain_allreduce_cost(const NcclShape&);
// Each GPU sends the heads of its server their parts of the message, and gets their sums, also where an NVSwitch adds (NVLS): 2(pieces + 1)
// steps, of one GPU a server 2 pieces. The parts are channels: their heads wait for nobody's latency but that of their own part.
Schedule nccl_collnet_direct_allreduce(const NcclShape&);
Cost nccl_collnet_direct_allreduce_cost(const NcclShape&);
// By server: the rank that the switches of this NIC add with those of the other servers.
std::vector<Rank> nccl_heads(const NcclShape&, int nic);

// Rings once round. Blocks belong to ranks, so each is cut among the channels.
Schedule nccl_ring_reduce_scatter(const NcclShape&);
Schedule nccl_ring_allgather(const NcclShape&);
Cost nccl_ring_once_cost(const NcclShape&);

// The ring as a chain from the root on.
Schedule nccl_ring_broadcast(const NcclShape&, Rank root);
Cost nccl_ring_broadcast_cost(const NcclShape&);

// Sends and receives between all pairs at once. With PXN what goes to another rail's GPU of another server goes first to the GPU of this
// server that is on that rail, and from there in one message with what the other GPUs have for it (where neither the message is cut into
// channels nor its blocks into pieces): no message between servers leaves its rail (NCCL 2.12). Relays pass one of `pieces` on while they
// get the next: what goes to some of the servers, or cuts of it where there are fewer of them. Pieces + 1 steps, more where the cuts are
// not as many for each server.
Schedule nccl_alltoall(const NcclShape&);
// As many as NCCL's chunks of 128 KiB between servers (NCCL_P2P_NET_CHUNKSIZE) make of a block, up to the eight steps of its buffers.
int nccl_alltoall_pieces(Bytes block);
Cost nccl_alltoall_cost(const NcclShape&);

}  // namespace weft
