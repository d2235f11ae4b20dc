#!/usr/bin/env bash
# Runs what this archive holds; it needs neither compiler nor LLVM.
# usage: ./run test [quick|cuda]   the tests without device, without the slow ones, or on a GPU
#        ./run python ARGS...      Python 3.12 with the package on its path
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"
export LD_LIBRARY_PATH=$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PYTHONPATH=$PWD/python

run_tests() {
  local passed=0 failed=0 skipped=0 test log
  for test in bin/tw_test_*; do
    case $1:$test in
      cuda:*_on_cuda) ;;
      cuda:* | *:*_on_cuda | quick:*_slow) continue ;;
    esac
    log=$("$test" 2>&1) || { echo "$log"; }
    count() { sed -n "s/^\[  $1  *\] \([0-9]*\) test.*/\1/p" <<<"$log" | head -1; }
    passed=$((passed + $(count PASSED || true) + 0))
    failed=$((failed + $(count FAILED || true) + 0))
    skipped=$((skipped + $(count SKIPPED || true) + 0))
    sed -n '/: Skipped$/{n;s/^/skipped: /p}' <<<"$log"
  done
  echo "$passed passed, $failed failed, $skipped skipped"
  [[ $failed == 0 && $passed != 0 ]]
}

case ${1:-} in
  test) run_tests "${2:-all}" ;;
  python) shift; exec python3.12 "$@" ;;
  *) sed -n '2,4s/^# //p' "$0"; exit 2 ;;
esac
