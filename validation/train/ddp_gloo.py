"""Measures PyTorch's DistributedDataParallel over gloo on this machine, and by itself everything that its step is predicted from.

    python3 validation/train/ddp_gloo.py -o validation/data/ddp_gloo
    python3 validation/train/ddp_gloo.py --link 200mbit --batch 32 -o validation/data/ddp_gloo_200mbit      # as root

For each number of ranks, each a process with one thread: how long each layer takes while the other ranks compute too and nothing is sent
(layers_N.json, a table of layers for a scenario), gloo's all-reduce by size while nobody computes (allreduce_N.csv, for weft calibrate), what
copying all gradients into buckets and back takes (copies.csv), and the steps of DDP with its buckets (steps.csv). Only the last is predicted.

Ranks meet on the loopback or, with --link, each from a network namespace of its own over a link of that rate (ip, tc; as weft lab builds them)."""
import argparse
import contextlib
import csv
import ctypes
import json
import os
import pathlib
import platform
import statistics
import subprocess
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

SIZES = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20]


def network():
    """2.7 million parameters, most of them in a layer whose gradient comes early, as in VGG."""
    def convolution(into, out):
        return [nn.Conv2d(into, out, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]

    layers = convolution(3, 32) + convolution(32, 64) + convolution(64, 128) + [nn.Flatten()]
    layers += [nn.Linear(2048, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 10)]
    return nn.Sequential(*layers)


def trained_layers(model):
    return [(str(i), layer) for i, layer in enumerate(model) if any(True for _ in layer.parameters(recurse=False))]


def data(a, rank):
    torch.manual_seed(rank)
    return torch.randn(a.batch, 3, 32, 32), torch.randint(0, 10, (a.batch,))


def together(value, how=dist.ReduceOp.MAX):
    """Of all ranks."""
    tensor = torch.tensor([value], dtype=torch.float64)
    dist.all_reduce(tensor, how)
    return tensor.item()


@contextlib.contextmanager
def links(a):
    """Ranks on a switch, a link of a.link each: the prefix of their namespaces. None where they share the loopback."""
    if not a.link:
        yield None
        return
    prefix, frame = f"ddp-gloo-{os.getpid()}", 9014
    hosts = [f"{prefix}-h{rank}" for rank in range(a.ranks)]

    def tool(line):
        subprocess.run(line.split(), check=True)

    try:
        for name in [prefix, *hosts]:
            tool(f"ip netns add {name}")
        tool(f"ip -n {prefix} link add switch type bridge")
        tool(f"ip -n {prefix} link set switch up")
        for rank, host in enumerate(hosts):
            tool(f"ip -n {prefix} link add p{rank} mtu {frame - 14} type veth peer name wire mtu {frame - 14} netns {host}")
            tool(f"ip -n {prefix} link set p{rank} gso_max_segs 1 master switch up")
            tool(f"ip -n {host} addr add 198.18.0.{rank + 1}/24 dev wire")
            tool(f"ip -n {host} link set wire gso_max_segs 1 up")
            for where, port in ((prefix, f"p{rank}"), (host, "wire")):
                tool(f"tc -n {where} qdisc add dev {port} root tbf rate {a.link} burst {5 * frame // 4} limit {64 << 20}")
        yield prefix
    finally:
        for name in [prefix, *hosts]:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)


def enter(namespace):
    with open(f"/run/netns/{namespace}") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0x40000000) != 0:  # CLONE_NEWNET
            raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")


class Layers:
    """When each layer's output and each of its gradients were there, in one forward and backward pass of a model."""

    def __init__(self, model):
        self.names = [name for name, _ in trained_layers(model)]
        self.out, self.gradient = {}, {}
        for name, layer in trained_layers(model):
            layer.register_forward_hook(lambda *_, name=name: self.out.__setitem__(name, time.perf_counter()))
            for parameter in layer.parameters():
                parameter.register_hook(lambda gradient, name=name: self.gradient.__setitem__(name, time.perf_counter()))

    def durations(self, begin, backward, end):
        """Forward and backward of each layer; what has no parameters counts for the layer before whose gradient it runs."""
        forwards, backwards, at = [], [], begin
        for name in self.names:
            forwards.append(self.out[name] - at)
            at = self.out[name]
        forwards[-1] += backward - at  # the loss
        at = backward
        for name in reversed(self.names):
            backwards.append(self.gradient[name] - at)
            at = self.gradient[name]
        backwards[-1] += end - at
        return forwards, backwards[::-1]


def one_pass(model, images, labels):
    begin = time.perf_counter()
    loss = F.cross_entropy(model(images), labels)
    backward = time.perf_counter()
    loss.backward()
    return begin, backward, time.perf_counter()


def measure_layers(a, rank):
    model = network()
    layers, (images, labels) = Layers(model), data(a, rank)
    samples = []
    for step in range(a.warmup + a.steps):
        model.zero_grad(set_to_none=True)
        dist.barrier()
        durations = layers.durations(*one_pass(model, images, labels))
        if step >= a.warmup:
            samples.append(durations)
    # Medians by layer, which do not add up to that of whole passes where ranks share a core: in proportion then.
    whole = statistics.median(sum(map(sum, sample)) for sample in samples)
    medians = [[statistics.median(values) for values in zip(*part)] for part in zip(*samples)]
    scale = whole / sum(map(sum, medians))
    middle = lambda part, i: together(scale * medians[part][i], dist.ReduceOp.SUM) / a.ranks
    rows = []
    for i, (name, layer) in enumerate(trained_layers(model)):
        parameters = {key: value.numel() for key, value in layer.named_parameters()}
        rows.append({"name": f"{name}.{type(layer).__name__}", "parameters": parameters,
                     "forward": f"{1e6 * middle(0, i):.1f}us", "backward": f"{1e6 * middle(1, i):.1f}us"})
    return rows


