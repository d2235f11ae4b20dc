#!/usr/bin/env bash
# Packs what is built into pack/tilewright-VERSION-x86_64.tar.gz: stripped libraries and tests, the
# Python package, benchmarks, and the libraries of Debian that these need. It runs on another x86-64
# Linux with Python 3.12 and a glibc not older than this one's, without compiler or LLVM. The CPU
# backend is in it, so that results on a GPU can be compared with the CPU's. `./dev pack` builds first
# and calls this. MODEL_FOLDER is what the example minilm reads with --weights, and below python/ what
# it imports for that.
# usage: tools/pack.sh BUILD_FOLDER PYTHON_PACKAGE_FOLDER [MODEL_FOLDER]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
readonly build=$1 python_package=$2 model=${3:-}
readonly limit=$((60 * 1024 * 1024))
version=$(sed -n 's/^project(tilewright VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=tilewright-$version-x86_64
out=pack/$name
rm -rf "$out"
mkdir -p "$out"/{bin,lib/gcc,tests}

# 1. Our own binaries. Tests that need no device stay behind where they are large: those of the CPU
#    backend, and tw_test_pass with Z3.
find "$build" -name 'tw_test_*' -type f -executable -not -name 'tw_test_backend_cpu*' \
  -not -name tw_test_pass -exec cp {} "$out/bin" \;
find "$build" -name 'lib*.so' -path "*/tilewright/*" -exec cp {} "$out/lib" \;
cp "$build/tools/tilewright" "$build/benchmarks/tw_bench_launch" "$out/bin"
strip "$out"/bin/* "$out"/lib/*.so

# 2. The distribution's libraries that they load, except those of glibc. Those of g++ lie apart: a
#    process with others' libraries in it, such as torch, wants the newer of two.
ldd "$out"/bin/* "$out"/lib/*.so | awk '/=> \// {print $1, $3}' | sort -u |
  while read -r soname path; do
    case $soname in
      libc.so* | libm.so* | libdl.so* | librt.so* | libpthread.so* | ld-linux* | libtilewright.so) ;;
      libstdc++.so* | libgcc_s.so*) cp -L "$path" "$out/lib/gcc/$soname" ;;
      *) cp -L "$path" "$out/lib/$soname" ;;
    esac
  done

# 3. What tests read, and what is run from sources.
cp -r docs "$out"
for folder in tests/golden benchmarks examples; do
  [[ ! -d $folder ]] || cp -r $folder "$out/${folder}"
done
if [[ -d $python_package ]]; then
  mkdir "$out/python"
  cp -rL "$python_package/tilewright" "$out/python"
  [[ ! -d python/tests ]] || cp -r python/tests "$out/python_tests"
  cp -r python/compat/tile_kernels "$out/python"
  cp -r python/compat/tests "$out/compat_tests"
fi
[[ -z $model ]] || cp -rL "$model" "$out/minilm"
cp tools/pack_run.sh "$out/run"
mkdir "$out/tools"
cp tools/nvrtc_releases.py "$out/tools"
find "$out" -name __pycache__ -prune -exec rm -r {} +

tar -C pack -czf "pack/$name.tar.gz" "$name"
size=$(stat -c %s "pack/$name.tar.gz")
echo "pack/$name.tar.gz: $((size / 1024)) KiB"
[[ $size -le $limit ]] || { echo "pack: more than 60 MiB" >&2; exit 1; }
