#!/bin/sh
# Bytes of the buffer API in the small archive (liblivebuf-small.a): programs linked with it as
# the guide says, and all its functions, and those that read, without anything else. For this
# machine, and for thumbv7em-none-eabi where `rustup target add` brought its core library.
# Fails where something is larger than its ceiling here, at most some 5 % above its size today.
# Also runs the tests of the buffer API with this archive.
set -eu
cd "$(dirname "$0")/.."
: "${CARGO:=cargo}" "${TARGET:=../../target}" "${CC:=cc}" "${MAKE:=make}"
readers='livebuf_(read|root|get_(n|key.*|str|bytes|number_text)|at|pointer_n|kind_of|count|number_text_f64_or|value_error|key_init_n|iterate|range_n|prefix_n|next|strerror|version)$'
lld=$(find "$(rustc --print sysroot)" -name rust-lld | head -n 1)
work=$TARGET/size-work
failed=0
rm -rf "$work" && mkdir -p "$work"

within() { # what, bytes, ceiling
  printf '%-44s %7d bytes (at most %d)\n' "$1" "$2" "$3"
  if [ "$2" -gt "$3" ]; then
    failed=1
    echo "  larger than its ceiling in tests/size.sh"
  fi
}

# Code and constants of functions by themselves.
functions() { # what, ceilings of all and of reading, library, linker
  what=$1 all=$2 reading=$3 library=$4
  shift 4
  for part in all reading; do
    if [ $part = all ]; then wanted='.' ceiling=$all; else wanted=$readers ceiling=$reading; fi
    roots=$(grep -E "$wanted" "$work/names.txt")
    arguments=""
    for root in $roots; do arguments="$arguments $("$1" "$root")"; done
    "$2" $arguments "$library" -o "$work/functions.elf" 2> "$work/link.log"
    others=$(grep -o 'undefined reference to .*' "$work/link.log" | sed 's/.*`//; s/.$//' | sort -u | tr '\n' ' ')
    [ -z "$others" ] || echo "  calls of others: $others"
    bytes=$(size -A "$work/functions.elf" | awk '/^\.(text|rodata|data|bss) / { sum += $2 } END { print sum }')
    within "$what, $part functions ($(echo "$roots" | wc -l))" "$bytes" "$ceiling"
  done
}
flag_cc() { echo "-Wl,-u,$1"; }
link_cc() { "$CC" -nostdlib -static -Wl,--gc-sections,-e,0,--warn-unresolved-symbols "$@"; }
flag_lld() { echo "-u $1"; }
link_lld() { "$lld" -flavor gnu --gc-sections -e 0 "$@"; }

"$MAKE" --no-print-directory -s small BUILD_DIR="$work" CARGO="$CARGO"
library=$work/liblivebuf-small.a
nm --defined-only -g "$library" 2> "$work/nm.log" | awk '$3 ~ /^livebuf_/ { print $3 }' | sort -u > "$work/names.txt"

program() { # source, its ceiling
  "$CC" -Os -Iinclude "tests/size/$1.c" -L"$work" -llivebuf-small -Wl,--gc-sections -s -o "$work/$1"
  within "$1.c, stripped" "$(wc -c < "$work/$1")" "$2"
}
echo 'int main(void) { return 0; }' > "$work/nothing.c"
"$CC" -Os "$work/nothing.c" -s -o "$work/nothing"
within "a program that does nothing" "$(wc -c < "$work/nothing")" 20000
program hello 105000
program read 31200
"$work/hello" | "$work/read" | grep -qx 'lap_complete 55' || { echo "hello and read do not agree"; failed=1; }

wrap="-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=posix_memalign"
"$CC" -std=c11 -Os -Iinclude tests/buffer.c $wrap -L"$work" -llivebuf-small -Wl,--gc-sections -lm -o "$work/buffer"
"$work/buffer" || failed=1

functions "$(uname -m)" 392000 63500 "$library" flag_cc link_cc
if rustup target list --installed 2> "$work/rustup.log" | grep -qx thumbv7em-none-eabi; then
  $CARGO rustc --manifest-path ../../Cargo.toml -q -p livebuf-c --profile size --no-default-features \
    --features small --crate-type staticlib --target thumbv7em-none-eabi
  functions thumbv7em 304000 59500 "$TARGET/thumbv7em-none-eabi/size/liblivebuf_c.a" flag_lld link_lld
else
  echo "skipped: thumbv7em-none-eabi (rustup target add thumbv7em-none-eabi)"
fi
exit $failed
