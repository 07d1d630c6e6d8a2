#!/usr/bin/env bash
# weft bench --transport nccl with a process for each rank, as torchrun, mpirun and srun start it and by hand, on stand-ins for CUDA and
# NCCL: exit statuses, who prints, and what is said of a rank that is lost.
source "${BASH_SOURCE%/*}/stand_in_test.sh" "$1" "$2"
export WEFT_FAKE_DEVICES=4

# ranks STATUS COUNT COMMAND...: runs the command once for each rank, with what `environment RANK` prints, and compares the statuses
# (ranks that the variable `lost` names may have any other).
ranks() {
  local status=$1 count=$2 pids=() r got
  shift 2
  rm -f out.* err.*
  for ((r = 0; r < count; r++)); do
    env $(environment $r) "$@" $(flags $r) >out.$r 2>err.$r &
    pids+=($!)
  done
  for ((r = 0; r < count; r++)); do
    got=0
    wait "${pids[r]}" || got=$?
    [[ $got == "$status" || " ${lost-} " == *" $r "* ]] || fail "rank $r ended with $got, not $status"
  done
}
flags() { :; }
sizes=(-b 4 -e 64K -f 64 -w 1 --iterations 3)

port=$(free_port)
environment() { echo RANK=$1 WORLD_SIZE=4 LOCAL_RANK=$1 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port; }
ranks 0 4 "$bench" --transport nccl --algorithm nccl,ring,halving_doubling "${sizes[@]}"
right torchrun out.0
grep -q '# 4 ranks, a process and a GPU for each' out.0 || fail "torchrun: the table does not say how ranks run"
[[ ! -s out.1 ]] || fail "torchrun: rank 1 prints too"

port=$(free_port)
ranks 0 4 "$bench" --transport nccl --algorithm nccl,double_binary_tree --channels 2 --op avg --dtype bfloat16 --graph "${sizes[@]}" --trace trace.json
right graph out.0
grep -q '"rank":3' trace.json || fail "the trace lacks rank 3"

port=$(free_port)
ranks 0 4 "$bench" --transport nccl --algorithm one_shot,nccl,two_shot --graph "${sizes[@]}"
right "one launch, torchrun, graph" out.0
port=$(free_port)
ranks 0 4 "$bench" --transport nccl --algorithm auto "${sizes[@]}"
right "auto, torchrun" out.0
grep -q '^# auto: the fastest of 5 runs' out.0 || fail "auto, torchrun: what was chosen is not said"

environment() { echo SLURM_PROCID=$1 SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=$1 SLURM_STEP_NODELIST=localhost SLURM_JOB_ID=$$ SLURM_STEP_ID=0; }
ranks 0 2 "$bench" --transport nccl --collective alltoall --algorithm nccl,pairwise "${sizes[@]}"
right srun out.0

environment() { echo WEFT_JOB_SECRET=sesame; }
port=$(free_port)
flags() { echo --rank $1; }
ranks 0 3 "$bench" --transport nccl --meeting 127.0.0.1:$port --ranks 3 --algorithm ring "${sizes[@]}"
port=$(free_port)
ranks 0 2 "$bench" --transport tcp --meeting 127.0.0.1:$port --ranks 2 --algorithm ring "${sizes[@]}"

# Lost ranks: whoever is left names them, and ends.
port=$(free_port)
lost=2
WEFT_STAND_IN_NCCL_FAULT=exit:2:5 ranks 1 3 "$bench" --transport nccl --meeting 127.0.0.1:$port --ranks 3 --algorithm ring -b 64K
for r in 0 1; do grep -q 'rank 2 is gone' err.$r || fail "rank $r does not name the rank that is lost"; done
port=$(free_port)
lost=
WEFT_STAND_IN_NCCL_FAULT=error:1:5 ranks 1 3 "$bench" --transport nccl --meeting 127.0.0.1:$port --ranks 3 --algorithm nccl -b 64K
for r in 0 1 2; do grep -q 'rank 1: remote process exited' err.$r || fail "rank $r does not say which rank failed"; done
port=$(free_port)
WEFT_STAND_IN_NCCL_FAULT=silent:1:5 ranks 1 2 "$bench" --transport nccl --meeting 127.0.0.1:$port --ranks 2 --algorithm nccl -b 64K --patience 1
port=$(free_port)
flags() { [[ $1 == 1 ]] && echo --rank 2 || echo --rank $1; }
ranks 1 2 "$bench" --transport nccl --meeting 127.0.0.1:$port --ranks 3 -b 64K --patience 1
grep -q 'rank 0 has not heard of rank 1' err.0 || fail "rank 0 does not name the rank that never came"

# What cannot be is refused before anything starts.
flags() { :; }
environment() { :; }
ranks 2 1 "$bench" --transport nccl --meeting nowhere --ranks 3
environment() { echo RANK=$1 WORLD_SIZE=5 LOCAL_RANK=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=1; }
ranks 2 1 "$bench" --transport nccl -n 3
grep -q -- '-n: torchrun started 5 ranks, got 3' err.0 || fail "-n beside torchrun"
echo "ranks in processes of their own: all as expected"
