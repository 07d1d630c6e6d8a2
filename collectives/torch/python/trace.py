"""record(): what a training run computes and communicates, as Weft's trace (validation/measurements/README.md)."""
import contextlib
import json
import time

import torch
import torch.distributed as dist

from . import _C

_group_sizes = {}  # of the groups made so far, by their id


def _one_clock_for_all(boots):
    return all(b == boots[0] for b in boots)


def _clock_offsets_us():
    """What to subtract from each rank's clock to have rank 0's: the median over moments at which all leave a barrier."""
    with open("/proc/sys/kernel/random/boot_id") as f:
        boot = f.read()
    boots = [None] * dist.get_world_size()
    dist.all_gather_object(boots, boot)
    if _one_clock_for_all(boots):
        return [0.0] * len(boots)
    moments = []
    for _ in range(21):
        dist.barrier()
        moments.append(time.monotonic_ns())
    of_all = [None] * len(boots)
    dist.all_gather_object(of_all, moments)
    offsets = []
    for mine in of_all:
        differences = sorted(a - b for a, b in zip(mine, of_all[0]))
        offsets.append(differences[len(differences) // 2] / 1e3)
    return offsets


class _Layers:
    """Times of the layers of a model: forward and backward passes, and when each gradient is there."""

    def __init__(self, model):
        self.lines = []
        self._starts = {}
        self._backward = []  # (start, layer) of the pass under way
        self._handles = []
        for name, module in model.named_modules():
            if next(module.children(), None) is None:
                self._handles.append(module.register_forward_pre_hook(self._enter(name)))
                self._handles.append(module.register_forward_hook(self._leave(name)))
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                self._handles.append(parameter.register_hook(self._gradient(name, parameter)))

    def _line(self, op, layer, start_ns, end_ns, **more):
        self.lines.append({"op": op, "layer": layer, **more, "start_ns": start_ns, "end_ns": end_ns})

    def _enter(self, name):
        def hook(_module, _inputs):
            if not self._starts:
                self._end_backward(self._last_gradient())
            self._starts[name] = time.monotonic_ns()

        return hook

    def _leave(self, name):
        def hook(_module, _inputs, output):
            self._line("compute", name, self._starts.pop(name), time.monotonic_ns(), phase="forward", bytes=0)
            if isinstance(output, torch.Tensor) and output.requires_grad:
                output.register_hook(lambda _gradient: self._backward.append((time.monotonic_ns(), name)))

        return hook

    def _gradient(self, name, parameter):
        size = parameter.numel() * parameter.element_size()

        def hook(_gradient):
            now = time.monotonic_ns()
            self._line("gradient", name, now, now, bytes=size)

        return hook

    def _last_gradient(self):
        return max((line["end_ns"] for line in self.lines if line["op"] == "gradient"), default=0)

    def _end_backward(self, end_ns):
        """A layer's backward pass lasts from the gradient of its output to that of the next layer's output."""
        passes, self._backward = sorted(self._backward), []
        for (start, layer), following in zip(passes, [start for start, _ in passes[1:]] + [end_ns]):
            self._line("compute", layer, start, max(start, following), phase="backward", bytes=0)

    def close(self):
        self._end_backward(self._last_gradient())
        for handle in self._handles:
            handle.remove()


def _collectives():
    """Those of groups of all ranks: the trace has no others."""
    for group, op, size, algorithm, start, end in _C.take_recorded_collectives():
        if _group_sizes.get(group) == dist.get_world_size():
            yield {"op": op, "bytes": size, "algorithm": algorithm, "start_ns": start, "end_ns": end}


@contextlib.contextmanager
def record(path, model=None, system="PyTorch"):
    """Writes to `path`, on rank 0, what all ranks do inside the `with`: their collectives and, given the model (the module
    itself, not what DistributedDataParallel makes of it), the passes of its layers and the moments its gradients are there."""
    offsets = _clock_offsets_us()
    layers = _Layers(model) if model is not None else None
    dist.barrier()
    begin = time.monotonic_ns()
    _C.record_collectives(True)
    try:
        yield
    finally:
        mine = list(_collectives())
        _C.record_collectives(False)
        if layers:
            layers.close()
            mine += layers.lines
    of_all = [None] * dist.get_world_size()
    dist.all_gather_object(of_all, (begin, sorted(mine, key=lambda line: line["start_ns"])))
    if dist.get_rank() == 0:
        _write(path, system, offsets, of_all)
    dist.barrier()


def _write(path, system, offsets, of_all):
    origin = min(begin - offset * 1e3 for (begin, _), offset in zip(of_all, offsets))  # on rank 0's clock
    with open(path, "w") as file:
        header = {"format": "weft trace", "version": 1, "ranks": len(of_all), "system": system, "clock": "monotonic"}
        file.write(json.dumps({**header, "clocks": [{"offset_us": o} for o in offsets]}) + "\n")
        for rank, (_, lines) in enumerate(of_all):
            for line in lines:
                times = {f"{which}_us": (line.pop(f"{which}_ns") - origin) / 1e3 for which in ("start", "end")}
                file.write(json.dumps({"rank": rank, **line, **times}) + "\n")
