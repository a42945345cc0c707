# Read by the demonstrations: what they have in common before they begin. Sets `root`, the folder of the project.

refuse() {
  local name
  name="$(basename "$0")"
  echo "$name: $1; see $name --help" >&2
  exit 2
}

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

# Installs what is missing and builds a target. Standard output is for the demonstration.
prepare() {
  (
    cd "$root"
    tests/install.sh
    cmake --preset release
    cmake --build --preset release --target "$1"
  ) >&2
}
