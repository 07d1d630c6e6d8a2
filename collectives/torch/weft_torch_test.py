"""The backend weft against gloo, on processes of this host. Run by ctest as `torch`."""
import datetime
import json
import os
import queue
import tempfile
import time
import traceback
import unittest

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

import weft_torch
from weft_torch import hooks, horovod as hvd

torch.set_num_threads(1)
context = mp.get_context("fork")  # importing torch takes longer than all that a test does
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.int32, torch.int64, torch.uint8]


def _child(rank, size, folder, timeout, body, args, results):
    try:
        timeout = datetime.timedelta(seconds=timeout)
        dist.init_process_group(
            body.backend if hasattr(body, "backend") else "weft", init_method=f"file://{folder}/store", rank=rank, world_size=size, timeout=timeout
        )
        results.put((rank, "ok", body(rank, size, *args)))
        dist.destroy_process_group()
    except BaseException as e:
        results.put((rank, "error", f"{type(e).__name__}: {e}" if os.environ.get("QUIET") else traceback.format_exc()))
    results.close()
    results.join_thread()


def run(size, body, *args, timeout=60, environment={}, of_rank=None):
    """What `body` returns on each rank; ("error", text) where it raised, ("died", text) where it ended without a word."""
    with tempfile.TemporaryDirectory() as folder:
        results, processes = context.Queue(), []
        for rank in range(size):
            kept = dict(os.environ)
            os.environ.update(environment)
            os.environ.update((of_rank or {}).get(rank, {}))
            processes.append(context.Process(target=_child, args=(rank, size, folder, timeout, body, args, results), daemon=True))
            processes[-1].start()
            os.environ.clear()
            os.environ.update(kept)
        got, deadline = {}, time.monotonic() + 120
        while len(got) < size and time.monotonic() < deadline:
            try:
                rank, how, what = results.get(timeout=0.2)
                got[rank] = what if how == "ok" else (how, what)
            except queue.Empty:
                if not any(p.is_alive() for p in processes):
                    break
        for p in processes:
            p.join(10)
            p.kill()
        return [got.get(rank, ("died", f"with exit status {p.exitcode}")) for rank, p in enumerate(processes)]


def values(rank, dtype, elements, salt=0):
    """Small whole numbers: sums are exact in every type and order."""
    return ((torch.arange(elements) * 7 + rank * 3 + salt) % 5).to(dtype)


def expect(got, wanted, what):
    if got.dtype != wanted.dtype or not torch.equal(got, wanted):
        raise AssertionError(f"{what}: got {got[:8]}, should be {wanted[:8]}")


