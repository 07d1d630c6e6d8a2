#!/usr/bin/env bash
# Runs on a machine with a GPU all that a GPU is needed for, and keeps what it printed: one file for each part, which begins
# with the command, the hardware, the driver and the versions.
#   capture.sh [-b BUILD] [-o DIR] [-e MAXBYTES] [-t SECONDS] [PART...]
#     -b  the folder of the build, build/default by default
#     -o  where the results go, build/gpu-results by default
#     -e  the largest message, 1G by default; all ranks' messages share the device's memory
#     -t  how long one command may take, 600 by default; one that takes longer is ended and counts as failed
#   PART: tests kernels enqueue graph collectives one_launch compression staged trace nccl sanitizer; all of them by default, in this order
# Exit status: 0 if everything ran and no result was wrong, else 1, with what failed at the end.
set -uo pipefail

root=$(CDPATH= cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
build=$root/build/default
out=$root/build/gpu-results
largest=1G
patience=600
usage() { sed -n '2,10s/^# \{0,1\}//p' -- "${BASH_SOURCE[0]}"; }
while getopts b:o:e:t:h option; do
  case $option in
    b) build=$OPTARG ;;
    o) out=$OPTARG ;;
    e) largest=$OPTARG ;;
    t) patience=$OPTARG ;;
    h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
