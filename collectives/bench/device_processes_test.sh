#!/usr/bin/env bash
# weft bench with data on GPUs over tcp and mpi, and what is said of a rank that hangs, on the stand-in for CUDA's runtime: the host that
# touched device memory would be ended. $2, where it is given, is the stand-in for NCCL, $3 mpirun.
source "${BASH_SOURCE%/*}/stand_in_test.sh" "$1" "${2:-}"
mpirun=${3:-}
export WEFT_FAKE_DEVICES=3
sizes=(-b 4 -e 4M -f 1024 -w 1 --iterations 2)

export WEFT_FAKE_GUARD=1
"$bench" --transport tcp --device gpu -n 4 --algorithm ring,recursive_doubling,direct --op avg "${sizes[@]}" >out 2>err || fail "tcp"
right tcp
grep -q 'through page-locked memory of the host' out || fail "tcp: the table does not say how messages go"
"$bench" --transport tcp --device gpu -n 3 --collective alltoall --algorithm pairwise --dtype uint8 "${sizes[@]}" >out 2>err || fail "alltoall"
right alltoall
if [[ -n $mpirun ]]; then
  "$mpirun" -n 3 "$bench" --transport mpi --device gpu --algorithm ring,halving_doubling --dtype float16 "${sizes[@]}" >out 2>err || fail "mpi"
  right mpi
fi
WEFT_FAKE_PINNED=0 "$bench" --transport tcp --device gpu -n 2 -b 1K >out 2>err && fail "no page-locked memory, and no error"
grep -q 'cudaHostAlloc' err || fail "what is missing is not said"

