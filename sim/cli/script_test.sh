#!/usr/bin/env bash
# The script ./weft where its surroundings are unusual, with a cmake that only notes what it is asked for.
#   script_test.sh PATH_TO_WEFT
set -euo pipefail

binary=$1
root=$(CDPATH= cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
work=$(CDPATH= cd -- "$(mktemp -d)" && pwd -P)
trap 'rm -rf -- "$work"' EXIT
cd -- "$work"
mkdir "copy dir" tools
cp -- "$root/weft" "$root/CMakePresets.json" "copy dir"
printf '#!/bin/sh\nprintf "%%s\\n" "$*" >>"%s/asked"\n' "$work" >tools/cmake
printf '#!/bin/sh\nshift 2\nfor package; do echo "installed $package 1"; done\n' >tools/dpkg-query
chmod +x tools/*
export PATH=$work/tools:$PATH
unset WEFT_BUILD WEFT_PRESET

failed=0
expect() {
  if ! grep -qF -- "$2" "$1"; then
    printf '%s has no "%s":\n' "$1" "$2" >&2
    cat -- "$1" >&2
    failed=1
  fi
}

# With CDPATH exported, cd prints where it went.
CDPATH=.:/tmp bash -c 'export CDPATH; "copy dir/weft" build one' 2>said
expect asked "-B $work/copy dir/build/default"
expect asked "--build $work/copy dir/build/default --target one"
entries=$(find . -mindepth 1 -maxdepth 1 | sort | tr '\n' ' ')
if [[ $entries != "./asked ./copy dir ./said ./tools " ]]; then
  printf 'something was made beside the copy: %s\n' "$entries" >&2
  failed=1
fi

# Another build holds the lock until this one says that it waits.
(
  flock 9
  for ((i = 0; i < 600; ++i)); do
    if grep -qs waiting said_waiting; then break; fi
    sleep 0.1
  done
) 9>"copy dir/build/default/weft.lock" &
until ! flock -n "copy dir/build/default/weft.lock" true; do sleep 0.1; done
"copy dir/weft" build two 2>said_waiting
wait
expect said_waiting "another build is running in $work/copy dir/build/default; waiting for it"
expect asked "--target two"

# A word that is no command is refused by the programs that are there, stale or not; a command is built first, each of them.
mkdir -p "copy dir/build/default/bin"
printf '#!/bin/sh\nprintf "ran %%s\\n" "$*"\n' >"copy dir/build/default/bin/weft"
cp "copy dir/build/default/bin/weft" "copy dir/build/default/bin/weft_tools"
cp "copy dir/build/default/bin/weft" "copy dir/build/default/bin/weft_bench"
chmod +x "copy dir/build/default/bin/"*
: >asked
"copy dir/weft" calibrat x >ran
expect ran "ran calibrat x"
if [[ -s asked ]]; then
  echo "a word that is no command was built for" >&2
  failed=1
fi
words=$("$binary" help | sed -n '/^Subcommands:/,$s/^  \([a-z]*\) .*/\1/p')
if [[ $words != *calibrate* ]]; then
  echo "weft help names no commands" >&2
  failed=1
fi
for word in --help $words; do
  : >asked
  rm -f "copy dir/build/default/"*.stamp
  "copy dir/weft" "$word" >ran 2>said
  expect ran "ran $word"
  expect asked "--build $work/copy dir/build/default --target weft"
done
rm "copy dir/build/default/bin/weft_tools" "copy dir/build/default/"*.stamp
"copy dir/weft" calibrat >ran 2>said
expect asked "--target weft weft_tools"
exit "$failed"
