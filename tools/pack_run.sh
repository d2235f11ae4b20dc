#!/usr/bin/env bash
# Runs what this archive holds; it needs neither compiler nor LLVM.
# usage: ./run test [quick|cuda]   the tests without device, without the slow ones, or on a GPU
#        ./run python ARGS...      Python 3.12 or later with the package on its path
#        ./run tilewright ARGS...  the tool: ./run tilewright info
#        ./run bin/NAME ARGS...    one of the programs: ./run bin/tw_test_ir --gtest_filter=...
#        ./run bench h200 launch   benchmarks beside torch and Triton, and of launches
#        ./run demo ARGS...        the model of examples/minilm, where the archive has its weights:
#                                  ./run demo --device cuda --dtype bf16
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"
libraries=$PWD/lib
# Our library of g++ only where the system's is older: 3.4.30 is that of g++ 12.
system_library=$(ldconfig -p 2>/dev/null | awk '/libstdc\+\+\.so\.6 .*x86-64/ && !n++ {print $NF}')
grep -q 'GLIBCXX_3\.4\.30' "${system_library:-/nowhere}" 2>/dev/null || libraries+=:$PWD/lib/gcc
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PYTHONPATH=$PWD/python

# The Python to use: python3 if it is new enough, since that is where torch may be.
python=python3
python3 -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null || python=python3.12

# NVRTC of Python's packages, where no toolkit is installed.
if [[ -z ${TW_NVRTC:-} && ! -e /usr/local/cuda/lib64/libnvrtc.so.13 ]]; then
  TW_NVRTC=$("$python" - 2>/dev/null <<'TEXT' || true
import glob, importlib.util
spec = importlib.util.find_spec("nvidia")
for folder in spec.submodule_search_locations if spec else []:
    for library in glob.glob(folder + "/*/lib/libnvrtc.so.1[23]"):
        print(library)
        raise SystemExit
TEXT
  )
  export TW_NVRTC
fi

run_tests() {
  local passed=0 failed=0 skipped=0 broken=0 test log
  for test in bin/tw_test_*; do
    case $1:$test in
      cuda:*_on_cuda) ;;
      cuda:* | *:*_on_cuda | quick:*_slow) continue ;;
    esac
    log=$("$test" 2>&1) || { echo "$log"; broken=1; }
    [[ $1 != cuda ]] || sed '/^\[/d; /^$/d; /: Skipped$/{N;d}' <<<"$log"  # times
    count() { sed -n "s/^\[  $1  *\] \([0-9]*\) test.*/\1/p" <<<"$log" | head -1; }
    passed=$((passed + $(count PASSED || true) + 0))
    failed=$((failed + $(count FAILED || true) + 0))
    skipped=$((skipped + $(count SKIPPED || true) + 0))
    sed -n '/: Skipped$/{n;s/^/skipped: /p}' <<<"$log" | sort | uniq -c
  done
  echo "$passed passed, $failed failed, $skipped skipped"
  if [[ $1 == cuda ]] && "$python" -c 'import pytest, torch' 2>/dev/null; then
    "$python" -m pytest -q -rs -s -p no:cacheprovider python_tests/test_{cuda*,torch_ops,minilm}.py ||
      broken=1
  fi
  [[ $broken == 0 && $passed != 0 ]]
}

case ${1:-} in
  test) run_tests "${2:-all}" ;;
  python) shift; exec "$python" "$@" ;;
  tilewright) shift; exec bin/tilewright "$@" ;;
  bin/*) exec "$@" ;;
  bench) shift; exec "$python" benchmarks/run "$@" ;;
  demo)
    shift
    [[ -d minilm ]] || { echo 'run: no weights; ./dev pack --with-minilm adds them' >&2; exit 1; }
    PYTHONPATH+=:$PWD/minilm/python exec "$python" examples/minilm --weights minilm "$@"
    ;;
  *) sed -n '2,10s/^# //p' "$0"; exit 2 ;;
esac
