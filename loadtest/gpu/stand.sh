#!/bin/bash
# On the GPU machine: stand.sh PART [measure ARGUMENTS...]
# Unpacks a part (see packing.py) and, if asked to, measures; results go to $OUT.
set -eu
part=$1; shift
export ROOT=${ROOT:-/tmp/stand}
mkdir -p "$ROOT"
for archive in "$part"/*.tar.xz; do
    tar -xJf "$archive" -C "$ROOT" &
done
wait
[ $# -gt 0 ] || exit 0
OUT=$(realpath "$OUT")
export PYTHONPATH=$ROOT/site:$ROOT/snapshot PYTHONUNBUFFERED=1
cd "$ROOT/snapshot"
status=0
python3 -m loadtest.gpu "$@" --root "$ROOT" --out "$OUT" || status=$?
for log in "$ROOT"/logs/*.log; do
    echo "== $log"; grep -v -e '^+' -e '^|' "$log" | cut -c1-400 | tail -n 60
done > "$OUT/logs.txt" 2>/dev/null || true
exit $status
