#!/usr/bin/env bash
# Runs every ./weft command that the documentation shows, and compares the README's table with a run.
#   docs_test.sh WEFT_BINARY [--renew]    --renew writes the table instead
set -euo pipefail

binary=$(readlink -f -- "$1")
renew=${2:-}
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cd -- "$work"
ln -s -- "$root/scenarios" "$root/validation" .
failed=0

# nodes | BiGraph: ring, halving-doubling, HDRM | Fat-Tree: ring, halving-doubling; milliseconds at 256 MiB
table() {
  "$binary" run scenarios/eflops_scale.json --quiet -o scale >/dev/null
  awk -F, '$7 == 268435456 { ms[$2, $4, $6] = sprintf("%.1f", $9 / 1000); nodes[$6] }
    END { for (n in nodes) printf "| %d | %s | %s | %s | %s | %s |\n", n, ms["bigraph", "ring", n], ms["bigraph", "halving_doubling", n],
      ms["bigraph", "hdrm", n], ms["fat_tree", "ring", n], ms["fat_tree", "halving_doubling", n] }' scale/results.csv | sort -t'|' -k2n
}

table >table.md
if [[ $renew == --renew ]]; then
  sed -i -e '/<!-- table:begin/,/<!-- table:end/{/^| [0-9]/d}' -e '/<!-- table:begin/,/<!-- table:end/{/^|---/r table.md
}' "$root/README.md"
fi
if ! diff <(sed -n '/<!-- table:begin/,/<!-- table:end/p' "$root/README.md" | grep '^| [0-9]') table.md; then
  echo "README.md: the table is not what a run says; renew it with: sim/cli/docs_test.sh $1 --renew" >&2
  failed=1
fi

# Lines that begin with ./weft inside fenced blocks; building and testing are what is under way.
commands=$(cd -- "$root" && find . \( -name build -o -name '.*' ! -name . \) -prune -o -name '*.md' -print | LC_ALL=C sort | xargs awk '/^```/ { fenced = !fenced } fenced && /^\.\/weft / { sub(/ +#.*/, ""); print FILENAME "\t" $0 }' |
  grep -vE $'\t\./weft (test|build|install)( |$)')
while IFS=$'\t' read -r page command; do
  if ! output=$(bash -c "${command/#.\/weft/\"$binary\"}" </dev/null 2>&1); then
    printf '%s: this command failed: %s\n%s\n' "$page" "$command" "$output" >&2
    failed=1
  fi
done <<<"$commands"
printf '%d commands of the documentation run\n' "$(wc -l <<<"$commands")"
exit "$failed"
