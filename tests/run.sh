#!/usr/bin/env bash
# Builds and tests everything on Debian 12. See --help.
set -uo pipefail

usage() {
  cat <<'TEXT'
usage: tests/run.sh [--quick | --heavy | --help] [configuration...]

Installs what is missing (tests/packages.txt), then configures, builds and tests. Configurations, all by default:
  format    clang-format over all sources
  release   gcc, Release: quick and slow tests
  asan      gcc, address and undefined-behaviour sanitizers: quick tests
  tsan      gcc, thread sanitizer: tests with threads
  clang     clang, Release: quick tests
By name only:
  dev       gcc, Debug: quick tests
  fuzz      clang, libFuzzer: builds the fuzzers, replays the corpora, fuzzes each for FUZZ_SECONDS (30)
  heavy     gcc, Release: the tests that take many minutes
Options:
  --quick   the release configuration with quick tests only
  --heavy   the same as the configuration heavy
JOBS sets the number of parallel jobs (default: all processors). Status 0 if all passed, 1 if anything failed.
TEXT
}

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
jobs="${JOBS:-$(nproc)}"
configurations=()
label=()
for argument in "$@"; do
  case "$argument" in
    --help | -h) usage; exit 0 ;;
    --quick) configurations=(release); label=(-L quick) ;;
    --heavy) configurations=(heavy) ;;
    format | release | asan | tsan | clang | dev | fuzz | heavy) configurations+=("$argument") ;;
    *) echo "run.sh: unknown argument '$argument'" >&2; usage >&2; exit 2 ;;
  esac
done
((${#configurations[@]})) || configurations=(format release asan tsan clang)

tests/install.sh || exit 1

# The thread sanitizer of gcc 12 cannot live with the many random address bits of newer kernels.
fixed_addresses=()
if setarch -R true 2>/dev/null; then fixed_addresses=(setarch -R); fi

format() {
  find . \( -name .git -o -path ./build -o -path ./out \) -prune -o -type f \( -name '*.h' -o -name '*.cc' \) -print0 |
    xargs -0 clang-format-14 --dry-run -Werror
}

build() { # preset, further configure arguments
  local preset="$1"
  shift
  cmake --preset "$preset" "$@" && cmake --build --preset "$preset" -j "$jobs"
}

check() { ctest --preset "$@" -j "$jobs"; }

fuzz() {
  build fuzz && check fuzz || return 1
  local fuzzer
  for fuzzer in build/fuzz/tests/fuzz/*_fuzz; do
    [[ -x "$fuzzer" ]] || continue
    mkdir -p "$fuzzer.found"
    local name
    name="$(basename "$fuzzer" _fuzz)"
    "$fuzzer" -max_total_time="${FUZZ_SECONDS:-30}" -artifact_prefix="$fuzzer." "$fuzzer.found" \
      "tests/fuzz/corpus/$name" || return 1
  done
}

configuration() {
  case "$1" in
    format) format ;;
    fuzz) fuzz ;;
    heavy) build release -DNEKTON_HEAVY_TESTS=ON && check heavy ;;
    tsan) build tsan && "${fixed_addresses[@]}" ctest --preset tsan -j "$jobs" ;;
    *) build "$1" && check "$1" "${label[@]}" ;;
  esac
}

mkdir -p build
summary=()
status=0
for name in "${configurations[@]}"; do
  echo "=== $name"
  began=$SECONDS
  log="build/$name.log"
  verdict=PASS
  configuration "$name" 2>&1 | tee "$log" || { verdict=FAIL; status=1; }
  tests="$(grep -E 'tests passed, [0-9]+ tests failed out of [0-9]+|^No tests were found' "$log" | tail -n 1)"
  summary+=("$(printf '%-8s %s %5d s  %s' "$name" "$verdict" $((SECONDS - began)) "$tests")")
  while read -r failed; do summary+=("         failed: $failed"); done < <(sed -n 's/^\t *[0-9]* - \(.*\)$/\1/p' "$log" | head -n 20)
done

echo "=== summary"
printf '%s\n' "${summary[@]}"
exit "$status"
