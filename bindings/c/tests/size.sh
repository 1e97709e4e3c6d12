#!/bin/sh
# Bytes of the buffer API (`no_std`, profile `size`): of all its functions, linked as a program
# that uses each of them would be, and of those that read. For this machine, and for
# thumbv7em-none-eabi where `rustup target add` brought its core library.
set -eu
cd "$(dirname "$0")/.."
: "${CARGO:=cargo}" "${TARGET:=../../target}" "${CC:=cc}"
readers='livebuf_(read|root|get_.*|at|pointer_n|type_of|count|number_or|value_error|key_init_n|iterate|range_n|prefix_n|next|strerror|version)$'
lld=$(find "$(rustc --print sysroot)" -name rust-lld | head -n 1)

build() {
  $CARGO rustc --manifest-path ../../Cargo.toml -q -p livebuf-c --profile size --no-default-features \
    --features small --crate-type staticlib "$@"
}
measure() { # title, library, linker
  title=$1 library=$2
  shift 2
  for part in all read; do
    if [ $part = all ]; then wanted='.'; else wanted=$readers; fi
    roots=$(grep -E "$wanted" "$TARGET/size-names.txt")
    arguments=""
    for root in $roots; do arguments="$arguments $("$1" "$root")"; done
    "$2" $arguments "$library" -o "$TARGET/size.elf" 2> "$TARGET/size.log"
    printf '%s, %s functions (%s):\n' "$title" "$part" "$(echo "$roots" | wc -l)"
    others=$(grep -o 'undefined reference to .*' "$TARGET/size.log" | sed 's/.*`//; s/.$//' | sort -u | tr '\n' ' ')
    [ -z "$others" ] || echo "  calls of others: $others"
    size -A "$TARGET/size.elf" | awk '/^\.(text|rodata|data|bss|eh_frame) / { printf "  %-10s %7d\n", $1, $2 }'
  done
}
flag_cc() { echo "-Wl,-u,$1"; }
link_cc() { "$CC" -nostdlib -static -Wl,--gc-sections,-e,0,--warn-unresolved-symbols "$@"; }
flag_lld() { echo "-u $1"; }
link_lld() { "$lld" -flavor gnu --gc-sections -e 0 "$@"; }

build
library=$TARGET/size/liblivebuf_c.a
nm --defined-only -g "$library" 2> "$TARGET/size.log" | awk '$3 ~ /^livebuf_/ { print $3 }' | sort -u > "$TARGET/size-names.txt"
measure "$(uname -m)" "$library" flag_cc link_cc
if rustup target list --installed 2> "$TARGET/size.log" | grep -q thumbv7em-none-eabi; then
  build --target thumbv7em-none-eabi
  measure thumbv7em "$TARGET/thumbv7em-none-eabi/size/liblivebuf_c.a" flag_lld link_lld
else
  echo "skipped: thumbv7em-none-eabi (rustup target add thumbv7em-none-eabi)"
fi
