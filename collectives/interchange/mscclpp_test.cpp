#include "collectives/interchange/mscclpp_json.hpp"
#include "collectives/interchange/testing.hpp"
#include "collectives/registry/registry.hpp"
#include "collectives/schedule/cost.hpp"
#include "collectives/transports/run_on_threads.hpp"

#include <doctest/doctest.h>

namespace weft {
namespace {

// One thread block of a GPU, with one channel to each of `peers` and their input and scratch as remote buffers 0, 1, ...
std::string gpu(int id, const std::string& operations, const std::vector<int>& peers, const std::string& more_blocks = "") {
  std::vector<int> ids, buffers;
  std::string remote;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    ids.push_back(static_cast<int>(i));
    for (const char* type : {"i", "s"}) {
      remote += fmt::format("{}{{\"rank\": {}, \"type\": \"{}\", \"access_channel_types\": [\"memory\"]}}", remote.empty() ? "" : ", ",
                            peers[i], type);
      buffers.push_back(static_cast<int>(buffers.size()));
    }
  }
  return fmt::format(
      "{{\"id\": {}, \"input_chunks\": 1, \"output_chunks\": 1, \"scratch_chunks\": 2, \"threadblocks\": [{{\"id\": 0, \"ops\": [{}],\n"
      "\"channels\": [{{\"channel_type\": \"memory\", \"channel_ids\": [{}]}}],\n"
      "\"remote_buffer_refs\": [{{\"access_channel_type\": \"memory\", \"remote_buffer_ids\": [{}]}}]}}{}],\n"
      "\"channels\": [{{\"channel_type\": \"memory\", \"connected_to\": [{}]}}], \"remote_buffers\": [{}], \"semaphores\": "
      "[{{\"init_value\": 0}}]}}",
      id, operations, fmt::join(ids, ", "), fmt::join(buffers, ", "), more_blocks, fmt::join(peers, ", "), remote);
}

std::string plan(const std::vector<std::string>& gpus, const std::string& collective = "allreduce") {
  return fmt::format("{{\"name\": \"plan\", \"collective\": \"{}\", \"protocol\": \"Simple\", \"inplace\": true, \"gpus\": [{}]}}",
                     collective, fmt::join(gpus, ",\n"));
}

const std::string tell = R"({"name": "signal", "channel_ids": [0], "channel_type": "memory"})";
const std::string hear = R"({"name": "wait", "channel_ids": [0], "channel_type": "memory"})";
const std::string put_to_scratch =
    R"({"name": "put", "src_buff": [{"type": "i", "index": 0, "size": 1}], "dst_buff": [{"buffer_id": 1, "index": 0, "size": 1}], "channel_type": "memory"})";
const std::string add_scratch =
    R"({"name": "re", "src_buff": [{"type": "i", "index": 0, "size": 1}, {"type": "s", "index": 0, "size": 1}], "dst_buff": [{"type": "i", "index": 0, "size": 1}]})";

// Two GPUs put their message into each other's scratch and add what came.
std::string put_exchange(const std::string& first = put_to_scratch + "," + tell + "," + hear + "," + add_scratch) {
  return plan({gpu(0, first, {1}), gpu(1, put_to_scratch + "," + tell + "," + hear + "," + add_scratch, {0})});
}

}  // namespace

TEST_CASE("what is put to scratch and added there by its receiver is one transfer") {
  CHECK(to_string(read_mscclpp_json(put_exchange())) ==
        "plan: allreduce, 2 ranks, 1 chunks, 1 steps\nstep 0: 0->1 adds chunk 0\nstep 0: 1->0 adds chunk 0\n");
}

TEST_CASE("a sum that is read from another GPU and stored to it is a step behind the other") {
  // GPU 0: rres, its message plus the other's, stored in both. GPU 1 says when it may begin, and waits.
  const std::string rres =
      R"({"name": "rres", "src_buff": [{"type": "i", "index": 0, "size": 1}, {"buffer_id": 0, "index": 0, "size": 1}],
          "dst_buff": [{"type": "i", "index": 0, "size": 1}, {"buffer_id": 0, "index": 0, "size": 1}], "channel_type": "memory", "reduce_op": "sum"})";
  CHECK(to_string(read_mscclpp_json(plan({gpu(0, hear + "," + rres + "," + tell, {1}), gpu(1, tell + "," + hear, {0})}))) ==
        "plan: allreduce, 2 ranks, 1 chunks, 2 steps\nstep 0: 1->0 adds chunk 0\nstep 1: 0->1 copies chunk 0\n");
}

