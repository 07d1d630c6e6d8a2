"""Trains ResNet-20 and VGG-16 under PyTorch with the compressions of weft_torch, and writes what came of it, epoch by epoch.

    PYTHONPATH=build/default/collectives/torch python3 validation/train/train_torch.py -n 2 --epochs 2 -o results.csv
    PYTHONPATH=... python3 validation/train/train_torch.py --cifar10 ~/data/cifar-10-batches-py -n 4 --epochs 140 --seeds 5 -o results.csv

The data are CIFAR-10 where --cifar10 names its folder (the python version of https://www.cs.toronto.edu/~kriz/cifar.html), or else the digits
that ship. Digits are 8 x 8: ResNet-20 takes them as they are, VGG-16 enlarged to 32 x 32, which its five poolings need. Learning rates and the
density of the first epochs are those of the gs-SGD paper."""
import argparse
import csv
import os
import pathlib
import pickle
import subprocess
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

import weft_torch
from weft_torch import hooks

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEARNING_RATES = (0.1, 0.03, 0.01)
WARM_UP = (0.25, 0.0725, 0.015, 0.004)
COLUMNS = ["model", "data", "compression", "k", "ranks", "batch", "seed", "epoch", "loss", "accuracy", "seconds", "torch", "weft"]


class Block(nn.Module):
    """He et al. 2016, section 4.2; a shortcut to more channels is padded with zeros (option A)."""

    def __init__(self, into, out, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(into, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.stride, self.more = stride, out - into

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        shortcut = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.more // 2, self.more - self.more // 2))
        return F.relu(y + shortcut)


def resnet20(channels):
    layers, into = [nn.Conv2d(channels, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()], 16
    for out in (16, 32, 64):
        for block in range(3):
            layers.append(Block(into, out, 2 if block == 0 and out > 16 else 1))
            into = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def vgg16(channels, width=1.0):
    layers, into = [], channels
    for convolutions, out in ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)):
        out = round(out * width)
        for _ in range(convolutions):
            layers += [nn.Conv2d(into, out, 3, 1, 1), nn.BatchNorm2d(out), nn.ReLU()]
            into = out
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(into, 10))


MODELS = {"resnet20": resnet20, "vgg16": vgg16}


def model_of(name, channels, width):
    return vgg16(channels, width) if name == "vgg16" else MODELS[name](channels)


def label_of(name, width):
    return f"{name}(width={width:g})" if name == "vgg16" and width != 1 else name


def digits(model):
    lines = (ROOT / "validation/data/digits/digits.csv").read_text().split()[1:]
    images = torch.tensor([[int(letter, 17) for letter in line.split(",")[0]] for line in lines], dtype=torch.float32).view(-1, 1, 8, 8) / 16
    if model == "vgg16":
        images = F.interpolate(images, size=32, mode="bilinear", align_corners=False)
    labels = torch.tensor([int(line.split(",")[1]) for line in lines])
    test = torch.arange(len(labels)) % 5 == 4  # as weft train
    return (images[~test], labels[~test]), (images[test], labels[test])


def cifar10(folder):
    def part(names):
        batches = [pickle.loads((pathlib.Path(folder) / name).read_bytes(), encoding="bytes") for name in names]
        images = torch.cat([torch.tensor(b[b"data"]).view(-1, 3, 32, 32) for b in batches]).float() / 255
        return (images - 0.473) / 0.251, torch.tensor([label for b in batches for label in b[b"labels"]])

    return part([f"data_batch_{i}" for i in range(1, 6)]), part(["test_batch"])


def accuracy(model, images, labels):
    model.eval()
    with torch.no_grad():
        right = sum((model(images[i : i + 256]).argmax(1) == labels[i : i + 256]).sum().item() for i in range(0, len(labels), 256))
    model.train()
    return right / len(labels)


def density(k, epoch):
    return max(k, WARM_UP[epoch]) if epoch < len(WARM_UP) else k


def train(rank, a, name, compression, seed):
    (images, labels), test = cifar10(a.cifar10) if a.cifar10 else digits(name)
    images, labels = images[: a.images or None], labels[: a.images or None]
    torch.manual_seed(seed)
    model = DistributedDataParallel(model_of(name, images.shape[1], a.width))
    state = None
    if compression != "dense":
        state = hooks.Compression(compression, k=f"{100 * density(a.k, 0):g}%", columns=f"{100 * a.columns:g}%", seed=seed)
        model.register_comm_hook(state, hooks.compressed)
    rows = []
    for epoch in range(a.epochs):
        if state and epoch > 0:
            state.set_k(f"{100 * density(a.k, epoch):g}%")
        rate = LEARNING_RATES[epoch * len(LEARNING_RATES) // a.epochs]
        optimizer = torch.optim.SGD(model.parameters(), lr=rate * a.rate_scale)
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(1000 * seed + epoch))
        begin, losses = time.perf_counter(), []
        for step in range(len(labels) // (a.batch * a.ranks)):
            at = order[(step * a.ranks + rank) * a.batch :][: a.batch]
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images[at]), labels[at])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        seconds = time.perf_counter() - begin
        mean = torch.tensor([sum(losses) / len(losses)])
        dist.all_reduce(mean)
        rows.append(
            dict(model=label_of(name, a.width), data="cifar10" if a.cifar10 else "digits", compression=compression, k="" if not state else f"{density(a.k, epoch):g}",
                 ranks=a.ranks, batch=a.batch, seed=seed, epoch=epoch + 1, loss=f"{mean.item() / a.ranks:.4f}",
                 accuracy=f"{accuracy(model.module, *test):.4f}" if rank == 0 else "", seconds=f"{seconds:.1f}", torch=torch.__version__,
                 weft=a.weft))
    return rows


def run_rank(rank, a, folder):
    torch.set_num_threads(1)
    dist.init_process_group("weft", init_method=f"file://{folder}/store", rank=rank, world_size=a.ranks)
    with open(a.output, "w", newline="") if rank == 0 else open(os.devnull, "w") as file:
        out = csv.DictWriter(file, COLUMNS)
        out.writeheader()
        for name in a.models:
            for seed in range(1, a.seeds + 1):
                for compression in a.compressions:
                    rows = train(rank, a, name, compression, seed)
                    out.writerows(rows)
                    file.flush()
                    if rank == 0:
                        print(f"{name} {compression} seed {seed}: accuracy {rows[-1]['accuracy']} after {a.epochs} epochs", flush=True)
    dist.destroy_process_group()


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cifar10", help="folder cifar-10-batches-py; without it the digits that ship")
    p.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    p.add_argument("--compressions", nargs="+", default=["dense", "gtopk", "sketched_sgd", "gs_sgd"])
    p.add_argument("-n", "--ranks", type=int, default=4)
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--batch", type=int, default=32, help="images of each rank in a step")
    p.add_argument("--seeds", type=int, default=1)
    p.add_argument("--k", type=float, default=0.01, help="share of the elements of a bucket that a step updates")
    p.add_argument("--columns", type=float, default=0.1, help="of a sketch, a share of the elements")
    p.add_argument("--rate-scale", type=float, default=1.0, help="of all learning rates")
    p.add_argument("--width", type=float, default=1.0, help="of VGG-16: its channels, as a share of the published ones")
    p.add_argument("--images", type=int, default=0, help="learn from so many only")
    p.add_argument("-o", "--output", required=True)
    a = p.parse_args()
    described = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    a.weft = described.stdout.strip() or "unknown"
    return a


if __name__ == "__main__":
    a = arguments()
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(run_rank, args=(a, folder), nprocs=a.ranks, start_method="fork")