all=(tests kernels enqueue graph collectives one_launch compression staged trace nccl sanitizer)
parts=("$@")
if ((${#parts[@]} == 0)); then parts=("${all[@]}"); fi
for name in "${parts[@]}"; do
  if [[ " ${all[*]} " != *" $name "* ]]; then
    echo "there is no part \"$name\": it must be one of ${all[*]}" >&2
    exit 2
  fi
done

bin=$build/bin
if [[ ! -x $bin/weft_bench ]]; then echo "$bin/weft_bench is missing: build it, or name the build with -b" >&2; exit 2; fi
if ! nvidia-smi -L >/dev/null 2>&1; then echo "nvidia-smi shows no GPU: there is nothing to capture here" >&2; exit 2; fi
mkdir -p -- "$out" || exit 2

failed=()
file=

# Where and with what the results were made.
provenance() {
  printf '# date %s, host %s, %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$(uname -n)" "$(uname -sr)"
  printf '# weft %s\n' "$(git -C "$root" describe --always --dirty 2>/dev/null || echo 'commit unknown')"
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.memory,power.limit,pci.bus_id --format=csv,noheader |
    sed 's/^/# GPU: /'
  nvidia-smi | sed -n 's/.*\(CUDA Version: [0-9.]*\).*/# driver supports \1/p'
  if command -v nvcc >/dev/null; then nvcc --version | sed -n 's/^.*release/# nvcc release/p'; fi
  printf '# CPU: %s, %s cores\n' "$(sed -n '0,/model name/s/^model name[[:space:]]*: //p' /proc/cpuinfo)" "$(nproc)"
}

# A command for no longer than the patience; a function of this file limits what it starts itself.
limited() { if [[ $(type -t "$1") == function ]]; then "$@"; else timeout -k 5 "$patience" "$@"; fi; }

# part NAME: what follows goes to a file of that name.
part() {
  file=$out/$1.txt
  provenance >"$file"
  printf '== %s\n' "$1"
}

# keep COMMAND...: runs it, keeps what it prints below the command itself, and remembers a failure.
keep() {
  local start=$SECONDS status
  { printf '#\n# $ %s\n' "${*//$bin\//}"; limited "$@"; } >>"$file" 2>&1
  status=$?
  if ((status != 0)); then
    printf '# exit status %d\n' "$status" >>"$file"
    failed+=("${file##*/}: ${*//$bin\//}: exit status $status")
  fi
  printf '%4d s  %s\n' "$((SECONDS - start))" "${*//$bin\//}"
}

# Every all-reduce of the library on so many ranks, over all sizes.
allreduces() {
  local ranks=$1
  shift
  local common=(--transport cuda -n "$ranks" -b 8 -e "$largest" -f 4 "$@") switches=$((ranks == 2 ? 2 : 4))
  keep "$bin/weft_bench" "${common[@]}" --algorithm ring,halving_doubling,recursive_doubling,double_binary_tree,direct
  keep "$bin/weft_bench" "${common[@]}" --algorithm hierarchical_ring --group 2
  keep "$bin/weft_bench" "${common[@]}" --algorithm hdrm --switches "$switches"
}

# The other collectives, all their algorithms, at a few sizes.
other_collectives() {
  local ranks=$1 line
  while read -r -a line; do
    keep "$bin/weft_bench" --transport cuda -n "$ranks" --collective "${line[0]}" --algorithm "${line[1]}" -b 8 -e 64M -f 128
  done <<'END'
reduce_scatter ring,halving_doubling,direct
allgather ring,recursive_doubling,bruck,direct
broadcast binomial_tree,scatter_allgather,chain
reduce binomial_tree,reduce_scatter_gather,chain
alltoall direct,pairwise,bruck
barrier dissemination
END
}

sanitize() {
  local tool=$1
  shift
  keep compute-sanitizer --tool "$tool" --error-exitcode 3 --print-limit 10 "$@"
}

# A process for each GPU; what rank 0 prints is kept.
processes() {
  local gpus r status=0
  gpus=$(nvidia-smi -L | wc -l)
  for ((r = 1; r < gpus; r++)); do limited "$@" --meeting 127.0.0.1:29471 --ranks "$gpus" --rank "$r" >/dev/null & done
  limited "$@" --meeting 127.0.0.1:29471 --ranks "$gpus" --rank 0 || status=$?
  wait
  return $status
}

run_part() {
  part "$1"
  case $1 in
    tests)
      export WEFT_GPU=required
      keep "$bin/kernels_tests"
      keep "$bin/cuda_tests"
      if [[ -x $bin/nccl_tests ]]; then keep "$bin/nccl_tests"; fi
      ;;
    kernels) keep "$bin/kernels_cuda_benchmark" ;;
    enqueue) for ranks in 2 4 8; do allreduces "$ranks"; done ;;
    graph) for ranks in 2 4 8; do allreduces "$ranks" --graph; done ;;
    collectives)
      for ranks in 2 4 8; do other_collectives "$ranks"; done
      keep "$bin/weft_bench" --transport cuda -n 8 --algorithm ring --channels 2 -b 64K -e 64M -f 16
      for dtype in float16 bfloat16 float64 int32 int64 uint8; do
        keep "$bin/weft_bench" --transport cuda -n 4 --dtype "$dtype" --algorithm ring,halving_doubling -b 1K -e 16M -f 16
      done
      ;;
    one_launch)
      for ranks in 2 4 8; do
        keep "$bin/weft_bench" --transport cuda -n "$ranks" --algorithm one_shot,two_shot,ring,recursive_doubling -b 8 -e 4M -f 4
      done
      keep "$bin/weft_bench" --transport cuda -n "$(nvidia-smi -L | wc -l)" --algorithm one_shot,two_shot,ring -b 8 -e 4M -f 4 --graph
      keep "$bin/weft_bench" --transport tcp --device gpu -n "$(nvidia-smi -L | wc -l)" --algorithm one_shot,two_shot -b 8 -e 4M -f 4
      ;;
    compression)
      for compression in gs_sgd gtopk topk_allgather sketched_sgd; do
        keep "$bin/weft_bench" --transport nccl --compression "$compression" -b 1M -e 256M -f 16
        for ranks in 2 4; do
          keep "$bin/weft_bench" --transport tcp --device gpu -n "$ranks" --compression "$compression" -b 1M -e 256M -f 16
        done
      done
      ;;
    staged)
      keep "$bin/weft_bench" --transport tcp --device gpu -n 4 --algorithm ring,halving_doubling -b 4K -e 256M -f 4
      if command -v mpirun >/dev/null; then
        keep mpirun -n 4 "$bin/weft_bench" --transport mpi --device gpu --algorithm ring -b 4K -e 256M -f 4
      fi
      ;;
    trace)
      for ranks in 2 4 8; do
        keep "$bin/weft_bench" --transport cuda -n "$ranks" --graph --algorithm ring,halving_doubling,recursive_doubling,direct -b 64 \
          -e "$largest" -f 4 --trace "$out/trace_n$ranks.json"
      done
      ;;
    nccl)
      keep "$bin/weft_bench" --transport nccl --algorithm nccl,ring,halving_doubling,direct -b 8 -e "$largest" -f 4
      keep "$bin/weft_bench" --transport nccl --algorithm nccl,ring -b 8 -e "$largest" -f 4 --graph
      keep processes "$bin/weft_bench" --transport nccl --algorithm nccl,ring,halving_doubling -b 8 -e "$largest" -f 4
      printf '#\n# one rank more than there are GPUs is refused:\n' >>"$file"
      "$bin/weft_bench" --transport nccl -n $(($(nvidia-smi -L | wc -l) + 1)) >>"$file" 2>&1
      ;;
    sanitizer)
      sanitize memcheck "$bin/kernels_tests"
      sanitize memcheck "$bin/cuda_tests"
      sanitize memcheck "$bin/weft_bench" --transport cuda -n 4 --algorithm ring,direct -b 8 -e 64K -f 64 -w 1 --iterations 2
      sanitize memcheck "$bin/weft_bench" --transport cuda -n 4 --algorithm ring -b 64K -w 1 --iterations 2 --graph
      sanitize initcheck "$bin/cuda_tests"
      sanitize racecheck "$bin/kernels_tests"
      sanitize synccheck "$bin/kernels_tests"
      ;;
  esac
}

for name in "${parts[@]}"; do run_part "$name"; done

printf '\nresults in %s\n' "$out"
if ((${#failed[@]} > 0)); then
  printf 'failed:\n'
  printf '  %s\n' "${failed[@]}"
  exit 1
fi
