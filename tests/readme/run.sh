#!/bin/sh
# run.sh PROGRAM...: runs each as two members that meet on the loopback; both must end well, and one must know of the other.
set -eu
for program in "$@"; do
  here=$(mktemp -d)
  README_NAME=alpha README_BIND=127.0.83.1:7946 README_SEED=127.0.83.2:7946 "$program" > "$here/alpha" 2>&1 &
  other=$!
  ended=0
  README_NAME=beta README_BIND=127.0.83.2:7946 README_SEED=127.0.83.1:7946 "$program" > "$here/beta" 2>&1 || ended=$?
  wait "$other" || ended=$?
  head -n 50 "$here/alpha" "$here/beta"
  met=0
  grep -q beta "$here/alpha" && met=1
  grep -q alpha "$here/beta" && met=1
  rm -r "$here"
  [ "$ended" -eq 0 ] && [ "$met" -eq 1 ] || { echo "$program: ended with $ended, met: $met" >&2; exit 1; }
done