TEST_CASE("a plan whose GPUs end before what comes into their buffers is refused") {
  const std::string put =
      R"({"name": "put", "src_buff": [{"type": "i", "index": 0, "size": 1}], "dst_buff": [{"buffer_id": 0, "index": 0, "size": 1}], "channel_type": "memory"})";
  const auto broadcast = [&](const std::string& end) { return plan({gpu(0, put + "," + tell, {1}), gpu(1, end, {0})}, "broadcast"); };
  CHECK(refused(broadcast("")) ==
        "gpu 1 ends without waiting for chunk 0 of its message, which gpu 0, thread block 0, operation 0 (put) writes");
  CHECK(read_mscclpp_json(broadcast(hear)).steps() == 1);
}

TEST_CASE("plans of MSCCL++'s own tests are read, proved and right on real memory") {
  struct Expected {
    const char* file;
    Collective collective;
    int ranks, steps;
  };
  for (const Expected& e :
       {Expected{"allreduce_packet.json", Collective::allreduce, 2, 3}, Expected{"reduce.json", Collective::allreduce, 2, 4},
        Expected{"reduce_pack.json", Collective::allreduce, 2, 2}, Expected{"transfer_pack.json", Collective::allgather, 2, 2},
        Expected{"reducescatter_2x2.json", Collective::reduce_scatter, 4, 2}}) {
    CAPTURE(e.file);
    const Schedule s = read_schedule(example(e.file));
    CHECK(s.collective == e.collective);
    CHECK(s.ranks == e.ranks);
    CHECK(s.steps() == e.steps);
    CHECK(fault_on_threads(s, ReduceOp::sum, DType::int32, std::int64_t{s.chunks} * 5) == "");
  }
}

TEST_CASE("thread blocks that touch a chunk without an order between them are refused") {
  // A group of two thread blocks copies two chunks, one each; then each reads half of one chunk, and waits for the wrong one of them.
  CHECK(refused(example("reduce_tbg.json")) ==
        "gpu 0, thread block 0, operation 7 (get) reads chunk 2 of gpu 1's scratch, which gpu 1, thread block 1, operation 0 (copy) writes "
        "too: nothing says which comes first");
  CHECK(refused(put_exchange(put_to_scratch + "," + tell + "," + add_scratch)) ==
        "gpu 1, thread block 0, operation 0 (put) writes chunk 0 of gpu 0's scratch, which gpu 0, thread block 0, operation 2 (re) touches "
        "too: nothing says which comes first");
}

TEST_CASE("thread blocks in a deadlock are named, with what they wait for") {
  CHECK(refused(put_exchange(hear + "," + add_scratch)) ==
        "gpu 1, thread block 0, operation 2 (wait) deadlocks: it waits for a signal of gpu 0");
  const auto alone = [](const std::string& operation) { return plan({gpu(0, operation, {})}); };
  CHECK(refused(alone(R"({"name": "barrier", "barrier_id": 0, "num_threadblocks": 2})")) ==
        "gpu 0, thread block 0, operation 0 (barrier) deadlocks: it waits for 2 thread blocks at its barrier, and 1 came");
  CHECK(refused(alone(R"({"name": "sem_acquire", "semaphore_ids": [0]})")) ==
        "gpu 0, thread block 0, operation 0 (sem_acquire) deadlocks: it waits for a semaphore that is not released");
  CHECK(
      refused(alone(
          R"({"name": "upkt", "src_buff": [{"type": "s", "index": 0, "size": 1}], "dst_buff": [{"type": "i", "index": 0, "size": 1}]})")) ==
      "gpu 0, thread block 0, operation 0 (upkt) deadlocks: it waits for packets that are not sent");
}

TEST_CASE("a semaphore and a barrier put the thread blocks of a GPU in order") {
  // The second thread block of GPU 0 adds what the first one has waited for.
  using Pair = std::pair<std::string, std::string>;
  for (const Pair& order : {Pair{R"({"name": "sem_release", "semaphore_ids": [0]})", R"({"name": "sem_acquire", "semaphore_ids": [0]})"},
                            Pair{R"({"name": "barrier", "barrier_id": 0, "num_threadblocks": 2})",
                                 R"({"name": "barrier", "barrier_id": 0, "num_threadblocks": 2})"}}) {
    const auto with = [&](const std::string& before_the_sum) {
      return plan({gpu(0, put_to_scratch + "," + tell + "," + hear + "," + order.first, {1},
                       fmt::format(", {{\"id\": 1, \"ops\": [{}{}], \"channels\": []}}", before_the_sum, add_scratch)),
                   gpu(1, put_to_scratch + "," + tell + "," + hear + "," + add_scratch, {0})});
    };
    CHECK(read_mscclpp_json(with(fmt::format("{},", order.second))).messages() == 2);
    CHECK_THROWS_AS(read_mscclpp_json(with("")), InputError);
  }
}

