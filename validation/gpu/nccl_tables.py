#!/usr/bin/env python3
"""What NCCL expects of its algorithms on clusters that are not there: its search and its tuning table, from NCCL itself.

Usage: nccl_tables.py topologies DIR [--weft build/default/bin/weft]
       nccl_tables.py run DIR [-o TABLES.csv] [--nccl libnccl.so.2] [--only NAME,...]

The first writes the topology files of the servers below (weft topo --nccl), where weft is. The second needs one GPU and a compiler with
CUDA's headers: a process for each GPU of each cluster makes a communicator on that one GPU (nccl_tables/), NCCL takes them for what the
topology says, and the table that it prints becomes a row of TABLES.csv for each collective, algorithm and protocol.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SERVERS = {"dgx_h100": ("dgx_h100", 370.8, 90), "dgx_a100": ("dgx_a100", 240, 80), "hgx_a100_4": ("hgx_a100_4", 240, 80),
           "v100_nvlink": ("v100_nvlink", 120, 70), "dgx_b200": ("dgx_b200", 721.8, 100), "h800": ("dgx_h100", 164.8, 90)}
AMD = {"dgx_a100", "hgx_a100_4"}


def cluster(server, servers, gpus, nics, gbps, nvls=False, sharp=False):
    return {"server": server, "servers": servers, "gpus": gpus, "nics": nics, "gbps": gbps, "nvls": nvls, "sharp": sharp}


EIGHT, FOUR = list(range(8)), list(range(4))
CLUSTERS = {
    **{f"a100_{n}": cluster("dgx_a100", n, 8, EIGHT, 200) for n in (1, 2, 4)},
    **{f"h100_{n}": cluster("dgx_h100", n, 8, EIGHT, 400, True) for n in (1, 2, 4)},
    **{f"b200_{n}": cluster("dgx_b200", n, 8, EIGHT, 400, True) for n in (1, 2, 4)},
    **{f"h100_{n}_{g}": cluster("dgx_h100", n, 8, EIGHT, g, True) for n in (2, 4) for g in (100, 200)},
    **{f"h100_{n}_nic": cluster("dgx_h100", n, 8, [0], 400, True) for n in (2, 4)},
    **{f"v100_{n}": cluster("v100_nvlink", n, 8, [0], 100) for n in (1, 2, 4)},
    **{f"h100_{n}_gpu": cluster("dgx_h100", n, 1, [0], 400) for n in (2, 4)},
    "h100_4_gpus": cluster("dgx_h100", 4, 2, [0, 1], 400),
    "h100_4_nics2": cluster("dgx_h100", 4, 8, [0, 4], 400, True),
    "h100_4_nics4": cluster("dgx_h100", 4, 8, [0, 2, 4, 6], 400, True),
    "h100x4_4": cluster("dgx_h100", 4, 4, FOUR, 400, True),
    "h100x4_2_200": cluster("dgx_h100", 2, 4, FOUR, 200, True),
    "h100x4_4_200": cluster("dgx_h100", 4, 4, FOUR, 200, True),
    "h100x4_1": cluster("dgx_h100", 1, 4, FOUR, 400, True),
    "h100x2_1": cluster("dgx_h100", 1, 2, [0, 1], 400, True),
    "hgx_1": cluster("hgx_a100_4", 1, 4, FOUR, 200),
    "hgx_2": cluster("hgx_a100_4", 2, 4, [0, 1], 100),
    "hgx_4": cluster("hgx_a100_4", 4, 4, FOUR, 200),
    "a100_2_nics4": cluster("dgx_a100", 2, 8, [0, 2, 4, 6], 200),
    "h800_1": cluster("h800", 1, 8, EIGHT, 400, True),
    "h800_2": cluster("h800", 2, 8, EIGHT, 400, True),
    "h100_2_sharp": cluster("dgx_h100", 2, 8, EIGHT, 400, True, True),
    "h100x4_2_sharp": cluster("dgx_h100", 2, 4, FOUR, 400, True, True),
    "h100_2_nics4_sharp": cluster("dgx_h100", 2, 8, [0, 2, 4, 6], 400, True, True),
    "a100_2_sharp": cluster("dgx_a100", 2, 8, EIGHT, 200, False, True),
    "h100_2_sharp_only": cluster("dgx_h100", 2, 8, EIGHT, 400, False, True),
    "b200_2_sharp": cluster("dgx_b200", 2, 8, EIGHT, 400, True, True),
}
HEAD = ("servers,gpus,nics,nic_gbps,nvlink_gb_s,nvswitch_adds,amd,sharp,several_ways,collective,algorithm,protocol,latency_us,"
        "rate_gb_s")
COLLECTIVES = {"AllReduce": "allreduce", "AllGather": "allgather", "ReduceScatter": "reduce_scatter", "Broadcast": "broadcast",
               "Reduce": "reduce"}
ALGORITHMS = {"Tree": "tree", "Ring": "ring", "NVLS": "nvls", "NVLSTree": "nvls_tree", "CollNetDirect": "collnet_direct",
              "CollNetChain": "collnet_chain"}
PROTOCOLS = ("ll", "ll128", "simple")


def topologies(folder, weft):
    folder.mkdir(parents=True, exist_ok=True)
    for name, (preset, _, _) in SERVERS.items():
        scenario = ('{"schema": 1, "name": "topology", "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "400Gbps", "latency": "600ns"}}, "server": "%s",'
                    ' "workload": {"collective": "allreduce", "algorithm": "nccl", "size": "1GiB"}}' % preset)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(scenario)
            file.flush()
            xml = subprocess.run([weft, "topo", "--nccl", file.name], check=True, capture_output=True, text=True).stdout
        (folder / f"{name}.xml").write_text(xml.replace('count="18"', 'count="8"') if name == "h800" else xml)


def compiled(folder):
    cuda = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    common = ["g++", "-std=c++20", "-O1", f"-I{cuda}/include"]
    tables = HERE / "nccl_tables"
    for source, library in (("other_gpu", "libother_gpu.so"), ("named_nics", "libnccl-net-weft.so")):
        subprocess.run([*common, "-shared", "-fPIC", "-o", folder / library, tables / f"{source}.cpp", "-ldl"], check=True)
    subprocess.run([*common, "-o", folder / "hosts", tables / "hosts.cpp", f"-L{cuda}/lib64", "-lcudart_static", "-ldl", "-lpthread", "-lrt"],
                   check=True)


def log_of(name, c, folder, built, nccl):
    mbps = str(1000 * c["gbps"])
    xml = (folder / f"{c['server']}.xml").read_text().replace('speed="400000"', f'speed="{mbps}"')
    with tempfile.TemporaryDirectory() as logs:
        topology = pathlib.Path(logs) / "topology.xml"
        topology.write_text(xml)
        bus_ids = re.findall(r'busid="([^"]*)" class="0x030200"', xml)[:c["gpus"]]
        on = {"WEFT_NVLS": c["nvls"], "WEFT_COLLNET": c["sharp"], "NCCL_COLLNET_ENABLE": c["sharp"]}
        environment = {**os.environ, **{k: "1" for k, v in on.items() if v}, "WEFT_SM": str(SERVERS[c["server"]][2]),
                       "WEFT_NICS": ",".join(f"nic{i}" for i in c["nics"]), "WEFT_NIC_MBPS": mbps, "NCCL_NET_PLUGIN": "weft",
                       "LD_LIBRARY_PATH": f"{built}:{os.environ.get('LD_LIBRARY_PATH', '')}", "LD_PRELOAD": str(built / "libother_gpu.so"),
                       "NCCL_IGNORE_DISABLED_P2P": "2", "NCCL_TOPO_FILE": str(topology), "NCCL_SOCKET_IFNAME": "lo", "NCCL_DEBUG": "INFO",
                       "NCCL_DEBUG_SUBSYS": "INIT,GRAPH,TUNING", "NCCL_DEBUG_FILE": f"{logs}/%p.log"}
        ended = subprocess.run([built / "hosts", str(c["servers"]), str(c["gpus"]), nccl, *bus_ids], env=environment, capture_output=True,
                               text=True, timeout=60)
        if ended.returncode:
            sys.exit(f"{name}: {ended.stderr.strip().splitlines()[-1:] or 'failed'}")
        return max((p.read_text() for p in pathlib.Path(logs).glob("*.log")), key=len)


def rows(c, log):
    server, columns = SERVERS[c["server"]], []
    ways = c["servers"] == 1 and c["server"] in ("hgx_a100_4", "v100_nvlink")
    known = [c["servers"], c["gpus"], len(c["nics"]), c["gbps"], server[1], int(server[2] >= 90), int(c["server"] in AMD), int(c["sharp"]), int(ways)]
    for line in log.splitlines():
        if "Algorithm   |" in line:
            columns = [cell.strip() for cell in line.split("|")[1:] if cell.strip()]
        row = re.match(r".*INFO\s+(\w+) \|(.*)", line)
        if not columns or not row or row[1] not in COLLECTIVES:
            continue
        for i, cell in enumerate(cell for cell in row[2].split("|") if cell.strip()):
            latency, rate = (float(value) for value in cell.split("/"))
            algorithm = ALGORITHMS.get(columns[i // 3])
            if rate > 0 and algorithm:
                yield ",".join(map(str, [*known, COLLECTIVES[row[1]], algorithm, PROTOCOLS[i % 3], latency, rate]))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", choices=("topologies", "run"))
    arguments.add_argument("folder", type=pathlib.Path, help="of the topology files")
    arguments.add_argument("--weft", default="build/default/bin/weft")
    arguments.add_argument("--nccl", default="libnccl.so.2", help="NCCL's library")
    arguments.add_argument("--only", help="names of clusters")
    arguments.add_argument("-o", "--output", type=pathlib.Path, default="nccl_tables.csv")
    asked = arguments.parse_args()
    if asked.what == "topologies":
        return topologies(asked.folder, asked.weft)
    names = asked.only.split(",") if asked.only else list(CLUSTERS)
    if unknown := [n for n in names if n not in CLUSTERS]:
        sys.exit(f"nccl_tables.py: there is no {', '.join(unknown)}; clusters: {', '.join(CLUSTERS)}")
    lines = [HEAD]
    with tempfile.TemporaryDirectory() as folder:
        built = pathlib.Path(folder)
        compiled(built)
        for name in names:
            lines += rows(CLUSTERS[name], log_of(name, CLUSTERS[name], asked.folder, built, asked.nccl))
            print(f"{name}: {len(lines) - 1} rows", file=sys.stderr, flush=True)
            asked.output.write_text("\n".join(lines) + "\n")


main()