def reductions(rank, size, sizes):
    gloo = dist.new_group(backend="gloo")
    operators = {
        dist.ReduceOp.SUM: lambda all: all.sum(0),
        dist.ReduceOp.MIN: lambda all: all.min(0).values,
        dist.ReduceOp.MAX: lambda all: all.max(0).values,
        dist.ReduceOp.PRODUCT: lambda all: all.prod(0),
    }
    for dtype in FLOATS + INTEGERS:
        for elements in sizes:
            for op, reference in operators.items():
                what = f"{dtype} {elements} {op}"
                wanted = reference(torch.stack([values(r, torch.float64, elements) for r in range(size)])).to(dtype)
                mine = values(rank, dtype, elements)
                dist.all_reduce(mine, op=op)
                expect(mine, wanted, f"all_reduce {what}")
                if dtype != torch.bfloat16:
                    theirs = values(rank, dtype, elements)
                    dist.all_reduce(theirs, op=op, group=gloo)
                    expect(mine, theirs, f"all_reduce against gloo {what}")
                rooted = values(rank, dtype, elements)
                dist.reduce(rooted, size - 1, op=op)
                expect(rooted, wanted if rank == size - 1 else values(rank, dtype, elements), f"reduce {what}")
                scattered = torch.empty(elements, dtype=dtype)
                dist.reduce_scatter(scattered, [values(rank, dtype, elements, salt=r) for r in range(size)], op=op)
                blocks = torch.stack([values(r, torch.float64, elements, salt=rank) for r in range(size)])
                expect(scattered, reference(blocks).to(dtype), f"reduce_scatter {what}")
            mean = values(rank, dtype, elements)
            dist.all_reduce(mean, op=dist.ReduceOp.AVG)
            total = torch.stack([values(r, torch.float64, elements) for r in range(size)]).sum(0)
            exact = (total // size if dtype in INTEGERS else total / size).to(dtype)
            if not torch.allclose(mean.double(), exact.double(), rtol=1e-2 if dtype in FLOATS[:2] else 1e-6):
                raise AssertionError(f"average {dtype} {elements}: {mean[:8]} {exact[:8]}")


def movements(rank, size, sizes):
    gloo = dist.new_group(backend="gloo")
    for dtype in [torch.float32, torch.bool, torch.int8, torch.complex64, torch.uint8]:
        for elements in sizes:
            mine = values(rank, dtype, elements)
            of_all = [values(r, dtype, elements) for r in range(size)]
            for root in range(size):
                t = mine.clone()
                dist.broadcast(t, root)
                expect(t, of_all[root], "broadcast")
                gathered = [torch.empty_like(mine) for _ in range(size)] if rank == root else None
                dist.gather(mine, gathered, dst=root)
                for got, wanted in zip(gathered or [], of_all):
                    expect(got, wanted, "gather")
                t = torch.empty_like(mine)
                dist.scatter(t, of_all if rank == root else None, src=root)
                expect(t, mine, "scatter")
            gathered = [torch.empty_like(mine) for _ in range(size)]
            dist.all_gather(gathered, mine)
            for got, wanted in zip(gathered, of_all):
                expect(got, wanted, "all_gather")
            flat = torch.empty(size * elements, dtype=dtype)
            dist.all_gather_into_tensor(flat, mine)
            expect(flat, torch.cat(of_all), "all_gather_into_tensor")
            exchanged = torch.empty(size * elements, dtype=dtype)
            dist.all_to_all_single(exchanged, torch.cat([values(rank, dtype, elements, salt=r) for r in range(size)]))
            expect(exchanged, torch.cat([values(r, dtype, elements, salt=rank) for r in range(size)]), "all_to_all_single")
        # Rank s sends s + r + 1 rows to rank r.
        out = [torch.full((rank + r + 1, 3), rank * 10 + r).to(dtype) for r in range(size)]
        into = [torch.empty(rank + r + 1, 3, dtype=dtype) for r in range(size)]
        dist.all_to_all(into, out)
        for r in range(size):
            expect(into[r], torch.full((rank + r + 1, 3), r * 10 + rank).to(dtype), "all_to_all")
        rows = [rank + r + 1 for r in range(size)]
        flat = torch.empty(sum(rows), 3, dtype=dtype)
        dist.all_to_all_single(flat, torch.cat(out), rows, rows)
        expect(flat, torch.cat(into), "all_to_all_single with splits")
    columns = torch.arange(12.0).reshape(3, 4).t() * (rank + 1)  # not contiguous
    dist.all_reduce(columns)
    expect(columns, torch.arange(12.0).reshape(3, 4).t() * (size * (size + 1) // 2), "all_reduce of columns")
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": r} for r in range(size)], objects
    dist.barrier()
    del gloo


def several_at_once(rank, size):
    tensors = [torch.full((1000,), float(i + rank)) for i in range(50)]
    works = [dist.all_reduce(t, async_op=True) for t in tensors]
    for i, (work, t) in enumerate(zip(works, tensors)):
        work.wait()
        expect(t, torch.full((1000,), float(i * size + size * (size - 1) // 2)), f"all_reduce {i}")
    halves = [dist.new_group([r for r in range(size) if r % 2 == parity]) for parity in (0, 1)]
    t = torch.tensor([float(rank)])
    dist.all_reduce(t, group=halves[rank % 2])
    expect(t, torch.tensor([float(sum(r for r in range(size) if r % 2 == rank % 2))]), "all_reduce of a group")
    return weft_torch.carrier()


def from_one_to_another(rank, size):
    right, left = (rank + 1) % size, (rank - 1) % size
    out, into = torch.full((100_000,), float(rank)), torch.empty(100_000)
    receiving = dist.irecv(into, left)  # before anybody sends
    sending = dist.isend(out, right)
    receiving.wait()
    sending.wait()
    expect(into, torch.full((100_000,), float(left)), "send and recv")
    if rank == 0:
        for tag in (1, 2):
            dist.send(torch.tensor([float(tag)]), 1, tag=tag)
    if rank == 1:
        for tag in (2, 1):  # the other way round
            t = torch.empty(1)
            dist.recv(t, 0, tag=tag)
            expect(t, torch.tensor([float(tag)]), "tags")


def small_model():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))


def batches(rank, steps):
    generator = torch.Generator().manual_seed(100 + rank)
    for _ in range(steps):
        x = torch.randn(16, 20, generator=generator)
        yield x, x.sum(1, keepdim=True).sin()


def train(rank, size, backend, hook=None, state=None, steps=30):
    model = DistributedDataParallel(small_model(), process_group=dist.new_group(backend=backend))
    if hook:
        model.register_comm_hook(state() if state else None, hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for x, y in batches(rank, steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def both_curves(rank, size):
    return train(rank, size, "weft"), train(rank, size, "gloo")


def hooked_curves(rank, size):
    return train(rank, size, "weft"), train(rank, size, "weft", hooks.fp16), train(rank, size, "weft", hooks.bf16)


def aiacc_curves(rank, size):
    refused = []
    for wrong in ({"streams": 0}, {"granularity": 0}):
        try:
            hooks.Aiacc(**wrong)
        except ValueError as e:
            refused.append(str(e))
    return train(rank, size, "weft"), train(rank, size, "weft", hooks.aiacc, lambda: hooks.Aiacc(streams=3, granularity=1000)), refused


def compressed_curves(rank, size):
    kept_all = train(rank, size, "weft", hooks.compressed, lambda: hooks.Compression("topk_allgather", k="100%"))
    curves = [train(rank, size, "weft", hooks.compressed, lambda: hooks.Compression(name, k="25%", columns="50%")) for name in COMPRESSIONS]
    return train(rank, size, "weft"), kept_all, curves


def refused_compressions(rank, size):
    messages = []
    for named in ({"name": "gs_gsd"}, {"k": "0"}, {"k": "200%"}, {"columns": "0"}, {"dense_steps": 0}, {"memory": "none"}):
        try:
            hooks.Compression(**named)
            messages.append("nothing")
        except (ValueError, RuntimeError) as e:
            messages.append(str(e))
    return messages


def not_a_number(rank, size):
    def poisoned(state, bucket):
        if rank == 1 and state._steps == 2:
            bucket.buffer()[5] = float("nan")
        return hooks.compressed(state, bucket)

    try:
        train(rank, size, "weft", poisoned, lambda: hooks.Compression("gs_sgd"))
    except RuntimeError as e:
        return str(e)


def horovod_curves(rank, size):
    hvd.init()
    torch.manual_seed(rank)  # what the broadcasts put right
    model = small_model() if rank == 0 else torch.nn.Sequential(*[m for m in small_model()])
    with torch.no_grad():
        for p in model.parameters():
            p.add_(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05 if rank == 0 else 7.0, momentum=0.9)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    assert isinstance(optimizer, torch.optim.SGD) and (hvd.rank(), hvd.size(), hvd.local_rank()) == (rank, size, 0)
    losses = []
    for x, y in batches(rank, 30):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    mean = hvd.allreduce(torch.tensor([float(rank)]), name="mean")
    expect(mean, torch.tensor([(size - 1) / 2]), "hvd.allreduce")
    expect(hvd.allreduce(torch.tensor([rank]), op=hvd.Sum), torch.tensor([size * (size - 1) // 2]), "hvd.allreduce, sum")
    rows = hvd.allgather(torch.full((rank + 1, 2), rank))
    expect(rows, torch.cat([torch.full((r + 1, 2), r) for r in range(size)]), "hvd.allgather")
    assert hvd.broadcast_object(rank, root_rank=1) == 1
    return losses, train(rank, size, "gloo")


def recorded(rank, size, path):
    model = small_model()
    parallel = DistributedDataParallel(model)
    with weft_torch.record(path, model):
        for x, y in batches(rank, 3):
            torch.nn.functional.mse_loss(parallel(x), y).backward()


def refusals(rank, size):
    def message(call, *args, **named):
        try:
            call(*args, **named)
        except (ValueError, RuntimeError, TypeError, NotImplementedError) as e:
            return f"{type(e).__name__}: {e}"
        return "nothing"

    return [
        message(dist.all_reduce, torch.zeros(3, dtype=torch.int8)),
        message(dist.all_reduce, torch.zeros(3), op=dist.ReduceOp.BXOR),
        message(dist.all_reduce, torch.zeros(3), op=dist.ReduceOp.BAND),
        message(dist.all_reduce, torch.zeros(3).to_sparse()),
        message(dist.all_gather, [torch.zeros(2) for _ in range(size)], torch.zeros(3)),
        message(dist.all_gather_into_tensor, torch.zeros(3), torch.zeros(3)),
        message(dist.all_to_all_single, torch.zeros(3), torch.zeros(3)),
    ]


def one_dies(rank, size):
    dist.all_reduce(torch.ones(10))
    if rank == 1:
        os._exit(3)
    start = time.monotonic()
    try:
        dist.all_reduce(torch.ones(10))
    except RuntimeError as e:
        try:
            dist.all_reduce(torch.ones(10))
        except RuntimeError as again:
            return time.monotonic() - start, str(e), str(again)
    return "nothing was raised"


def one_leaves(rank, size):
    try:
        dist.all_reduce(torch.ones(10))
        if rank != 1:
            dist.all_reduce(torch.ones(10))
    except RuntimeError as e:
        return str(e)


def one_hangs(rank, size):
    dist.all_reduce(torch.ones(10))
    if rank == 1:
        time.sleep(9)
        return
    try:
        dist.all_reduce(torch.ones(10))
    except RuntimeError as e:
        return str(e)


def different_sizes(rank, size):
    try:
        dist.all_reduce(torch.ones(10 + rank))
    except RuntimeError as e:
        return str(e)


def nothing(rank, size):
    pass


def carriers(rank, size):
    return weft_torch.carrier()


for body in (both_curves,):
    body.backend = "gloo"

COMPRESSIONS = ["gs_sgd", "gtopk", "sketched_sgd", "topk_allgather", "dense"]
EACH_CARRIER = [{"WEFT_TRANSPORT": "tcp"}, {"WEFT_TRANSPORT": "shared_memory"}]
SIZES = [0, 1, 3, 1000, 40_000]


class WeftTest(unittest.TestCase):
    def expect_good(self, results):
        for rank, result in enumerate(results):
            self.assertFalse(isinstance(result, tuple) and result and result[0] in ("error", "died"), f"rank {rank}: {result}")

    def expect_error(self, result, *texts):
        self.assertTrue(isinstance(result, tuple) and result[0] == "error", result)
        for text in texts:
            self.assertIn(text, result[1])

    def test_sums_equal_those_of_gloo(self):
        for size, environment in [(2, EACH_CARRIER[0]), (4, EACH_CARRIER[1]), (3, {})]:
            with self.subTest(size=size, environment=environment):
                self.expect_good(run(size, reductions, SIZES, environment=environment))

    def test_what_is_moved_arrives(self):
        for size, environment in [(2, EACH_CARRIER[1]), (4, EACH_CARRIER[0]), (3, {}), (1, {})]:
            with self.subTest(size=size, environment=environment):
                self.expect_good(run(size, movements, [0, 1, 1000, 70_000], environment=environment))

    def test_every_algorithm_that_is_asked_for_gives_the_same(self):
        asked = [
            "ring",
            "ring/pieces=4",
            "allreduce=hierarchical_ring/group=2,reduce=chain/pieces=3,reduce_scatter=direct",
            "allreduce=parameter_server/servers=2,reduce=reduce_scatter_gather,reduce_scatter=ring",
        ]
        for algorithm in asked:
            with self.subTest(algorithm=algorithm):
                self.expect_good(run(4, reductions, [0, 1000], environment={"WEFT_ALGORITHM": algorithm}))
        moved = "broadcast=chain/pieces=4,allgather=direct,alltoall=bruck"
        self.expect_good(run(4, movements, [0, 1000], environment={"WEFT_ALGORITHM": moved}))

    def test_collectives_overlap_and_groups_are_apart(self):
        self.assertEqual(run(4, several_at_once), ["shared_memory"] * 4)

    def test_messages_between_two_ranks(self):
        for size in (2, 3):
            self.expect_good(run(size, from_one_to_another))

    def test_the_training_curve_is_that_of_gloo(self):
        for size in (2, 4):
            results = run(size, both_curves)
            self.expect_good(results)
            for ours, theirs in results:
                self.assertLess(min(ours), 0.8 * ours[0])
                torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs), rtol=0 if size == 2 else 1e-4, atol=0 if size == 2 else 1e-6)

    def test_half_precision_hooks_train_as_well(self):
        results = run(2, hooked_curves)
        self.expect_good(results)
        for plain, *halves in results:
            for half in halves:
                torch.testing.assert_close(torch.tensor(plain), torch.tensor(half), rtol=0.2, atol=0.01)

    def test_units_on_several_streams_train_as_buckets_do(self):
        for rank, (plain, in_units, refused) in enumerate(run(2, aiacc_curves)):
            self.assertEqual(plain, in_units, f"rank {rank}")  # a sum of two is the same in any order
            self.assertEqual(refused, ["streams must be at least 1, got 0", "granularity must be at least 1 byte, got 0"])

    def test_compressed_gradients_train_too(self):
        results = run(2, compressed_curves)
        self.expect_good(results)
        for plain, kept_all, curves in results:
            torch.testing.assert_close(torch.tensor(plain), torch.tensor(kept_all), rtol=1e-4, atol=1e-6)
            for name, losses in zip(COMPRESSIONS, curves):
                self.assertLess(min(losses), 0.9 * losses[0], name)

    def test_compressions_that_cannot_be_run_are_refused(self):
        for result in run(2, refused_compressions):
            name, no_k, large_k, columns, steps, memory = result
            self.assertIn("gs_gsd", name)
            self.assertIn("k", no_k)
            self.assertIn("k", large_k)
            self.assertIn("columns", columns)
            self.assertIn("dense_steps must be at least 1, got 0", steps)
            self.assertIn('memory: must be dense or sketch, got "none"', memory)

    def test_a_gradient_that_is_not_a_number_is_named_on_every_rank(self):
        for result in run(2, not_a_number):
            self.assertIn("rank 1", result)
            self.assertIn("bucket 0", result)

    def test_a_horovod_script_trains_as_well(self):
        results = run(2, horovod_curves)
        self.expect_good(results)
        for ours, theirs in results:
            torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs), rtol=1e-4, atol=1e-6)

    def test_a_run_is_recorded(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.jsonl")
            self.expect_good(run(2, recorded, path))
            with open(path) as file:
                header, *lines = [json.loads(line) for line in file]
        self.assertEqual((header["format"], header["ranks"]), ("weft trace", 2))
        for rank in (0, 1):
            mine = [line for line in lines if line["rank"] == rank]
            self.assertEqual(sum(line["bytes"] for line in mine if line["op"] == "gradient"), 3 * 4 * (20 * 64 + 64 + 64 * 64 + 64 + 64 + 1))
            self.assertEqual(sum(line["op"] == "compute" and line["phase"] == "forward" for line in mine), 3 * 5)
            self.assertEqual(sum(line["op"] == "compute" and line["phase"] == "backward" for line in mine), 3 * 5)
            sums = [line for line in mine if line["op"] == "allreduce"]
            self.assertEqual([line["bytes"] for line in sums][:1], [4 * (20 * 64 + 64 + 64 * 64 + 64 + 64 + 1)])
            self.assertTrue(all(line["end_us"] >= line["start_us"] >= 0 for line in mine))

    def test_what_cannot_be_carried_is_refused(self):
        results = run(2, refusals)
        self.expect_good(results)
        int8, xor, band, sparse, gather, flat, alltoall = results[0]
        self.assertEqual(int8, "ValueError: weft: all_reduce: the tensor has the type Char, must be one of float16, bfloat16, float32, float64, int32, int64, uint8")
        self.assertIn("the operator must be one of SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR", xor)
        self.assertEqual(band, "ValueError: weft: all_reduce: band is defined on integers only, got float32")
        self.assertNotEqual(sparse, "nothing")
        self.assertIn("tensor 0 has 2 elements of Float, must have 3 of Float", gather)
        self.assertNotEqual(flat, "nothing")
        self.assertIn("must be divisible by the 2 ranks", alltoall)

    def test_settings_that_cannot_be_run_are_refused(self):
        for algorithm, text in [
            ("rong", 'WEFT_ALGORITHM: rong: algorithm: unknown allreduce algorithm "rong"'),
            ("allreduse=ring", 'unknown collective "allreduse"'),
            ("ring/peaces=2", 'unknown setting "peaces", must be one of group, servers, pieces'),
            ("ring/pieces=two", 'pieces must be a whole number, got "two"'),
            ("allgather=neighbour_exchange", "ranks"),
            ("mpi", "is another algorithm for each size"),
            ("ring,allreduce=direct", "allreduce is named twice"),
        ]:
            for result in run(3, nothing, environment={"WEFT_ALGORITHM": algorithm}):
                self.expect_error(result, text)
        for result in run(2, nothing, environment={"WEFT_TRANSPORT": "pigeon"}):
            self.expect_error(result, 'WEFT_TRANSPORT: must be tcp or shared_memory, or left out, got "pigeon"')

    def test_ranks_with_different_settings_are_refused(self):
        for result in run(2, nothing, of_rank={1: {"WEFT_ALGORITHM": "ring"}}):
            self.expect_error(result, 'WEFT_ALGORITHM="ring"')

    def test_each_carrier_can_be_asked_for(self):
        for environment in EACH_CARRIER:
            self.assertEqual(run(2, carriers, environment=environment), [environment["WEFT_TRANSPORT"]] * 2)

    def test_when_a_rank_dies_every_other_raises_with_its_name(self):
        for environment in EACH_CARRIER:
            results = run(4, one_dies, environment=environment)
            self.assertEqual(results[1], ("died", "with exit status 3"))
            for rank in (0, 2, 3):
                took, first, second = results[rank]
                self.assertLess(took, 10)
                self.assertIn("rank 1 is gone: its connection ended without a farewell", first)
                self.assertIn("the group ended before", second)

    def test_a_rank_that_left_is_named(self):
        for environment in EACH_CARRIER:
            for rank, result in enumerate(run(3, one_leaves, environment=environment)):
                if rank != 1:
                    self.assertIn("rank 1 has finished", result)

    def test_a_rank_that_does_not_come_along_is_named_after_the_timeout(self):
        for environment in EACH_CARRIER:
            results = run(3, one_hangs, timeout=4, environment=environment)
            self.assertIn("no progress for 4000 ms", results[0])
            self.assertIn("from rank 1", results[0])  # which rank 2 waits for
            self.assertIn("operation 2 of the group", results[2])

    def test_ranks_that_call_different_things_find_out(self):
        for environment in EACH_CARRIER:
            results = run(2, different_sizes, timeout=4, environment=environment)
            for result in results:
                self.assertIn("all", result)


if __name__ == "__main__":
    unittest.main(verbosity=2)
