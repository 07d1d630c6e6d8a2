"""DDP over weft beside DDP over gloo, on the same cores in one run: both groups live in the same processes and take turns.

    python3 ddp_benchmark.py --ranks 2 --mib 25 100 --rounds 9

Prints a line for each bucket size: the median time of an all-reduce and of a training step of a model with that much gradient,
by each backend, and the CPU time of all threads of a rank, which a busy machine disturbs less."""
import argparse
import os
import statistics
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

import weft_torch


class Layers(torch.nn.Module):
    """Little to compute, much to sum: a wide linear layer for each 4 MiB of gradient."""

    def __init__(self, mib):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(1024, 1024, bias=False) for _ in range(max(1, mib // 4)))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).tanh()
        return x


def timed(action):
    dist.barrier()
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - cpu


def all_reduce(group, mib):
    tensor = torch.ones(mib << 18)
    return lambda: dist.all_reduce(tensor, group=group)


def training_step(group, mib):
    torch.manual_seed(1)
    model = DistributedDataParallel(Layers(mib), process_group=group, bucket_cap_mb=25, gradient_as_bucket_view=True)
    x = torch.randn(4, 1024)
    return lambda: model(x).sum().backward()


def rank_of_benchmark(rank, options, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=options.ranks)
    groups = {"weft": dist.new_group(backend="weft"), "gloo": dist.new_group(backend="gloo")}
    if rank == 0:
        print(f"{options.ranks} ranks on {os.cpu_count()} cores, weft through {weft_torch.carrier(groups['weft'])}, median of {options.rounds}")
        print(f"{'':14}{'MiB':>6}{'weft ms':>10}{'gloo ms':>10}{'gloo/weft':>11}{'weft CPU ms':>13}{'gloo CPU ms':>13}")
    for name, make in (("all_reduce", all_reduce), ("training step", training_step)):
        for mib in options.mib:
            actions = {backend: make(group, mib) for backend, group in groups.items()}
            for action in actions.values():
                action(), action()  # warm up; DDP lays its buckets out anew after the first step
            times = {backend: [] for backend in actions}
            for _ in range(options.rounds):
                for backend, action in actions.items():
                    times[backend].append(timed(action))
            if rank == 0:
                wall, cpu = ({b: 1e3 * statistics.median(t[i] for t in times[b]) for b in times} for i in (0, 1))
                print(
                    f"{name:14}{mib:6}{wall['weft']:10.1f}{wall['gloo']:10.1f}{wall['gloo'] / wall['weft']:11.2f}"
                    f"{cpu['weft']:13.1f}{cpu['gloo']:13.1f}",
                    flush=True,
                )
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--mib", type=int, nargs="+", default=[25, 100])
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(rank_of_benchmark, (options, f"{folder}/store"), nprocs=options.ranks)
