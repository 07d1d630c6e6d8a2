#!/usr/bin/env bash
# Opens reports in headless Chromium: they must draw themselves without an error in the console and say what they should.
#   browser_test.sh WEFT_BINARY [FOLDER]    FOLDER keeps the reports and pictures of them, light and dark
# Exit status 77, which ctest shows as skipped, where there is no Chromium.
set -euo pipefail

binary=$(readlink -f -- "$1")
root=$(CDPATH= cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [[ -z $browser ]]; then
  echo 'skipped: there is no Chromium here (package chromium)'
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
keep=${2:-}
failed=0

chromium() {
  HOME=$work "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --user-data-dir="$work/profile" \
    --host-resolver-rules='MAP * ~NOTFOUND' "$@"
}

# NAME TEXT...: runs the scenario of that name in $work, opens its report, and looks for each text.
report() {
  local name=$1 text
  "$binary" run "$work/$name.json" --quiet -o "$work/$name" --report >/dev/null
  chromium --enable-logging=stderr --virtual-time-budget=20000 --dump-dom "file://$work/$name/report.html" 2>"$work/$name.log" |
    sed -e '/<script/,/<\/script>/d' >"$work/$name.dom"  # what is drawn, not what draws it
  if grep -E 'CONSOLE|Uncaught|ERR_' "$work/$name.log"; then
    echo "$name: the console has errors"
    failed=1
  fi
  for text in 'data-ready="yes"' "${@:2}"; do
    if ! grep -qF -- "$text" "$work/$name.dom"; then
      echo "$name: the page lacks: $text"
      failed=1
    fi
  done
  if [[ -n $keep ]]; then
    mkdir -p -- "$keep"
    cp -- "$work/$name/report.html" "$keep/$name.html"
    chromium --window-size="1240,${HEIGHT:-4200}" --virtual-time-budget=20000 --screenshot="$keep/$name.png" "file://$work/$name/report.html" 2>/dev/null
    chromium --window-size="1240,${HEIGHT:-4200}" --virtual-time-budget=20000 --blink-settings=preferredColorScheme=0 --screenshot="$keep/$name-dark.png" \
      "file://$work/$name/report.html" 2>/dev/null
  fi
}

cat >"$work/fabrics.json" <<'END'
{ "schema": 1, "name": "fabrics", "description": "Two algorithms on a leaf-spine fabric, full and 2:1 oversubscribed.",
  "fabric": { "type": "fat_tree", "leaves": 4, "nodes_per_leaf": 8, "spines": 8, "link": { "bandwidth": "100Gbps", "latency": "500ns" } },
  "hardware": "ideal",
  "workload": { "collective": "allreduce", "algorithm": ["ring", "halving_doubling"], "size": { "from": "4KiB", "to": "256MiB", "factor": 4 } },
  "sweep": { "/fabric/spines": [8, 4] } }
END
cat >"$work/packets.json" <<'END'
{ "schema": 1, "name": "packets", "description": "An all-reduce in switches beside others' traffic.",
  "fabric": { "type": "fat_tree", "leaves": 2, "nodes_per_leaf": 4, "spines": 2, "link": { "bandwidth": "100Gbps", "latency": "1us" },
              "programmable": { "aggregators": 64 } },
  "hardware": "ideal", "network": "packet",
  "workload": { "collective": "allreduce", "algorithm": ["atp", "halving_doubling"], "size": "256KB", "ranks": 6 },
  "traffic": [{ "pattern": "permutation", "size": "100KB", "seed": 3 }] }
END
cat >"$work/steps.json" <<'END'
{ "schema": 1, "name": "steps", "description": "A training step of ResNet-50: what each gradient engine hides.",
  "fabric": { "type": "fat_tree", "leaves": 2, "nodes_per_leaf": 4, "spines": 2, "link": { "bandwidth": "30Gbps", "latency": "2us" } },
  "hardware": { "profile": "ideal", "send_overhead": "2us" },
  "workload": { "model": "resnet50", "batch_per_gpu": 64, "device": "v100", "engine": ["none", "ddp", "horovod", { "name": "aiacc", "streams": 4 }],
                "algorithm": "ring", "iterations": 1 } }
END
cat >"$work/kernels.json" <<'END'
{ "schema": 1, "name": "kernels", "description": "A training step with and without compression.",
  "fabric": { "type": "star", "nodes": 4, "link": { "bandwidth": "10Gbps", "latency": "2us" } }, "hardware": "ideal",
  "workload": { "model": "resnet50", "batch_per_gpu": 32, "device": "v100", "engine": "ddp", "algorithm": "ring", "iterations": 1,
                "compression": ["dense", "gs_sgd"] } }
END
cat >"$work/spreads.json" <<'END'
{ "schema": 1, "name": "spreads", "description": "Placements that are drawn: at 16 MiB the spreads of both overlap.",
  "fabric": { "type": "fat_tree", "leaves": 8, "nodes_per_leaf": 8, "spines": 4, "link": { "bandwidth": "100Gbps", "latency": "500ns" } },
  "hardware": "ideal",
  "workload": { "collective": "allreduce", "size": ["256KiB", "16MiB"],
                "algorithm": [{ "name": "ring", "segment": "1MiB" }, { "name": "ring", "segment": "1MiB", "channels": 2 }] },
  "repeat": { "runs": 10, "vary": ["placement", "ecmp"] }, "sweep": { "/fabric/ecmp/seed": [1, 2] } }
END
cat >"$work/platform.json" <<END
{ "schema": 1, "name": "platform", "description": "A platform of SimGrid, whose links are not drawn.", "hardware": "ideal",
  "fabric": { "type": "simgrid", "file": "$root/models/platform/examples/cluster_fat_tree.xml" },
  "workload": { "collective": "allreduce", "algorithm": "ring", "size": "64KiB" } }
END
cat >"$work/program.json" <<'END'
{ "schema": 1, "name": "program", "description": "Gradients that are reduced on a stream while the rest is computed.",
  "fabric": { "type": "star", "nodes": 4, "link": { "bandwidth": "10Gbps", "latency": "1us" } }, "hardware": "ideal",
  "workload": { "algorithm": "ring", "program": [{ "id": "backward", "compute": "1ms" },
    { "id": "gradients", "collective": "allreduce", "size": "1MiB", "stream": 1, "after": ["backward"] }, { "id": "rest", "compute": "1ms" }] } }
END
report fabrics 'is the fastest' 'All 36 rows as a table' 'The fabric' 'By time as the bottleneck' 'What the critical path was spent on' 'Over time' \
  'Queues, losses and congestion control: flows have' 'weft plot out/results.csv'
report packets 'The longest queues' 'Longest queues' 'Aggregators in use' 'In-network aggregation, by switch' 'Traffic beside the workload' 'Windows of senders'
report steps 'exposed communication' 'waiting for other ranks' 'Ranks: ' 'computes' 'message on its way'
report kernels '>compression kernels<' '>exposed communication<'
report platform 'This fabric is not drawn' 'Over time' 'Repeat it'
report program '>computes<' '>collective on a stream<' '>message on its way<'
report spreads 'not told apart: ring, ring(channels=2)' 'ecmp/seed 2' '>2<'
exit $failed
