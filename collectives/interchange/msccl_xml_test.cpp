#include "collectives/interchange/msccl_xml.hpp"

#include "collectives/interchange/testing.hpp"
#include "collectives/schedule/verify.hpp"
#include "collectives/transports/run_on_threads.hpp"
#include "kernels/base/hash.hpp"

#include <doctest/doctest.h>

namespace weft {
namespace {

// Two GPUs exchange their message in place: each overwrites what it sends.
std::string exchange(const std::string& step = R"(type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1")") {
  std::string out =
      "<algo name=\"exchange\" proto=\"LL\" nchannels=\"1\" nchunksperloop=\"1\" ngpus=\"2\" coll=\"allreduce\" inplace=\"1\">\n";
  for (int r = 0; r < 2; ++r) {
    out += fmt::format(
        "<gpu id=\"{0}\" i_chunks=\"1\" o_chunks=\"1\" s_chunks=\"1\">\n<tb id=\"0\" send=\"{1}\" recv=\"{1}\" chan=\"0\">\n", r, 1 - r);
    out += R"(<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>)"
           "\n";
    out += fmt::format("<step s=\"1\" {} depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n</tb>\n</gpu>\n", step);
  }
  return out + "</algo>\n";
}

}  // namespace

TEST_CASE("an exchange in place is one step") {
  CHECK(to_string(read_msccl_xml(exchange())) ==
        "exchange: allreduce, 2 ranks, 1 chunks + 1 extra, 1 steps\nstep 0: 1->0 adds chunk 0\nstep 0: 0->1 adds chunk 0\n");
}

TEST_CASE("a chunk that is received, added and passed on goes a step after the other") {
  // A ring of 3, one chunk, as a chain: 0 -> 1 -> 2, then the sum 2 -> 0 -> 1. GPU 1 passes on a sum that it does not keep.
  const char* text = R"(<algo name="chain" ngpus="3" coll="all_reduce" inplace="1" proto="Simple" nchannels="1" future="1">
<gpu id="0" i_chunks="1" o_chunks="1" s_chunks="0"><tb id="0" send="1" recv="2" chan="0">
  <op step="0" type="s" buf="i" off="0"/><op step="1" type="rcs" buf="i" off="0"/></tb></gpu>
<gpu id="1" i_chunks="1" o_chunks="1" s_chunks="0"><tb id="0" send="2" recv="0" chan="0">
  <op step="0" type="rrs" buf="i" off="0"/><op step="1" type="r" buf="i" off="0"/></tb></gpu>
<gpu id="2" i_chunks="1" o_chunks="1" s_chunks="0"><tb id="0" send="0" recv="1" chan="0">
  <op step="0" type="rrcs" buf="i" off="0"/></tb></gpu>
</algo>)";
  CHECK(to_string(read_msccl_xml(text)) ==
        "chain: allreduce, 3 ranks, 1 chunks, 4 steps\nstep 0: 0->1 adds chunk 0\nstep 1: 1->2 adds chunk 0\n"
        "step 2: 2->0 copies chunk 0\nstep 3: 0->1 copies chunk 0\n");
}

TEST_CASE("algorithms of msccl-scheduler are read, proved and right on real memory") {
  struct Expected {
    const char* file;
    Collective collective;
    int ranks;
  };
  for (const Expected& e : {Expected{"ag_hier_4_LL.xml", Collective::allgather, 4}, Expected{"ar_tree_12_LL.xml", Collective::allreduce, 4},
                            Expected{"a2a2ll.xml", Collective::alltoall, 8}, Expected{"all_pairs_by_hand.xml", Collective::allreduce, 4},
                            Expected{"ring_by_hand.xml", Collective::reduce_scatter, 3}}) {
    CAPTURE(e.file);
    const Schedule s = read_schedule(example(e.file));
    CHECK(s.collective == e.collective);
    CHECK(s.ranks == e.ranks);
    CHECK(fault_on_threads(s, ReduceOp::sum, DType::int32, std::int64_t{s.chunks} * 5) == "");
  }
}

TEST_CASE("what a schedule lacks is said with its line") {
  const std::string right = exchange();
  CHECK(refused("<algo/>") == "line 1: <algo> has no attribute \"ngpus\"\nline 1: <algo> has no attribute \"coll\"");
  CHECK(refused("<topology/>") == "line 1: must be <algo>, got <topology>");
  CHECK(
      refused(changed(right, "coll=\"allreduce\"", "coll=\"custom\"")) ==
      "line 1: coll must be one of allreduce, allgather, reduce_scatter, alltoall, broadcast, reduce, got \"custom\": nothing says what a "
      "custom collective should do");
  CHECK(refused(changed(right, "ngpus=\"2\"", "ngpus=\"3\"")) == "line 1: has no <gpu> with id 2 of 3");
  CHECK(refused(changed(right, "nchunksperloop=\"1\"", "nchunksperloop=\"2\"")) ==
        "line 1: i_chunks of the GPUs must be the 2 chunks of the message, got 1\nline 1: o_chunks of the GPUs must be the 2 chunks of the "
        "message, got 1");
  CHECK(refused(changed(right, "srcoff=\"0\"", "srcoff=\"1.0\"")) ==
        "line 4: srcoff of <step> must be a whole number, 0 to 16777216, got \"1.0\"");
  CHECK(refused(changed(right, "srcoff=\"0\"", "srcoff=\"7\"")) == "line 4: chunks 7 to 7 of buffer i must be among its 1");
  CHECK(refused(changed(right, "type=\"s\"", "type=\"send\"")) ==
        "line 4: type must be one of nop, s, r, rcs, rrs, rrc, rrcs, cpy, re, got \"send\"");
  CHECK(refused(changed(right, "depid=\"-1\" deps=\"-1\"", "depid=\"3\" deps=\"0\"")) ==
        "line 4: waits for step 0 of thread block 3, which gpu 0 does not have");
  CHECK(refused(changed(right, "send=\"1\"", "send=\"0\"")) == "line 3: the peer of a thread block must be another GPU, got 0, its own");
  CHECK(refused(changed(right, "type=\"s\"", "type=\"nop\"")) ==
        "line 9: gpu 1 receives from gpu 0 on channel 0, which sends nothing there");
  CHECK(refused(exchange(R"(type="r" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1")")).starts_with("is no right allreduce: "));
}

TEST_CASE("thread blocks that wait for one another are refused, with who waits") {
  std::string text = exchange();
  text = changed(text, "</tb>", R"(</tb>
<tb id="1" send="-1" recv="-1" chan="0"><step s="0" type="nop" depid="0" deps="1"/></tb>)");
  text = changed(text, R"(dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1")", R"(dstbuf="o" dstoff="0" cnt="1" depid="0" deps="1")");
  try {
    read_msccl_xml(text);
    FAIL("was read");
  } catch (const InputError& e) {
    CHECK(std::string(e.what()).find("waits for itself: its thread blocks would deadlock") != std::string::npos);
  }
}

TEST_CASE("whatever bytes a file has, it is read or refused") {
  const int rounds = mutation_rounds(4000);
  const int read = read_of_mutations({exchange(), example("ring_by_hand.xml"), example("all_pairs_by_hand.xml")}, 20260101, rounds);
  CHECK(read > rounds / 20);
}

}  // namespace weft