# Compressed all-reduces, whose exchanges go over tcp, mpi and nccl.
small=(-b 4K -e 1M -f 16 -w 1 --iterations 2)
for case in 2:gtopk 3:gs_sgd 3:topk_allgather 3:sketched_sgd 5:gs_sgd 5:gtopk; do
  "$bench" --transport tcp --device gpu -n ${case%:*} --compression ${case#*:} "${small[@]}" >out 2>err || fail "$case over tcp"
  right "$case over tcp"
done
"$bench" --transport tcp --device gpu -n 4 --compression dense --algorithm ring "${small[@]}" >out 2>err || fail "dense over tcp"
right "dense over tcp"
if [[ -n $mpirun ]]; then
  "$mpirun" -n 3 "$bench" --transport mpi --device gpu --compression gtopk "${small[@]}" >out 2>err || fail "gtopk over mpi"
  right "gtopk over mpi"
fi
unset WEFT_FAKE_GUARD
if [[ -n $nccl ]]; then
  for compression in gs_sgd gtopk topk_allgather sketched_sgd dense; do
    "$bench" --transport nccl --compression $compression "${small[@]}" >out 2>err || fail "$compression over nccl"
    right "$compression over nccl"
    grep -q '# 3 ranks, a process and a GPU for each' out || fail "$compression over nccl: not a rank on each GPU"
  done
  status=0
  WEFT_STAND_IN_NCCL_FAULT=exit:2:5 "$bench" --transport nccl -n 3 --compression gtopk -b 64K >out 2>err || status=$?
  [[ $status == 1 ]] && grep -q 'rank 2 is gone' err || fail "gtopk over nccl: ended with $status where rank 2 is lost, or does not name it"
fi
refused 'runs over nccl, or over tcp and mpi with --device gpu' --transport cuda -n 2 --compression gtopk
refused 'takes no --compression' --transport nccl -n 2 --compression gtopk --graph

for wrong in "--transport threads" "--transport tcp --channels 2" "--transport tcp --trace t.json"; do
  status=0
  "$bench" $wrong --device gpu -n 2 >out 2>err || status=$?
  [[ $status == 2 ]] || fail "$wrong --device gpu ended with $status, not 2"
done

# All-reduces of one launch, and a launch a step beside them.
"$bench" --transport cuda -n 3 --algorithm one_shot,two_shot,ring --op avg "${sizes[@]}" >out 2>err || fail "one launch"
right "one launch"
"$bench" --transport cuda -n 3 --algorithm one_shot,two_shot --graph "${sizes[@]}" >out 2>err || fail "one launch, graph"
right "one launch, graph"
for transport in "--transport cuda" "--transport tcp --device gpu"; do
  "$bench" $transport -n 3 --algorithm auto -b 4 -e 64K -f 64 -w 1 --iterations 2 >out 2>err || fail "auto, $transport"
  right "auto, $transport"
  grep -q '^# auto: the fastest of 5 runs of each algorithm that can run: .* to 16384 B' out || fail "auto, $transport: what was chosen is not said"
done
# Where one launch cannot be, another algorithm is.
WEFT_FAKE_PEERS=0 "$bench" --transport tcp --device gpu -n 2 --algorithm auto -b 1K -w 1 --iterations 2 >out 2>err || fail "auto without peer access"
right "auto without peer access"
refused 'needs a GPU for each of 4 ranks, got 3' --transport cuda -n 4 --algorithm one_shot --graph
refused 'has no allreduce of float32 max' --transport cuda -n 2 --algorithm two_shot --op max
refused 'needs --transport cuda' --transport threads -n 2 --algorithm one_shot
WEFT_FAKE_PEERS=0 refused 'needs peer access between all GPUs' --transport cuda -n 2 --algorithm one_shot

# The same where each rank has a process: memory that processes share.
for case in "1 0" "2 1" "3 0"; do
  WEFT_FAKE_GUARD=${case#* } "$bench" --transport tcp --device gpu -n ${case% *} --algorithm one_shot,two_shot,ring --op avg \
    -b 4 -e 64K -f 128 -w 1 --iterations 2 >out 2>err || fail "one launch, processes: $case"
  right "one launch, processes: $case"
done
"$bench" --transport tcp --device gpu -n 3 --algorithm two_shot,one_shot --dtype float16 -b 2 -e 8K -f 64 -w 1 --iterations 20 -m 4 >out 2>err ||
  fail "one launch, many runs"
right "one launch, many runs"
refused 'needs a GPU for each rank, and ranks 0 and 3 both have 0000:01:00.0' --transport tcp --device gpu -n 4 --algorithm one_shot
WEFT_FAKE_PEERS=0 refused 'needs peer access between all GPUs, and rank' --transport tcp --device gpu -n 2 --algorithm one_shot
WEFT_FAKE_IPC=0 refused 'needs memory that processes share, and rank' --transport tcp --device gpu -n 2 --algorithm two_shot
refused 'has no allreduce of float32 max' --transport tcp --device gpu -n 2 --algorithm two_shot --op max
if [[ -n $nccl ]]; then
  "$bench" --transport nccl -n 3 --algorithm one_shot,nccl,two_shot "${sizes[@]}" >out 2>err || fail "one launch beside nccl"
  right "one launch beside nccl"
fi
if [[ -n $mpirun ]]; then
  "$mpirun" -n 3 "$bench" --transport mpi --device gpu --algorithm one_shot,two_shot "${sizes[@]}" >out 2>err || fail "one launch, mpirun"
  right "one launch, mpirun"
fi

# A rank that hangs: the others end in time, and name it.
hangs() {
  local algorithm=$1
  shift
  local port=$(free_port) pids=() r status
  for r in 0 1 2; do
    WEFT_JOB_SECRET=sesame "$bench" --meeting 127.0.0.1:$port --ranks 3 --rank $r --algorithm $algorithm -b 64K --iterations 100000000 --patience 3 \
      "$@" >out.$r 2>err.$r &
    pids+=($!)
  done
  for ((i = 0; i < 300; i++)); do
    [[ -s out.0 ]] && break
    sleep 0.1
  done
  sleep 0.5
  kill -STOP ${pids[2]}
  for r in 0 1; do
    status=0
    wait ${pids[r]} || status=$?
    [[ $status == 1 ]] || fail "$*: rank $r ended with $status, not 1"
    grep -q 'rank 2 does not say that it waits' err.$r || fail "$*: rank $r does not name the rank that hangs"
  done
  kill -KILL ${pids[2]}
  wait ${pids[2]} 2>/dev/null || true
}
hangs ring --transport tcp
hangs two_shot --transport tcp --device gpu
[[ -z $nccl ]] || hangs ring --transport nccl

# A rank that is killed while the others' kernels wait for it: they end, and name it.
port=$(free_port) pids=()
for r in 0 1 2; do
  WEFT_JOB_SECRET=sesame "$bench" --meeting 127.0.0.1:$port --ranks 3 --rank $r --transport tcp --device gpu --algorithm one_shot -b 64K \
    --iterations 100000000 >out.$r 2>err.$r &
  pids+=($!)
done
for ((i = 0; i < 300; i++)); do
  [[ -s out.0 ]] && break
  sleep 0.1
done
sleep 0.5
kill -KILL ${pids[2]}
wait ${pids[2]} 2>/dev/null || true
for r in 0 1; do
  status=0
  wait ${pids[r]} || status=$?
  [[ $status == 1 ]] || fail "one launch: rank $r ended with $status, not 1, where rank 2 was killed"
  grep -q 'rank 2' err.$r || fail "one launch: rank $r does not name the rank that was killed"
done
if [[ -n $mpirun ]]; then
  "$mpirun" -n 3 bash -c '[[ $OMPI_COMM_WORLD_RANK != 2 ]] || (sleep 3; kill -STOP $$) & exec "$@"' _ \
    "$bench" --transport mpi --algorithm ring -b 64K --iterations 100000000 --patience 3 >out 2>err && fail "mpi: a rank hangs, and the run does not end"
  grep -q 'rank 2 does not say that it waits' err || fail "mpi: the rank that hangs is not named"
fi
echo "device memory over the host's transports, and ranks that hang: all as expected"
