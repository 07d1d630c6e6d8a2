#!/usr/bin/env python3
"""When each gradient becomes ready in a backward pass, on the GPU of this machine: what a device of Weft's is fitted to and judged by.

Usage: backward.py [-o FILE.csv] [-m MODEL,...] [-d tf32,bfloat16] [--eager]

Needs PyTorch (2.11 was used), timm and transformers. Weights are random: times do not depend on them. Events of CUDA are recorded in the
stream as each gradient is accumulated, so nothing waits. A pass is captured in a CUDA graph and replayed, as the host launches the
kernels of some networks more slowly than the GPU runs them; --eager launches each by itself. A line for each tensor, in the order in
which their gradients are ready; the times are medians over the iterations. Lines that begin with # say what ran on what, and how long
the passes took in all.
"""
import argparse
import statistics
import sys

try:
    import torch
except ImportError:
    sys.exit("backward.py: needs PyTorch, which this Python does not have")

WARM_UP, ITERATIONS = 4, 11


def images(size, batch):
    return lambda: torch.randn(batch, 3, size, size, device="cuda").to(memory_format=torch.channels_last)


def tokens(vocabulary, sequence, batch):
    return lambda: torch.randint(vocabulary, (batch, sequence), device="cuda")


def network(name):
    def build():
        import timm

        return timm.create_model(name).to(memory_format=torch.channels_last)

    return build


def bert_large():
    import transformers

    return transformers.BertModel(transformers.BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                                                          intermediate_size=4096))


def gpt2(**shape):
    def build():
        import transformers

        return transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False, **shape))

    return build


# By Weft's names: how it is built, its input, the batch, and what is summed up to a loss.
MODELS = {
    "resnet50": (network("resnet50"), images(224, 128), 128, lambda out: out),
    "resnet101": (network("resnet101"), images(224, 128), 128, lambda out: out),
    "resnext101_32x4d": (network("resnext101_32x4d"), images(224, 64), 64, lambda out: out),
    "densenet121": (network("densenet121"), images(224, 128), 128, lambda out: out),
    "vgg13": (network("vgg13"), images(224, 64), 64, lambda out: out),
    "vgg16_bn": (network("vgg16_bn"), images(224, 64), 64, lambda out: out),
    "bert_large": (bert_large, tokens(30522, 384, 16), 16, lambda out: out.pooler_output),
    "gpt2": (gpt2(), tokens(50257, 1024, 8), 8, lambda out: out.logits),
    "gpt2_xl": (gpt2(n_embd=1600, n_layer=48, n_head=25), tokens(50257, 1024, 2), 2, lambda out: out.logits),
}


def captured(step, model):
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM_UP):
            model.zero_grad(set_to_none=True)
            step()
    torch.cuda.current_stream().wait_stream(aside)
    model.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=aside):
        step()
    return graph.replay


def measure(name, dtype, eager):
    build, make_input, batch, output = MODELS[name]
    torch.manual_seed(0)
    model = build().cuda().train()
    event = lambda: torch.cuda.Event(enable_timing=True, external=not eager)
    parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
    ready = {n: event() for n in parameters}
    for n, p in parameters.items():
        p.register_post_accumulate_grad_hook(lambda _, done=ready[n]: done.record())
    data = make_input()
    begin, middle, end = event(), event(), event()

    def step():
        begin.record()
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=dtype == "bfloat16", cache_enabled=eager):
            loss = output(model(data)).float().square().mean()
        middle.record()
        loss.backward()
        end.record()

    run = step if eager else captured(step, model)
    waits = {n: [] for n in parameters}
    forward, backward = [], []
    for i in range(WARM_UP + ITERATIONS):
        if eager:
            model.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        run()
        torch.cuda.synchronize()
        if i < WARM_UP:
            continue
        forward.append(1e3 * begin.elapsed_time(middle))
        backward.append(1e3 * middle.elapsed_time(end))
        for n, done in ready.items():
            waits[n].append(1e3 * middle.elapsed_time(done))
    at = {n: statistics.median(w) for n, w in waits.items()}
    rows, before = [], 0.0
    for order, n in enumerate(sorted(at, key=at.get)):
        size = parameters[n].numel() * parameters[n].element_size()
        rows.append(f"{name}_{dtype},{order},{at[n] - before:.3f},{size},{n}")
        before = at[n]
    spread = (max(backward) - min(backward)) / statistics.median(backward)
    say = f"{name}_{dtype}: batch {batch}, forward {statistics.median(forward):.1f} us, backward {statistics.median(backward):.1f} us"
    return f"# {say}, spread of the backward passes {100 * spread:.1f} %", rows


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("-o", "--output", help="the file to write; else standard output")
    arguments.add_argument("-m", "--models", default=",".join(MODELS))
    arguments.add_argument("-d", "--dtypes", default="tf32,bfloat16")
    arguments.add_argument("--eager", action="store_true", help="launch each kernel by itself")
    asked = arguments.parse_args()
    unknown = [m for m in asked.models.split(",") if m not in MODELS] + [d for d in asked.dtypes.split(",") if d not in ("tf32", "bfloat16")]
    if unknown:
        sys.exit(f"backward.py: there is no {', '.join(unknown)}; models: {', '.join(MODELS)}; types: tf32, bfloat16")
    if not torch.cuda.is_available():
        sys.exit("backward.py: PyTorch finds no GPU")
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    heads, rows = [f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}, {'eager' if asked.eager else 'CUDA graphs'}"], []
    failed = False
    for dtype in asked.dtypes.split(","):
        for name in asked.models.split(","):
            try:
                head, lines = measure(name, dtype, asked.eager)
            except Exception as error:  # one that does not run does not lose the others
                head, lines = f"# {name}_{dtype}: {type(error).__name__}: {str(error).splitlines()[0]}", []
                failed = True
            print(head, file=sys.stderr, flush=True)
            heads.append(head)
            rows += lines
            torch.cuda.empty_cache()
            if asked.output:  # what has been measured is there when a later one ends the program
                write(open(asked.output, "w"), heads, rows)
    if not asked.output:
        write(sys.stdout, heads, rows)
    if failed:
        sys.exit(1)


def write(out, heads, rows):
    out.write("\n".join(["model,order_in_backward,wait_since_previous_us,param_bytes,tensor", *rows, *heads]) + "\n")
    out.flush()


main()