TEST_CASE("what a plan lacks is said with its place") {
  const std::string right = put_exchange();
  CHECK(refused("{") == "line 1, column 2: the text ends in the middle of the JSON (truncated?)");
  CHECK(refused("{\n\"inplace\": 1e400}") == "line 2, column 16: not JSON: number overflow parsing '1e400'");
  CHECK(refused("{}") == "/collective: must be a string, got nothing\n/gpus: must be 1 to 1024 GPUs, got 0");
  CHECK(refused(plan({gpu(0, "", {1})}, "sendrecv")) ==
        "/collective: must be one of allreduce, allgather, reducescatter, alltoall, got \"sendrecv\": nothing says what another should do");
  CHECK(refused(changed(right, "\"index\": 0", "\"index\": 3")) ==
        "/gpus/0/threadblocks/0/ops/0/src_buff/0: chunks 3 to 3 of buffer i must be among its 1");
  CHECK(refused(changed(right, "\"index\": 0", "\"index\": -1")) ==
        "/gpus/0/threadblocks/0/ops/0/src_buff/0/index: must be a whole number, 0 to 4194304, got -1");
  CHECK(refused(changed(right, "\"name\": \"put\"", "\"name\": \"putt\""))
            .starts_with("/gpus/0/threadblocks/0/ops/0/name: unknown operation \"putt\" (did you mean \"put\"?); read are nop, "));
  CHECK(refused(changed(right, "\"name\": \"put\"", "\"name\": \"glres\"")) ==
        "/gpus/0/threadblocks/0/ops/0/name: glres adds what all GPUs of the group hold in the switch and stores the sum to all (NVLS "
        "multimem "
        "load-reduce and store): a schedule of sends, receives and sums has no such transfer");
  CHECK(refused(changed(right, "\"buffer_id\": 1", "\"buffer_id\": 2")) ==
        "/gpus/0/threadblocks/0/ops/0/dst_buff/0/buffer_id: must be one of the 2 remote buffers of the thread block, got 2");
  CHECK(refused(changed(right, "\"channel_ids\": [0]", "\"channel_ids\": [1]")) ==
        "/gpus/0/threadblocks/0/ops/1/channel_ids/0: must be one of the 1 channels of its type of the thread block, got 1");
  CHECK(refused(changed(right, "\"connected_to\": [1]", "\"connected_to\": [0]")) ==
        "/gpus/0/channels/0/connected_to/0: must be another GPU, got 0, its own");
  CHECK(refused(changed(right, "\"channels\": [{\"channel_type\": \"memory\", \"connected_to\": [1]}],", "")) ==
        "/gpus/0: has no \"channels\": plans are read as MSCCL++ writes them since its version 0.7");
  // GPU 0 adds nothing, so that only GPU 1 has the sum.
  CHECK(refused(put_exchange(put_to_scratch + "," + tell + "," + hear)).starts_with("is no right allreduce: "));
}

TEST_CASE("MSCCL++ has no words for servers, barriers and blocks of several sizes") {
  const Request servers{.algorithm = "parameter_server", .ranks = 4, .settings = {.servers = 2, .server_hosts = ServerHosts::extra}};
  CHECK_THROWS_WITH_AS(to_mscclpp_json(build(servers)), "2 of the ranks are servers beside the collective: MSCCL++ has none", InputError);
  const Request barrier{.collective = Collective::barrier, .algorithm = "dissemination", .ranks = 4};
  CHECK_THROWS_WITH_AS(to_mscclpp_json(build(barrier)), "a barrier moves no data: MSCCL++ has none", InputError);
}

TEST_CASE("steps that are said for some transfers only are not taken") {
  const Schedule ring = build({.algorithm = "ring", .ranks = 3});
  const Schedule read = read_mscclpp_json(changed(changed(to_mscclpp_json(ring), ",\"weft\":[0,0,0]", ""), "[0,1,", "[9,1,"));
  CHECK(read.channels.size() == 1);
  CHECK(read.messages() == ring.messages());
}

TEST_CASE("a ring's all-gather is put straight to where it belongs, and only sums go by way of scratch") {
  // n - 1 chunks of a ring of n are added on each rank: with signals, those alone need scratch; with packets, all 2(n - 1).
  const Schedule ring = build({.algorithm = "ring", .ranks = 4});
  CHECK(to_mscclpp_json(ring).find("\"scratch_chunks\": 3,") != std::string::npos);
  CHECK(to_mscclpp_json(ring, {.protocol = "LL"}).find("\"scratch_chunks\": 6,") != std::string::npos);
}

TEST_CASE("whatever bytes a plan has, it is read or refused") {
  const int rounds = mutation_rounds(2000);
  const int read = read_of_mutations({put_exchange(), example("allreduce_packet.json"), example("transfer_pack.json"),
                                      example("reduce.json"), to_mscclpp_json(build({.algorithm = "ring", .ranks = 3}))},
                                     20260202, rounds);
  CHECK(read > rounds / 50);
}

}  // namespace weft
