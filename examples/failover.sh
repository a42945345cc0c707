#!/usr/bin/env bash
# Builds nekton and shows a failover that corrupts nothing. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: examples/failover.sh [option...]

Three processes contend for one lease; whoever holds it counts in an SQLite table, each write under its fencing token.
The one that counts is stopped (SIGSTOP) between its look at the lease and its write, for longer than the lease lasts.
Another one takes over and goes on counting. Then the first is continued (SIGCONT), and writes at once.
  - Its write is refused, with both tokens named, and the table never holds a value from the past.
  - It is told that it lost the lease.
  - A leader that ends in peace hands over at once.
Takes about 10 s once it is built.

  --backend BACKEND     what keeps the lease: sqlite (default) or etcd (one node of its own, on 127.0.0.1)
  --no-fence            the table takes what comes: shows the corruption that fencing prevents
  --json                one JSON object for each event, the last one is a summary
  --binary PATH         the program to use, instead of build/release/bin/failover
  --no-build            installs and builds nothing
  --help                this text

Status: 0 if everything was as expected (with --no-fence: the corruption was seen), 1 if not, 2 for wrong arguments,
77 if etcd is not installed.
TEXT
}

source "$(dirname "${BASH_SOURCE[0]}")/prepare.sh"

build=yes
options=()
while (($#)); do
  case "$1" in
    --help | -h) usage; exit 0 ;;
    --no-build) build=no ;;
    --json | --no-fence) options+=("$1") ;;
    --backend | --binary)
      (($# > 1)) || refuse "$1: needs a value"
      case "$1=$2" in
        --backend=sqlite | --backend=etcd | --binary=?*) ;;
        *) refuse "$1 \"$2\": no such value" ;;
      esac
      options+=("$1" "$2")
      shift
      ;;
    --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}"; continue ;;
    *) refuse "unknown argument \"$1\"" ;;
  esac
  shift
done

if [[ "$build" == yes ]]; then prepare example_failover; fi
exec python3 "$root/examples/failover.py" "${options[@]}"
