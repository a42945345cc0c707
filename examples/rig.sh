#!/usr/bin/env bash
# Builds nekton and puts a group with an authority through one fault. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: examples/rig.sh --fault FAULT [option...]

Starts the members of a group as processes of their own, `nekton agent --evidence` on 127.0.0.1, one of them the
authority; a relay process stands between them. Then one thing goes wrong, and every row of evidence that this must
cause, and must not cause, is held against what the members print. Rows are shown as they come.

  --fault kill-peer        a member is killed (SIGKILL): suspect, failed, removed at their bounds; the survivor fences its
                           routes, takes the objects over and commits in the new epoch; the member is started again
  --fault kill-root        all members are candidates for the authority; the one that is it is killed: another takes the
                           seat when its lease has run out, at a higher epoch, and all follow; then it is started again
  --fault partition        the relay drops all frames between a member and the rest; both sides live: besides the above
                           the isolated side stops commits before its objects move, and serves reads by its lease alone;
                           then it is healed
  --fault no-peer          the authority is alone, and another member has none
  --fault wrong-authority  a member believes in another authority's key
  --fault no-route         a member never reaches the authority; then it does

  --speed K             all constants of the protocol divided by K, 1 to 8 (default 1; a busy machine: at most 4)
  --members N           2 (default): a pair, heartbeats; 3 to 8: a group that probes (kill-root: 3 and more)
  --backend BACKEND     of kill-root, what keeps the seat and the view: sqlite (default) or etcd (one node of its own)
  --json                one JSON object for each row, step and check; the last one is the verdict
  --binary PATH         the command nekton to use, instead of build/release/bin/nekton
  --no-build            installs and builds nothing
  --help                this text

Takes up to a minute at speed 1. Status: 0 if all was as it must be, 1 if not, 2 for wrong arguments,
77 if etcd is not installed.
TEXT
}

source "$(dirname "${BASH_SOURCE[0]}")/prepare.sh"

build=yes
fault=""
options=()
while (($#)); do
  case "$1" in
    --help | -h) usage; exit 0 ;;
    --no-build) build=no ;;
    --json) options+=("$1") ;;
    --fault | --speed | --members | --backend | --binary | --ignore)
      (($# > 1)) || refuse "$1: needs a value"
      case "$1=$2" in
        --fault=kill-peer | --fault=kill-root | --fault=partition | --fault=no-peer | --fault=wrong-authority | --fault=no-route) fault="$2" ;;
        --speed=[1-8] | --speed=[1-7].[0-9]* | --members=[2-8] | --backend=sqlite | --backend=etcd | --binary=?* | --ignore=?*) ;;
        --speed=*) refuse "--speed \"$2\": must be from 1 to 8" ;;
        --members=*) refuse "--members \"$2\": must be from 2 to 8" ;;
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
[[ -n "$fault" ]] || refuse "--fault is missing"

if [[ "$build" == yes ]]; then prepare example_agent; fi
exec python3 "$root/examples/rig.py" "${options[@]}"
