#!/usr/bin/env bash
# Sweeps and searches shared out among ranks, killed and resumed, against the same in one process. The ranks are started here, with the
# variables that mpirun sets.
#   ranks_test.sh WEFT_BINARY
set -euo pipefail

weft=$(readlink -f -- "$1")
work=$(CDPATH= cd -- "$(mktemp -d)" && pwd -P)
pids=()
clean() {
  for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
  rm -rf -- "$work"
}
trap clean EXIT
cd -- "$work"
unset "${!OMPI_@}" "${!SLURM_@}" PMIX_NAMESPACE
failed=0 job=0
fail() {
  printf '%s\n' "$@" >&2
  failed=1
}

# Starts so many ranks of a command in the background; what rank R prints goes to printed.R.
start() {
  local ranks=$1 r
  shift
  job=$((job + 1)) pids=()
  for ((r = 0; r < ranks; ++r)); do
    OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=$ranks OMPI_COMM_WORLD_LOCAL_SIZE=$ranks PMIX_NAMESPACE=test.$$.$job \
      "$weft" "$@" >"printed.$r" 2>&1 &
    pids+=($!)
  done
}
# Waits for them; fails where one does.
finish() {
  local r
  for r in "${!pids[@]}"; do wait "${pids[$r]}" || fail "rank $r ended with status $?: $(cat "printed.$r")"; done
  pids=()
}
same() { cmp -- "$1" "$2" || fail "$1 and $2 differ"; }
rows_in() { if [[ -e $1 ]]; then grep -c '"key"' "$1" || true; else echo 0; fi; }
# Until the journal of out has so many rows.
until_rows() {
  local i
  for ((i = 0; i < 600; ++i)); do
    if (($(rows_in "$1/rows.jsonl") >= $2)); then return; fi
    sleep 0.1
  done
  fail "no $2 rows in $1"
}

cat >sweep.json <<'JSON'
{ "schema": 1, "name": "sweep", "hardware": "ideal",
  "fabric": { "type": "star", "nodes": 192, "link": { "bandwidth": "100Gbps", "latency": "1us" } },
  "workload": { "algorithm": "ring", "size": ["1MiB", "2MiB", "3MiB", "4MiB"] },
  "sweep": { "/seed": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20] } }
JSON
run=(run sweep.json --quiet --reproducible)
"$weft" "${run[@]}" -o alone >alone.txt

# The same bytes from several ranks, of whom only rank 0 prints.
start 3 "${run[@]}" -o ranks
finish
for file in results.csv results.json rows.jsonl; do same alone/$file ranks/$file; done
same alone.txt printed.0
if [[ -s printed.1 || -s printed.2 ]]; then fail "ranks other than 0 print: $(cat printed.1 printed.2)"; fi
if compgen -G 'ranks/.weft*' >/dev/null; then fail "the file of the meeting is left"; fi

# Timelines too, and those that are there are not made again.
few=(run sweep.json --quiet --reproducible --trace --set /fabric/nodes=4 --set '/sweep={"/seed":[1,2,3]}')
"$weft" "${few[@]}" -o traced >/dev/null
start 3 "${few[@]}" -o traced_by_ranks
finish
same traced/trace.json traced_by_ranks/trace.json
"$weft" "${few[@]}" -o traced_by_ranks --resume >resumed.txt 2>&1
grep -q '12 of 12 rows are in traced_by_ranks already' resumed.txt || fail "$(cat resumed.txt)"
same traced/trace.json traced_by_ranks/trace.json

# A rank is killed: its rows are simulated by others.
start 2 "${run[@]}" -o lost
until_rows lost 10
kill -9 "${pids[1]}"
wait "${pids[0]}" || fail "rank 0 failed without rank 1: $(cat printed.0)"
{ wait "${pids[1]}"; } 2>/dev/null || true
pids=()
same alone/results.json lost/results.json

# All are killed, twice, and the run goes on each time; the earlier result stays until there is a better one.
mkdir killed
cp -r alone/results.csv alone/results.json killed
for rows in 15 45; do
  start 2 "${run[@]}" -o killed --resume
  until_rows killed "$rows"
  kill -9 "${pids[@]}"
  { wait "${pids[@]}"; } 2>/dev/null || true
  pids=()
  same alone/results.json killed/results.json
done
rm killed/results.*
start 2 "${run[@]}" -o killed --resume
finish
grep -q 'of 80 rows are in killed already' printed.0 || fail "it does not say what is there: $(cat printed.0)"
for file in results.csv results.json rows.jsonl; do same alone/$file killed/$file; done
(($(rows_in killed/rows.jsonl) == 80)) || fail "the journal of killed has $(rows_in killed/rows.jsonl) rows"

# A simulating process is killed: its row is simulated again.
"$weft" "${run[@]}" -o child >child.txt 2>&1 &
pids=($!)
until_rows child 5
read -r child _ <"/proc/${pids[0]}/task/${pids[0]}/children" || true
if [[ $child ]]; then kill -9 "$child" 2>/dev/null || true; fi
finish_status=0
wait "${pids[0]}" || finish_status=$?
pids=()
((finish_status == 0)) || fail "a row is lost with its process: $(cat child.txt)"
same alone/results.json child/results.json

# An interrupt keeps an earlier result that has more rows, and says so.
cp -r alone interrupted
"$weft" "${run[@]}" -o interrupted >interrupted.txt 2>&1 &
pids=($!)
for ((i = 0; i < 600; ++i)); do
  if (($(rows_in interrupted/rows.new.jsonl) >= 3)); then break; fi
  sleep 0.1
done
kill -TERM "${pids[0]}"  # bash starts background commands with interrupts ignored
wait "${pids[0]}" && fail "an interrupted run ends with 0"
pids=()
grep -q "keeps its earlier results" interrupted.txt || fail "$(tail -3 interrupted.txt)"
same alone/results.json interrupted/results.json

# A search evaluates the same points, and what is bad about a scenario is said once.
cat >open.json <<'JSON'
{ "schema": 1, "name": "open", "hardware": "ideal",
  "fabric": { "type": "star", "nodes": 16, "link": { "bandwidth": "100Gbps", "latency": "1us" } },
  "workload": { "algorithm": ["ring", "halving_doubling"], "size": "64KiB" },
  "sweep": { "/fabric/link/latency": ["1us", "2us", "3us", "4us", "5us"] } }
JSON
tune=(tune open.json --quiet --method bayesian --evaluations 8 --batch 4)
"$weft" "${tune[@]}" -o tuned >tuned.txt
start 3 "${tune[@]}" -o tuned_by_ranks
finish
same tuned.txt printed.0
same tuned/evaluations.csv tuned_by_ranks/evaluations.csv
start 3 "${tune[@]}" -o tuned_by_ranks --resume
finish
same tuned/evaluations.csv tuned_by_ranks/evaluations.csv
start 3 run sweep.json --set /workload/algorithm=rings -o wrong
for pid in "${pids[@]}"; do wait "$pid" || true; done
pids=()
grep -q 'did you mean "ring"' printed.0 || fail "rank 0 does not say what is wrong"
if [[ -s printed.1 || -s printed.2 ]]; then fail "what is wrong is said by every rank"; fi
exit "$failed"
