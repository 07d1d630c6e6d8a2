# For tests that run weft bench on stand-ins for CUDA's runtime and NCCL, every result checked by the program itself: sourced with its path,
# and that of the stand-in for NCCL or "". They run in a folder of their own.
set -euo pipefail
bench=$(realpath "$1")
nccl=${2:-}
[[ -z $nccl ]] || export WEFT_NCCL_LIBRARY=$(realpath "$nccl")
folder=$(mktemp -d)
export WEFT_STAND_IN_NCCL_FOLDER=$folder
trap 'kill -KILL $(jobs -p) 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"

fail() {
  echo "$1"
  tail -n +1 "$folder"/out* "$folder"/err* || true
  exit 1
}
# A port that was free a moment ago.
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# right WHAT [FILE]: the table in this file has nothing wrong.
right() { grep -q 'Out of bounds values : 0 OK' "${2:-out}" || fail "$1: no table, or a wrong one"; }
# refused MESSAGE FLAGS...: ends with 2, and says so.
refused() {
  local status=0
  "$bench" "${@:2}" >out 2>err || status=$?
  [[ $status == 2 ]] && grep -q -- "$1" err || fail "${*:2}: ended with $status, and not for: $1"
}
