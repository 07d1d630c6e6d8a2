"""Horovod's interface for PyTorch over the backend weft: `import weft_torch.horovod as hvd` is all a script changes.

Processes are started by torchrun, or by mpirun with MASTER_ADDR and MASTER_PORT set; one that is started alone is a group of one.
"""
import contextlib
import os
import tempfile

import torch
import torch.distributed as dist

import weft_torch  # noqa: F401  (registers the backend)

Average, Sum, Min, Max, Product = "Average", "Sum", "Min", "Max", "Product"
_operators = {
    Average: dist.ReduceOp.AVG,
    Sum: dist.ReduceOp.SUM,
    Min: dist.ReduceOp.MIN,
    Max: dist.ReduceOp.MAX,
    Product: dist.ReduceOp.PRODUCT,
}


def _from_environment(*names):
    for name in names:
        if name in os.environ:
            return int(os.environ[name])
    return None


def init():
    """Meets the other processes. Does nothing where a process group is there already."""
    if dist.is_initialized():
        return
    rank = _from_environment("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
    size = _from_environment("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
    if rank is None or size is None:
        with tempfile.NamedTemporaryFile(delete=False) as file:
            store = dist.FileStore(file.name, 1)
        dist.init_process_group("weft", store=store, rank=0, world_size=1)
    else:
        dist.init_process_group("weft", rank=rank, world_size=size)


def shutdown():
    if dist.is_initialized():
        dist.destroy_process_group()


def is_initialized():
    return dist.is_initialized()


def rank():
    return dist.get_rank()


def size():
    return dist.get_world_size()


def local_rank():
    return _from_environment("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID") or 0


def local_size():
    return _from_environment("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS") or 1


class Compression:
    class none:
        @staticmethod
        def compress(tensor):
            return tensor, None

        @staticmethod
        def decompress(tensor, _context):
            return tensor

    class fp16:
        @staticmethod
        def compress(tensor):
            return (tensor.half(), tensor.dtype) if tensor.is_floating_point() else (tensor, None)

        @staticmethod
        def decompress(tensor, context):
            return tensor if context is None else tensor.to(context)


def _operator(average, op):
    if average is not None and op is not None:
        raise ValueError("hvd.allreduce: average and op cannot both be given; average=False is op=hvd.Sum")
    chosen = (Sum if average is False else Average) if op is None else op
    if chosen not in _operators:
        raise ValueError(f"hvd.allreduce: op must be one of {', '.join(_operators)}, got {op}")
    return _operators[chosen]


class _Handle:
    def __init__(self, work, finish):
        self._work, self._finish = work, finish

    def done(self):
        return self._work.is_completed()

    def wait(self):
        self._work.wait()
        return self._finish()


def poll(handle):
    return handle.done()


def synchronize(handle):
    return handle.wait()


def allreduce_async_(tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, compression=Compression.none):
    if prescale_factor != 1.0:
        tensor.mul_(prescale_factor)
    sent, context = compression.compress(tensor)
    work = dist.all_reduce(sent, op=_operator(average, op), async_op=True)

    def finish():
        result = compression.decompress(sent, context)
        if result is not tensor:
            tensor.copy_(result)
        return tensor.mul_(postscale_factor) if postscale_factor != 1.0 else tensor

    return _Handle(work, finish)


def allreduce_async(tensor, *args, **named):
    return allreduce_async_(tensor.detach().clone(), *args, **named)


def allreduce_(tensor, *args, **named):
    return synchronize(allreduce_async_(tensor, *args, **named))


def allreduce(tensor, *args, **named):
    return synchronize(allreduce_async(tensor, *args, **named))


def allgather(tensor, name=None):
    """The tensors of all ranks one behind the other; they may differ in the first dimension."""
    rows = torch.tensor([tensor.shape[0]])
    rows_of_all = [torch.zeros_like(rows) for _ in range(size())]
    dist.all_gather(rows_of_all, rows)
    most = max(int(r) for r in rows_of_all)
    padded = tensor.new_zeros((most, *tensor.shape[1:]))
    padded[: tensor.shape[0]] = tensor
    blocks = [torch.empty_like(padded) for _ in range(size())]
    dist.all_gather(blocks, padded)
    return torch.cat([block[: int(r)] for block, r in zip(blocks, rows_of_all)])


def broadcast_(tensor, root_rank, name=None):
    dist.broadcast(tensor.detach(), root_rank)
    return tensor


def broadcast(tensor, root_rank, name=None):
    return broadcast_(tensor.detach().clone(), root_rank)


def broadcast_object(value=None, root_rank=0, name=None):
    values = [value]
    dist.broadcast_object_list(values, src=root_rank)
    return values[0]


def allgather_object(value, name=None):
    values = [None] * size()
    dist.all_gather_object(values, value)
    return values


def barrier():
    dist.barrier()


def broadcast_parameters(parameters, root_rank):
    """`parameters` is a state_dict() or named_parameters()."""
    pairs = sorted(parameters.items()) if isinstance(parameters, dict) else list(parameters)
    works = [dist.broadcast(p.detach(), root_rank, async_op=True) for _, p in pairs if isinstance(p, torch.Tensor)]
    for work in works:
        work.wait()


def broadcast_optimizer_state(optimizer, root_rank):
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError("hvd.broadcast_optimizer_state: LBFGS keeps its state in closures and cannot be broadcast")
    state = broadcast_object(optimizer.state_dict() if rank() == root_rank else None, root_rank)
    if rank() != root_rank:
        optimizer.load_state_dict(state)


class _Bucket:
    def __init__(self):
        self.parameters, self.bytes = [], 0
        self.missing = 0  # gradients that are not there yet
        self.work = self.flat = self.context = None


class _Distributed:
    """What DistributedOptimizer adds to an optimizer: gradients are summed in buckets while the backward pass goes on."""

    def _begin(self, named_parameters, compression, backward_passes_per_step, op):
        if backward_passes_per_step < 1:
            raise ValueError(f"DistributedOptimizer: backward_passes_per_step must be at least 1, got {backward_passes_per_step}")
        self._operator = _operator(None, op)
        self._compression, self._passes = compression, backward_passes_per_step
        self._synchronized = False
        self._should_synchronize = True
        own = [p for group in self.param_groups for p in group["params"] if p.requires_grad]
        if named_parameters is not None:
            named = [p for _, p in named_parameters]
            if len({id(p) for p in named}) != len(named):
                raise ValueError("DistributedOptimizer: a parameter is named twice in named_parameters")
            lacking = len({id(p) for p in own} - {id(p) for p in named})
            if lacking:
                raise ValueError(f"DistributedOptimizer: named_parameters lacks {lacking} of the optimizer's parameters")
        self._make_buckets(own, int(os.environ.get("HOROVOD_FUSION_THRESHOLD", 25 << 20)))
        self._accumulators = []
        for bucket in self._buckets:
            for p in bucket.parameters:
                accumulator = p.expand_as(p).grad_fn.next_functions[0][0]
                accumulator.register_hook(self._hook(bucket, p))
                self._accumulators.append(accumulator)
        self._restart()

    def _make_buckets(self, parameters, threshold):
        """Gradients come in about the reverse order of the parameters."""
        self._buckets, open_buckets = [], {}
        for p in reversed(parameters):
            bucket = open_buckets.get(p.dtype)
            if bucket is None or bucket.bytes + p.numel() * p.element_size() > threshold:
                bucket = open_buckets[p.dtype] = _Bucket()
                self._buckets.append(bucket)
            bucket.parameters.append(p)
            bucket.bytes += p.numel() * p.element_size()

    def _restart(self):
        self._next = 0  # buckets are sent in one order on all ranks
        self._passes_left = {}
        for bucket in self._buckets:
            bucket.missing, bucket.work = len(bucket.parameters), None
            for p in bucket.parameters:
                self._passes_left[p] = self._passes

    def _hook(self, bucket, p):
        def gradient_is_there(*_):
            if self._passes_left[p] == 0:
                raise AssertionError(
                    "gradients were computed more than backward_passes_per_step times before step() or synchronize()"
                )
            self._passes_left[p] -= 1
            if self._passes_left[p] == 0:
                bucket.missing -= 1
            while self._next < len(self._buckets) and self._buckets[self._next].missing == 0:
                self._send(self._buckets[self._next])

        return gradient_is_there

    def _send(self, bucket):
        self._next += 1
        with torch.no_grad():
            gradients = [p.grad.reshape(-1) if p.grad is not None else torch.zeros(p.numel(), dtype=p.dtype) for p in bucket.parameters]
            flat = torch.cat(gradients) if len(gradients) > 1 else gradients[0]
            bucket.flat, bucket.context = self._compression.compress(flat)
        bucket.work = dist.all_reduce(bucket.flat, op=self._operator, async_op=True)

    def synchronize(self):
        """Waits until the gradients of all ranks are in the parameters' `grad`."""
        while self._next < len(self._buckets):
            self._send(self._buckets[self._next])
        with torch.no_grad():
            for bucket in self._buckets:
                bucket.work.wait()
                flat, at = self._compression.decompress(bucket.flat, bucket.context), 0
                for p in bucket.parameters:
                    if p.grad is None:
                        p.grad = torch.zeros_like(p)
                    p.grad.copy_(flat[at : at + p.numel()].view_as(p.grad))
                    at += p.numel()
        self._restart()
        self._synchronized = True

    @contextlib.contextmanager
    def skip_synchronize(self):
        """Around step() when synchronize() was called already, as for clipping gradients."""
        self._should_synchronize = False
        try:
            yield
        finally:
            self._should_synchronize = True

    def step(self, closure=None):
        if self._should_synchronize:
            self.synchronize()
        self._synchronized = False
        return super(self.__class__, self).step(closure)


def DistributedOptimizer(
    optimizer, named_parameters=None, compression=Compression.none, backward_passes_per_step=1, op=Average, gradient_predivide_factor=1.0
):
    if gradient_predivide_factor != 1.0:
        raise ValueError(f"DistributedOptimizer: gradient_predivide_factor must be 1.0, got {gradient_predivide_factor}")
    methods = {name: value for name, value in vars(_Distributed).items() if not name.startswith("__")}
    # An optimizer of the same kind over the same parameters and state.
    cls = type(optimizer.__class__.__name__, (optimizer.__class__,), methods)
    made = cls.__new__(cls)
    made.__dict__.update({name: value for name, value in vars(optimizer).items() if name != "step"})
    made._begin(named_parameters, compression, backward_passes_per_step, op)
    return made
