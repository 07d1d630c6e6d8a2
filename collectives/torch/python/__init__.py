"""PyTorch over Weft's collectives: torch.distributed.init_process_group("weft").

Importing this registers the backend. What it runs is chosen by the environment:
  WEFT_ALGORITHM   ring, or allreduce=chain/pieces=16,broadcast=binomial_tree; left out: by size
  WEFT_TRANSPORT   tcp or shared_memory; left out: shared memory where all ranks of a group are on one host
  WEFT_HOST        the address by which other hosts reach this one; left out: found through MASTER_ADDR
"""
import atexit
import inspect
import os

import torch
import torch.distributed as dist

from . import _C
from .trace import _group_sizes, record

__all__ = ["carrier", "record"]


def _create(options, _backend_options=None):
    _group_sizes[str(options.group_id)] = options.group_size
    ranks = list(options.global_ranks_in_group) or range(options.group_size)
    return _C.create(
        store=options.store,
        rank=options.group_rank,
        names=[f"rank {r}" for r in ranks],
        timeout=options.timeout,
        id=str(options.group_id),
        algorithm=os.environ.get("WEFT_ALGORITHM", ""),
        transport=os.environ.get("WEFT_TRANSPORT", ""),
        host=os.environ.get("WEFT_HOST", ""),
    )


def _backend_of(group=None):
    group = group or dist.group.WORLD
    if hasattr(group, "_get_backend"):  # since PyTorch 2.0 a group holds a backend for each kind of device
        return group._get_backend(torch.device("cpu"))
    return group


def carrier(group=None):
    """What carries the messages of a group: "tcp" or "shared_memory"."""
    return _C.carrier(_backend_of(group))


_more = {"devices": ["cpu"]} if "devices" in inspect.signature(dist.Backend.register_backend).parameters else {}
dist.Backend.register_backend("weft", _create, extended_api=True, **_more)

# So that the other ranks hear that this one has ended as it should.
atexit.register(_C.finish_all)
