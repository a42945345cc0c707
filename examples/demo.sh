#!/usr/bin/env bash
# Builds nekton and shows a group of agents at work. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: examples/demo.sh [option...]

Installs what is missing (tests/packages.txt; Debian 12), builds build/release, starts a group of `nekton agent` on
127.0.0.1, and shows what each of them sees, with the times since the cause, while one member
  - is killed: when each survivor suspects it and holds it INACTIVE, and why,
  - is started again under its name: `restarted`, and ACTIVE within 3 s,
  - is stopped for 3 s and continued: nobody is declared dead,
  - leaves: `left`, not `failed`.
Takes about 25 s once it is built.

  --nodes N             members, 3 to 20 (default 5)
  --detector DETECTOR   fixed (default) or phi
  --json                one JSON object for each step and observation, the last one is a summary
  --binary PATH         the command nekton to use, instead of build/release/bin/nekton
  --no-build            installs and builds nothing
  --help                this text

Status: 0 if everything was as expected, 1 if not, 2 for wrong arguments.
TEXT
}

source "$(dirname "${BASH_SOURCE[0]}")/prepare.sh"

build=yes
options=()
while (($#)); do
  case "$1" in
    --help | -h) usage; exit 0 ;;
    --no-build) build=no ;;
    --json) options+=("$1") ;;
    --nodes | --detector | --binary)
      (($# > 1)) || refuse "$1: needs a value"
      case "$1=$2" in
        --detector=fixed | --detector=phi | --binary=?*) ;;
        --nodes=[3-9] | --nodes=1[0-9] | --nodes=20) ;;
        --nodes=*) refuse "--nodes \"$2\": must be from 3 to 20" ;;
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

if [[ "$build" == yes ]]; then prepare example_agent; fi
exec python3 "$root/examples/demo.py" "${options[@]}"
