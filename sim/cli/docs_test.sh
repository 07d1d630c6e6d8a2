#!/usr/bin/env bash
# Runs every ./weft command that the documentation shows, compares their tables with runs, and looks for the files that pages link to.
#   docs_test.sh WEFT_BINARY [--renew]    --renew writes the tables first
set -euo pipefail

binary=$(readlink -f -- "$1")
renew=${2:-}
root=$(CDPATH= cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cd -- "$work"
ln -s -- "$root/scenarios" "$root/validation" .
failed=0

# nodes | message | BiGraph: ring, halving-doubling in order, round the switches, HDRM | Fat-Tree: ring, halving-doubling, the same two;
# milliseconds
eflops_scale() {
  awk -F, 'NR > 1 { at = $7 SUBSEP $6; ms[at, $2, $4 $NF] = sprintf($7 < 1048576 ? "%.3f" : "%.1f", $9 / 1000); rows[at] }
    END { hd = "halving_doubling"; turns = hd "round_robin"
      for (at in rows) { split(at, key, SUBSEP)
        printf "%d | %d | %s | %s | %s | %s | %s | %s | %s | %s |\n", key[1], key[2], (key[1] < 1048576 ? key[1] / 1024 " KiB" : key[1] / 1048576 " MiB"),
          ms[at, "bigraph", "ring"], ms[at, "bigraph", hd], ms[at, "bigraph", turns], ms[at, "bigraph", "hdrm"],
          ms[at, "fat_tree", "ring"], ms[at, "fat_tree", hd], ms[at, "fat_tree", turns] } }' | sort -t'|' -k1nr -k2n | sed 's/^[0-9]* //'
}

# message | nodes | ATP, HDRM, halving-doubling, ring, in microseconds | bytes that a NIC sends, of the message: ATP, the others |
# flows on a link at most: HDRM, halving-doubling, ring
in_network_scale() {
  awk -F, 'NR > 1 { at = $7 SUBSEP $6; us[at, $4] = sprintf("%.0f", $9); sent[at, $4] = $12 / $7; flows[at, $4] = $15; rows[at]
      size[at] = $7 >= 1048576 ? $7 / 1048576 " MiB" : $7 / 1024 " KiB" }
    END { for (at in rows) { split(at, key, SUBSEP)
        printf "%d %d | %s | %d | %s | %s | %s | %s | %.2f, %.2f | %d, %d, %d |\n", key[1], key[2], size[at], key[2], us[at, "atp"],
          us[at, "hdrm"], us[at, "halving_doubling"], us[at, "ring"], sent[at, "atp"], sent[at, "hdrm"], flows[at, "hdrm"],
          flows[at, "halving_doubling"], flows[at, "ring"] } }' | sort -n -k1 -k2 | sed 's/^[0-9 ]*//'
}

# loss | ATP, SwitchML, in milliseconds
in_network_loss() {
  awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i }
    NR > 1 { loss = sprintf("%g", 100 * $column["/packet/faults/loss"]); ms[loss, $4] = sprintf("%.2f", $9 / 1000); rows[loss] }
    END { for (l in rows) printf "| %s %% | %s | %s |\n", l, ms[l, "atp"], ms[l, "switchml"] }' | sort -t'|' -k2g
}

# aggregators | ATP in milliseconds; 167 are the bandwidth-delay product
in_network_memory() {
  awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i }
    NR > 1 { room = $column["/workload/algorithm/aggregators"]; printf "| %d (%.0f %%) | %.2f |\n", room, 100 * room / 167, $9 / 1000 }'
}

# jobs | ATP, SwitchML, in milliseconds; the jobs of a case follow its workload, and each says how long it takes alone
in_network_jobs() {
  awk -F, 'function close_case() { if (jobs > 0) ms[jobs, algorithm] = us }
    NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i }
    NR > 1 && $column["job"] == "workload" { close_case(); jobs = 0; algorithm = $4; sub(/\(.*/, "", algorithm); us = $9; ms[1, algorithm] = $column["alone_us"] }
    NR > 1 { ++jobs }
    END { close_case(); for (n = 1; n < 64; ++n) if ((n, "atp") in ms) printf "| %d | %.2f | %.2f |\n", n, ms[n, "atp"] / 1000, ms[n, "switchml"] / 1000 }'
}

# GPUs | model | scaling efficiency: none, DDP, Horovod, AIACC
training() {
  awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i }
    NR > 1 { at = $column["model"] SUBSEP $6; kept[at, $column["engine"]] = sprintf("%.1f", 100 * $column["scaling_efficiency"]); rows[at] }
    END { for (at in rows) { split(at, key, SUBSEP); printf "| %d | %s | %s | %s | %s | %s |\n", key[2], key[1], kept[at, "none"],
      kept[at, "ddp"], kept[at, "horovod"], kept[at, "aiacc"] } }' | sort -t'|' -k3,3r -k2,2n
}

# servers of 8 | busbw of 1 GiB: ring, tree, NVLSTree, CollNet chain, direct, NVLS with SHARP, what NCCL chooses; GB/s
sharp() {
  awk -F'"' 'NR > 1 && $3 ~ /,1073741824,/ { split($3, field, ","); servers = field[3] / 8; algorithm = "auto"
      if (match($2, /algorithm=[a-z_]+/)) algorithm = substr($2, RSTART + 10, RLENGTH - 10)
      busbw[servers, algorithm] = sprintf("%.0f", field[8]); rows[servers] }
    END { for (s in rows) printf "| %d | %s | %s | %s | %s | %s | %s | %s |\n", s, busbw[s, "ring"], busbw[s, "tree"], busbw[s, "nvls_tree"],
        busbw[s, "collnet_chain"], busbw[s, "collnet_direct"], busbw[s, "nvls"], busbw[s, "auto"] }' | sort -t'|' -k2n
}