def measure_allreduce(a):
    times = {}
    for size in SIZES:
        tensor = torch.zeros(size // 4)
        count = max(4, min(50, (16 << 20) // size))
        rounds = []
        for _ in range(a.rounds):
            dist.barrier()
            begin = time.perf_counter()
            for _ in range(count):
                dist.all_reduce(tensor)
            rounds.append(together((time.perf_counter() - begin) / count))
        times[size] = 1e6 * statistics.median(rounds[1:])
    return times


def measure_copies(a):
    """All gradients into a bucket, divided by the ranks, and back, while all ranks do so."""
    gradients = [torch.ones_like(parameter) for parameter in network().parameters()]
    bucket = torch.empty(sum(gradient.numel() for gradient in gradients))
    views = [view.view_as(gradient) for view, gradient in zip(bucket.split([gradient.numel() for gradient in gradients]), gradients)]
    times = []
    for _ in range(a.warmup + a.steps):
        dist.barrier()
        begin = time.perf_counter()
        for gradient, view in zip(gradients, views):
            torch.mul(gradient, 1 / a.ranks, out=view)
        for gradient, view in zip(gradients, views):
            gradient.copy_(view)
        times.append(time.perf_counter() - begin)
    return together(statistics.median(times[a.warmup:]), dist.ReduceOp.SUM) / a.ranks


def measure_steps(a, rank, bucket_mb):
    model = DistributedDataParallel(network(), bucket_cap_mb=bucket_mb)
    images, labels = data(a, rank)
    steps = []
    for step in range(a.warmup + a.steps):
        model.zero_grad(set_to_none=True)
        dist.barrier()
        begin, _, end = one_pass(model, images, labels)
        if step >= a.warmup:
            steps.append(together(end - begin))
    told = model._get_ddp_logging_data()
    buckets = [int(size) for size in str(told["rebuilt_bucket_sizes"]).split(",")]
    return {"ranks": a.ranks, "bucket_cap_mb": bucket_mb, "buckets": len(buckets), "bucket_bytes": " ".join(map(str, buckets)),
            "step_us": f"{1e6 * statistics.median(steps):.1f}", "p10_us": f"{1e6 * statistics.quantiles(steps, n=10)[0]:.1f}",
            "p90_us": f"{1e6 * statistics.quantiles(steps, n=10)[8]:.1f}", "steps": len(steps), "torch": torch.__version__,
            "python": platform.python_version()}


def write(path, rows):
    new = not path.exists()
    with path.open("a", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        if new:
            out.writeheader()
        out.writerows(rows)


def run(rank, a, meeting, prefix):
    if prefix:
        enter(f"{prefix}-h{rank}")
    os.environ["GLOO_SOCKET_IFNAME"] = "wire" if prefix else "lo"
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=a.ranks)
    layers = measure_layers(a, rank)
    times = measure_allreduce(a)
    copies = measure_copies(a)
    steps = [measure_steps(a, rank, bucket) for bucket in a.buckets]
    if rank == 0:
        table = {"schema": 1, "name": f"ddp_gloo_{a.ranks}_ranks", "batch": a.batch, "layers": layers}
        (a.output / f"layers_{a.ranks}.json").write_text(json.dumps(table, indent=2) + "\n")
        system = f"gloo of torch {torch.__version__}"
        what = {"system": system, "nodes": a.ranks, "gpus": 1, "ranks": a.ranks, "collective": "allreduce", "algorithm": "ring"}
        write(a.output / f"allreduce_{a.ranks}.csv", [{**what, "size_bytes": size, "time_us": f"{t:.2f}"} for size, t in times.items()])
        elements = sum(parameter.numel() for parameter in network().parameters())
        write(a.output / "copies.csv", [{"ranks": a.ranks, "gradients": elements, "time_us": f"{1e6 * copies:.1f}"}])
        write(a.output / "steps.csv", steps)
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--buckets", type=int, nargs="+", default=[25, 4, 1], help="bucket_cap_mb of DistributedDataParallel")
    parser.add_argument("--batch", type=int, default=8, help="of each rank")
    parser.add_argument("--link", help="rate of each rank's link, such as 200mbit; the loopback when not given")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=16, help="of each size of the all-reduce; the first does not count")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    a = parser.parse_args()
    a.output.mkdir(parents=True, exist_ok=True)
    for old in [f"allreduce_{ranks}.csv" for ranks in a.ranks] + ["copies.csv", "steps.csv"]:
        (a.output / old).unlink(missing_ok=True)
    for ranks in a.ranks:
        one = argparse.Namespace(**{**vars(a), "ranks": ranks})
        with tempfile.TemporaryDirectory() as folder, links(one) as prefix:
            mp.spawn(run, (one, os.path.join(folder, "meeting"), prefix), nprocs=ranks)


if __name__ == "__main__":
    main()
