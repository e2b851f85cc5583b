#!/usr/bin/env bash
# Builds the BPF programs here into the objects that are checked in, so that building Portolan takes
# no clang. With --check, builds them elsewhere and compares. Same compiler, same bytes: it is that
# of Debian 12 (clang and llvm 14, libbpf-dev 1.1), and no path of this machine gets into them.
set -euo pipefail
cd "$(dirname "$0")"

into=.
case ${1-} in
"") ;;
--check)
  into=$(mktemp --directory)
  trap 'rm --recursive "$into"' EXIT
  ;;
*)
  echo "usage: build.sh [--check]" >&2
  exit 2
  ;;
esac

clang=${CLANG:-clang-14} strip=${LLVM_STRIP:-llvm-strip-14}
for program in "$clang" "$strip"; do
  command -v "$program" >/dev/null || {
    echo "build.sh: needs $program: apt-get install clang-14 llvm-14 libbpf-dev" >&2
    exit 2
  }
done

differ=()
for source in *.bpf.c; do
  object=${source%.c}.o
  # -g is for BTF, by which libbpf fits a program to the running kernel; the strip leaves that.
  "$clang" -O2 -g -Wall -Werror -target bpf -mcpu=v3 -ffile-prefix-map="$PWD"=. \
    -fdebug-compilation-dir=. -c "$source" -o "$into/$object"
  "$strip" --strip-debug "$into/$object"
  [ "$into" = . ] || cmp "$object" "$into/$object" || differ+=("$object")
done

if [ "${#differ[@]}" -gt 0 ]; then
  echo "build.sh: not what the sources give: ${differ[*]}: run make bpf and commit the result" >&2
  exit 1
fi
