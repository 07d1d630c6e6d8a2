"""Communication hooks for DistributedDataParallel: model.register_comm_hook(state, hook).

  model.register_comm_hook(None, hooks.fp16)           # or bf16: gradients travel in half of the bytes
  model.register_comm_hook(hooks.Compression("gs_sgd", columns="10%", k="1%"), hooks.compressed)
  model.register_comm_hook(hooks.Aiacc(streams=4, granularity=8 << 20), hooks.aiacc)
"""
import torch
import torch.distributed as dist

from . import _backend_of, _C

_ANY_SIZE = 1 << 20  # for settings that no size can make sound; each bucket is looked at when it comes


def _in_half(half_dtype, group, bucket):
    group = group if group is not None else dist.group.WORLD
    sent = bucket.buffer().to(half_dtype).div_(group.size())
    future = dist.all_reduce(sent, group=group, async_op=True).get_future()
    return future.then(lambda done: bucket.buffer().copy_(done.value()[0]))


def fp16(group, bucket):
    """Gradients are averaged as float16."""
    return _in_half(torch.float16, group, bucket)


def bf16(group, bucket):
    """Gradients are averaged as bfloat16, which has the range of float32."""
    return _in_half(torch.bfloat16, group, bucket)


def _average(group, buffer):
    future = dist.all_reduce(buffer.div_(group.size()), group=group, async_op=True).get_future()
    return future.then(lambda done: done.value()[0])


class Compression:
    """What `compressed` does with gradients, and what it has kept of them.

    name     gs_sgd, gtopk, sketched_sgd, topk_allgather or dense
    k        elements that a step updates, of each bucket: a share ("1%") or a count ("1000")
    rows, columns, seed   of the sketch, where there is one; columns a share or a count
    dense_steps   so many first steps are not compressed. At least 1: DistributedDataParallel lays its buckets out anew after the first
    """

    def __init__(self, name="gs_sgd", k="1%", rows=5, columns="10%", seed=1, momentum=0.0, memory="dense", dense_steps=1, group=None):
        if dense_steps < 1:
            raise ValueError(f"dense_steps must be at least 1, got {dense_steps}")
        self.group = group if group is not None else dist.group.WORLD
        self.dense_steps = dense_steps
        self._settings = dict(name=name, rows=rows, columns=str(columns), k=str(k), seed=seed, momentum=momentum, memory=memory)
        _C.check_compression(self._settings, _ANY_SIZE)
        self._compressors = {}  # by the bucket's index
        self._steps = 0

    def set_k(self, k):
        """From the next step on, on all ranks. What was kept stays."""
        self._settings["k"] = str(k)
        _C.check_compression(self._settings, _ANY_SIZE)
        for compressor in self._compressors.values():
            compressor.set_k(str(k))

    def _compressor(self, bucket):
        found = self._compressors.get(bucket.index())
        sizes = [p.numel() for p in bucket.parameters()]
        if found is None or found.sizes() != sizes:
            names = [f"gradient {i} of bucket {bucket.index()}" for i in range(len(sizes))]
            found = _C.Compressor(_backend_of(self.group), self._settings, list(zip(names, sizes)))
            self._compressors[bucket.index()] = found
        return found


def compressed(state, bucket):
    """Averages what the compression of `state` sends of the gradients; what it does not send it keeps for later steps."""
    last, dense = bucket.is_last(), state._steps < state.dense_steps
    state._steps += last
    if dense or bucket.buffer().dtype != torch.float32:
        return _average(state.group, bucket.buffer())
    future = state._compressor(bucket).all_reduce(bucket.buffer()).get_future()
    return future.then(lambda done: done.value()[0].div_(state.group.size()))


class Aiacc:
    """AIACC's streams: gradients are cut into units of one size, and several of them are reduced at once, each stream over connections
    of its own. Which gradients are ready everywhere, AIACC asks the other ranks; DistributedDataParallel gives all ranks the same buckets
    in the same order, so nothing is asked here. All ranks make one at the same time, with the same arguments.

    streams      units reduced at once
    granularity  bytes of a unit
    ranks        who trains together; all when not given
    """

    def __init__(self, streams=4, granularity=8 << 20, ranks=None):
        if streams < 1:
            raise ValueError(f"streams must be at least 1, got {streams}")
        if granularity < 1:
            raise ValueError(f"granularity must be at least 1 byte, got {granularity}")
        self.granularity = granularity
        self._groups = [dist.new_group(ranks) for _ in range(streams)]
        self._next = 0

    def next_group(self):
        self._next = (self._next + 1) % len(self._groups)
        return self._groups[self._next]


def aiacc(state, bucket):
    """Averages a bucket unit by unit, on the streams of `state` in turn."""
    buffer = bucket.buffer().div_(state._groups[0].size())
    unit = max(1, state.granularity // buffer.element_size())
    parts = [
        dist.all_reduce(buffer[begin : begin + unit], group=state.next_group(), async_op=True).get_future()
        for begin in range(0, buffer.numel(), unit)
    ]
    return torch.futures.collect_all(parts).then(lambda _: buffer)