# message, MiB | busbw of 144 B200: two racks of 72, 18 servers of 8; GB/s
nvl72() {
  awk -F'"' 'NR > 1 { split($3, field, ","); busbw[field[4] / 1048576, /gb200_nvl72/] = sprintf("%.0f", field[8]); rows[field[4] / 1048576] }
    END { for (s in rows) printf "| %d | %s | %s |\n", s, busbw[s, 1], busbw[s, 0] }' | sort -t'|' -k2n
}

# case | transport, a full switch, us, and what packets met: from the table that people read, and its times from results.json
incast() {
  awk 'NR == FNR { if (/^ *"time_us":/) us[++times] = $2 + 0; next }
    function count(what) { return match($0, "[0-9]+ " what) ? substr($0, RSTART, RLENGTH) + 0 : 0 }
    /^# incast, case/ { split($0, setting, "[=,]"); full = setting[5] == "true" ? "pauses" : "drops" }
    /^#   packets:/ { match($0, /longest queue [^ ]+/); queue = substr($0, RSTART + 14, RLENGTH - 14); sub("KB", " KB", queue); sub("MB", " MB", queue)
      printf "| %d | %s | %s | %.2f | %s | %d | %d | %d | %d | %d |\n", ++row, setting[3], full, us[row], queue, count("marked"), count("dropped"),
        count("retransmitted"), count("pause"), count("timeout") }' incast/results.json incast.txt
}

# scenario | points | method | found by how many seeds | evaluations: median, worst | how much slower the worst find was
tune_methods() {
  for scenario in tune_aiacc tune_horovod tune_allreduce; do
    "$binary" tune "scenarios/$scenario.json" --compare --quiet
  done | awk '/^# weft tune/ { scenario = $4; points = $6 }
    /^  [a-z]/ { printf "| %s | %d | %s | %s | %s | %s | %s |\n", scenario, points, $1, $2, $3, $4, $5 }'
}

# The rows between the marks of a table in a page are those of its scenario.
table() {
  local name=$1
  COLUMNS=1000 "$binary" run "scenarios/$name.json" --quiet -o "$name" >"$name.txt"
  "$name" <"$name/results.csv" >"$name.md"
  compare "$@"
}
# ... are those of NAME.md.
compare() {
  local name=$1 page=$root/$2
  local begin="<!-- table:$name:begin" end="<!-- table:$name:end"
  if [[ $renew == --renew ]]; then
    sed -i -e "/$begin/,/$end/{/^| \([0-9]\|tune_\)/d}" -e "/$begin/,/$end/{/^|---/r $name.md
}" "$page"
  fi
  if ! diff <(sed -n "/$begin/,/$end/p" "$page" | grep '^| \([0-9]\|tune_\)') "$name.md"; then
    echo "$2: the table $name is not what a run says; renew it with: sim/cli/docs_test.sh $binary --renew" >&2
    failed=1
  fi
}
# Pages, from the root on.
pages() { (CDPATH= cd -- "$root" && find . \( -name build -o -name '.*' ! -name . \) -prune -o -name '*.md' -print | LC_ALL=C sort); }

# [text](path) and [text](path#part), but not of what lies elsewhere or in the same page.
links_exist() {
  local page target
  while IFS= read -r page; do
    while IFS= read -r target; do
      target=${target%%#*}
      [[ -z $target || -e $root/${page%/*}/$target ]] && continue
      printf '%s: links to %s, which does not exist\n' "$page" "$target" >&2
      failed=1
    done < <(awk '/^ *```/ { fenced = !fenced; next } !fenced { gsub(/`[^`]*`/, ""); while (match($0, /\]\([^() ]+\)/)) { print substr($0, RSTART + 2, RLENGTH - 3); $0 = substr($0, RSTART + RLENGTH) } }' "$root/$page" |
      grep -vE '^[a-z]+:' | sort -u)
  done < <(pages)
}
links_exist

table eflops_scale README.md
for name in in_network_scale in_network_loss in_network_memory in_network_jobs; do table $name collectives/in_network/README.md; done
table incast sim/packet/README.md
table training sim/training/README.md
for name in sharp nvl72; do table $name scenarios/nccl.md; done
tune_methods >tune_methods.md
compare tune_methods sim/tune/README.md

# Lines that begin with ./weft inside fenced blocks; building and testing are what is under way, and `weft validate` is a test of its own.
commands=$(CDPATH= cd -- "$root" && pages | xargs awk '/^```/ { fenced = !fenced } fenced && /^\.\/weft / { sub(/ +#.*/, ""); print FILENAME "\t" $0 }' |
  grep -vE $'\t\./weft (test|build|install)( |$)|\t\./weft validate$')
command -v man >/dev/null || commands=$(grep -v '| man ' <<<"$commands")
while IFS=$'\t' read -r page command; do
  if ! output=$(bash -c "${command/#.\/weft/\"$binary\"}" </dev/null 2>&1); then
    printf '%s: this command failed: %s\n%s\n' "$page" "$command" "$output" >&2
    failed=1
  fi
done <<<"$commands"
printf '%d commands of the documentation run\n' "$(wc -l <<<"$commands")"
exit "$failed"
