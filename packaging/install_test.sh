#!/usr/bin/env bash
# Installs a build, moves what was installed, hides the sources where that is allowed, and uses it: the program, its manual and completion,
# the Python module, and the examples, built against it.
#   install_test.sh SOURCE_FOLDER BUILD_FOLDER CMAKE CXX
set -euo pipefail

source=$1 build=$2 cmake=$3 cxx=$4
work=$(CDPATH= cd -- "$(mktemp -d)" && pwd -P)
trap 'rm -rf -- "$work"' EXIT
cd -- "$work"
failed=0
fail() { printf '%s\n' "$@" >&2; failed=1; }

"$cmake" --install "$build" --prefix "$work/installed" >log || { cat log; exit 1; }
mv installed moved
prefix=$work/moved

# No path of the machine it was built on. What debuggers read may name sources.
for file in "$prefix"/bin/* $(find "$prefix" -name '*.so*' -type f); do strip --strip-debug "$file"; done
named=$(grep -rlF -e "$source/" -e "$build" -e "$work/installed" "$prefix" || true)
[[ -z $named ]] || fail "these name a folder of the build: $named"

cat >use <<'USE'
set -Eeuo pipefail
trap 'echo "this fails: $BASH_COMMAND"' ERR
prefix=$1
weft=$prefix/bin/weft
expect() { grep -qF -- "$2" "$1" || { printf '%s has no "%s":\n' "$1" "$2"; cat "$1"; exit 1; }; }

"$weft" run "$prefix/share/weft/scenarios/quickstart.json" --quiet -o out >table
expect out/results.csv quickstart,
"$weft" list >listed
expect listed eflops_testbed
printf '{"schema": 1, "name": "a", "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth": "1Gbps", "latency": "1us"}},
  "hardware": "eflops_testbed", "workload": {"model": "resnet50", "device": "v100", "engine": "ddp", "algorithm": "ring"}}' >trains.json
"$weft" run trains.json --quiet >table
"$weft" validate "$prefix/share/weft/validation/references/eflops_testbed.json" >judged
"$weft" train --epochs 1 -n 2 --compression dense >trained
"$weft" bench --transport threads --algorithm ring -n 4 -b 64K --iterations 2 >measured
expect measured 65536
"$weft" help run >explained
expect explained --trace
"$weft" help bench >explained
expect explained --transport
if "$weft" help runn 2>explained; then exit 1; fi
expect explained 'did you mean "run"'

expect "$prefix/share/man/man1/weft.1" 'Write results.csv and results.json'
expect "$prefix/share/man/man1/weft.1" '\-\-transport'
if command -v man >/dev/null; then
  MANROFFSEQ='' LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$prefix/share/man/man1/weft.1" 2>warned >/dev/null
  if [[ -s warned ]]; then cat warned; exit 1; fi
fi

completed() { bash -c 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weft; echo "${COMPREPLY[*]}"' \
  "$prefix/share/bash-completion/completions/weft" "$@"; }
[[ $(completed weft ca) == calibrate ]]
[[ $(completed weft run --net) == --network ]]
[[ $(completed weft run --network pa) == packet ]]
[[ $(completed weft bench --transp) == --transport ]]
[[ $(completed weft help va) == validate ]]
[[ $(completed weft run trains) == trains.json ]]

python_package=$prefix/lib/python3/dist-packages
if [[ -d $python_package/weft ]]; then
  for python in $2 /usr/bin/python3 python3; do
    if PYTHONPATH=$python_package PYTHONDONTWRITEBYTECODE=1 "$python" -c 'import weft
assert weft.run("trains.json", set={"/hardware": "eflops_testbed"})[0]["model"] == "resnet50"' 2>python_said; then python_said=; break; fi
  done
  if [[ -z ${python_said-x} ]]; then echo "with Python"; else cat python_said; exit 1; fi
fi
USE
hidden='mount -t tmpfs none "$0" && exec bash "$@"'
if unshare -m true 2>/dev/null; then
  unshare -m --propagation private bash -c "$hidden" "$source" use "$prefix" "" || fail "what was installed does not work without the sources"
elif unshare -rm true 2>/dev/null; then
  unshare -rm --propagation private bash -c "$hidden" "$source" use "$prefix" "" || fail "what was installed does not work without the sources"
else
  echo "the sources are not hidden: no mount namespaces here"
  bash use "$prefix" "" || fail "what was installed does not work"
fi

# The examples, as a user builds them.
for example in own_algorithm over_tcp; do
  if ! { "$cmake" -G Ninja -S "$prefix/share/weft/examples/$example" -B "$example" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" &&
    "$cmake" --build "$example"; } >log 2>&1; then
    cat log
    fail "the example $example cannot be built against what was installed"
  fi
done
# Eight endpoints on a line, 14 steps of 8 MB: three cables of 1 us and 640 us each.
own_algorithm/own_algorithm | tee said
grep -q '^there_and_back  *8000000 B  *9002.000 us' said || fail "the example own_algorithm does not say 9002 us"
over_tcp/over_tcp ring 4 | tee said
grep -q 'ring of 1048576 floats over TCP: right' said || fail "the example over_tcp is not right"
exit "$failed"
