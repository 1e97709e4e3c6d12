#!/bin/sh
# The C and C++ tests, as a user would build them. Called by tests/c.rs with the directory of
# the libraries and one to work in. What a machine lacks is skipped, and said.
set -eu
built=$1 work=$2
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$here"
rm -rf "$work" && mkdir -p "$work"
: "${CC:=cc}" "${CXX:=c++}"
# Linking with the archive takes four times as long, so only the tests that need it do.
archive="$built/liblivebuf_c.a"
ln -s "$built/liblivebuf_c.so" "$work/liblivebuf.so.0.1"
library="$work/liblivebuf.so.0.1"
export LD_LIBRARY_PATH="$work"
private="-lutil -lrt -lpthread -lm -ldl"
strict="-Wall -Wextra -Wpedantic -Wshadow -Werror"
skipped=""
failed=0

say() { printf '== %s\n' "$*"; }
skip() { skipped="$skipped\n   $1: $2"; say "skipped: $1 ($2)"; }
has() { command -v "$1" > "$work/which.log" 2>&1; }
# Runs a step; a failure is told, and the others still run.
step() {
  say "$1"
  shift
  if ! "$@"; then
    failed=1
    say "FAILED: $*"
  fi
}

# Runs steps beside the others. What they say is printed at the end.
beside="" # their processes
start() { # a name, the function with the steps
  ( "$2"; exit $failed ) > "$work/$1.log" 2>&1 &
  beside="$beside $!:$1"
}
join() {
  for one in $beside; do
    wait "${one%%:*}" || failed=1
    cat "$work/${one#*:}.log"
  done
}

if ! has "$CC"; then
  say "skipped: all C tests, for want of a C compiler ($CC)"
  exit 0
fi

# What is exported, and by which name it is found.
abi() {
  nm -D --defined-only "$built/liblivebuf_c.so" | awk '{ print $3 }' | LC_ALL=C sort > "$work/symbols.txt"
  if ! diff abi/symbols.txt "$work/symbols.txt"; then
    echo "The exported names differ from abi/symbols.txt. New ones are added there; one that"
    echo "goes or changes its meaning needs a new minor version (before 1.0), by which the"
    echo "library gets another name."
    return 1
  fi
  readelf -d "$built/liblivebuf_c.so" | grep -q 'SONAME.*\[liblivebuf\.so\.0\.1\]'
}
if has nm && has readelf && has awk; then step "exported names" abi; else skip "exported names" "no nm, readelf or awk"; fi

compile() { # output, source, options
  out=$1 source=$2
  shift 2
  "$CC" -std=c11 -g -O1 $strict -Iinclude "$@" "$source" "$library" $private -o "$work/$out"
}
compile_static() { (library=$archive && compile "$@"); }
# The allocator is looked at where it is linked into the program.
wrap="-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=posix_memalign"
step "compile the C tests" compile_static buffer tests/buffer.c $wrap
step "compile" compile context tests/context.c
step "compile" compile changes tests/changes.c
step "compile" compile garbage tests/garbage.c
step "compile" compile vectors tests/vectors.c
step "compile" compile conformance tests/conformance.c
step "compile" compile threads tests/threads.c
step "the buffer API" "$work/buffer"
step "the context API" "$work/context" "$work"
step "changes as values" "$work/changes"
step "garbage" "$work/garbage"
step "threads" "$work/threads"
step "the test vectors" "$work/vectors" ../../testdata/vectors/*.lbuf
# What any implementation is asked, by the runner beside the vectors.
if has python3; then
  step "conformance" python3 ../../testdata/conformance.py "$work/conformance"
else
  skip "conformance" "no python3"
fi
# The two that take longest, beside the others: what runs as a user would run it needs one core.
if [ -z "${LIVEBUF_ALL:-}" ]; then
  skip "valgrind and sanitizers" "make test-all runs them"
elif has valgrind; then
  under_valgrind() {
    valgrind="valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite,indirect"
    mkdir -p "$work/valgrind"
    step "buffer under valgrind" $valgrind "$work/buffer"
    step "context under valgrind" $valgrind "$work/context" "$work/valgrind"
    step "changes under valgrind" $valgrind "$work/changes"
    step "garbage under valgrind" $valgrind "$work/garbage" 0 100000
  }
  start valgrind under_valgrind
else
  skip "valgrind" "not found"
fi

sanitized() {
  echo 'int main(void) { return 0; }' > "$work/empty.c"
  "$CC" -fsanitize=address,undefined "$work/empty.c" -o "$work/empty" 2> "$work/empty.log" && "$work/empty"
}
if [ -z "${LIVEBUF_ALL:-}" ]; then
  : # said above
elif sanitized; then
  with_sanitizers() {
    sanitize="-fsanitize=address,undefined -fno-sanitize-recover=all"
    mkdir -p "$work/sanitizers"
    step "with sanitizers" compile_static buffer-s tests/buffer.c $wrap $sanitize
    step "run" "$work/buffer-s"
    step "with sanitizers" compile context-s tests/context.c $sanitize
    step "run" "$work/context-s" "$work/sanitizers"
    step "with sanitizers" compile changes-s tests/changes.c $sanitize
    step "run" "$work/changes-s"
    step "with sanitizers" compile garbage-s tests/garbage.c $sanitize
    step "run" "$work/garbage-s"
  }
  start sanitizers with_sanitizers
else
  skip "sanitizers" "$CC has none"
fi

# The header reads in place only where the compiler optimises: the same tests without that, and
# with clang, whose inlining is another.
step "compile without reading in place" compile_static buffer-n tests/buffer.c $wrap -DLIVEBUF_NO_INLINE
step "run" "$work/buffer-n"
step "compile without optimisation" compile_static buffer-0 tests/buffer.c $wrap -O0
step "run" "$work/buffer-0"
if has clang; then
  by_clang() { clang -std=c11 -O2 $strict -Iinclude tests/garbage.c "$library" $private -o "$work/garbage-c"; }
  step "compile with clang" by_clang
  step "run" "$work/garbage-c" 0 200000
else
  skip "clang" "not found"
fi
# The header by itself has nothing that strict programs are warned of.
alone() {
  for options in -O0 -O2 -Os "-O2 -DLIVEBUF_NO_STDIO"; do
    for standard in c99 c11; do
      echo '#include <livebuf.h>' | "$CC" -x c -std=$standard $options $strict -Wconversion \
        -Wsign-conversion -Wc++-compat -Iinclude -c - -o "$work/alone.o" || return 1
    done
  done
}
step "the header by itself" alone
# A status that nobody looks at is warned of where data is lost with it, and nowhere else.
ignored() { # a language, compiler and its options, then what is called
  what=$1 with=$2 source=$work/ignored.$1
  shift 2
  for call in "$@"; do
    if [ "$what" = c ]; then header=livebuf.h; else header=livebuf.hpp; fi
    printf '#include <%s>\n%s {\n  %s;\n}\n' $header "$arguments" "$call" > "$source"
    if $with -Wall -Werror -Iinclude -c "$source" -o "$work/ignored.o" 2> "$work/ignored.log"; then
      echo "no warning: $call"
      return 1
    fi
    grep -q 'unused-result' "$work/ignored.log" || { cat "$work/ignored.log"; return 1; }
  done
}
ignored_c() {
  arguments='void f(livebuf_doc *d, livebuf_template *t, size_t *n)'
  ignored c "$CC -std=c11 -O1" 'livebuf_commit(d)' 'livebuf_validate(d)' 'livebuf_validate_in(d, 0, 0)' \
    'livebuf_save_file(d, "f")' 'livebuf_flush(d)' 'livebuf_to_json_file(livebuf_root(d), 0, 0, "f", 0)' \
    'livebuf_stamp(t, 0, 0, 0, 0, n)' 'livebuf_stamp_doc(t, 0, 0, d, 0, 0)' || return 1
  printf '#include <livebuf.h>\n%s { livebuf_set_i64(d, LIVEBUF_ROOT, "a", 1); (void)t; (void)n; }\n' \
    "$arguments" > "$work/looked.c"
  "$CC" -std=c11 -Wall -Werror -Iinclude -c "$work/looked.c" -o "$work/ignored.o" || return 1
  printf '#define LIVEBUF_MUST_USE\n#include <livebuf.h>\nvoid f(livebuf_doc *d) { livebuf_commit(d); }\n' > "$work/looked.c"
  "$CC" -std=c11 -Wall -Werror -Iinclude -c "$work/looked.c" -o "$work/ignored.o"
}
ignored_cpp() {
  arguments='void f(livebuf::document &d, livebuf::transaction &t)'
  ignored cpp "$CXX -std=c++17" 'd.validate()' 't.commit()' 'd.patch("[]")' 'd.merge("{}")' 'd.apply({})'
}
step "statuses that are not looked at" ignored_c
# The first program of a page.
program() { # the page, a name, a line that it prints
  awk '/^```c$/ { inside = 1; next } /^```/ { if (inside) exit } inside' "../../$1" > "$work/$2.c"
  compile "$2" "$work/$2.c" && "$work/$2" | grep -q "^$3$"
}
step "the guide" program docs/c-api.md guide 'lap 56 of [0-9]* bytes'
step "the first page" program docs/start.md start 'lap 56'
# The other code of a page, each block by itself: it is compiled, and run on a document.
parts() { # the page, language, what comes first, compiler with options
  file=$work/parts.$2
  awk -v fence="^\`\`\`$2\$" '
    FNR == NR { print; next }
    $0 ~ fence { inside = 1; block = ""; next }
    /^```/ && inside {
      inside = 0
      if (block ~ /int main|^struct/) { if (block ~ /^struct/) print block; next }
      owned = block ~ /doc->|\(doc[,)]/ ? "OWNED" : "BUFFER"
      printf "static int part_%d(void) { %s { %s } return 0; }\n", ++count, owned, block
    }
    inside { block = block $0 "\n" }
    END {
      print "int main(void) {"
      for (i = 1; i <= count; i++) printf "if (part_%d()) { printf(\"block %d\\n\"); return 1; }\n", i, i
      printf "return %d < 3; }\n", count
    }' "$3" "../../$1" > "$file"
  shift 3
  "$@" -g -O1 $strict -Wno-unused -Wno-shadow -Iinclude "$file" "$library" $private -o "$work/parts" &&
    "$work/parts" > "$work/parts.log" || { cat "$work/parts.log"; return 1; }
}
step "the parts of the guide" parts docs/c-api.md c tests/parts.c "$CC" -std=c11

# The include guard once ended before the inline functions, so that they were defined again
# wherever livebuf.h came twice, as it does beside livebuf.hpp.
orders() { # a source to write, compiler and its options, then pairs of headers
  source=$work/$1 with=$2
  shift 2
  for order in "$@"; do
    for header in $order; do echo "#include <$header>"; done > "$source"
    echo 'int main(void) { return (int)livebuf_count(livebuf_root(NULL)); }' >> "$source"
    $with $strict -Iinclude "$source" "$library" $private -o "$work/order" && "$work/order" || return 1
  done
}
step "livebuf.h included twice" orders order.c "$CC -std=c11" "livebuf.h livebuf.h"

examples() {
  for api in buffer context; do
    for source in examples/$api/*.c; do
      name=$(basename "$source" .c)
      compile "$api-$name" "$source" || return 1
      "$work/$api-$name" > "$work/$api-$name.txt" || return 1
      diff "examples/$api/$name.txt" "$work/$api-$name.txt" || return 1
    done
  done
  compile demo examples/demo.c && "$work/demo" > "$work/demo.txt"
}
step "the examples, built, run and compared" examples

if has "$CXX"; then
  cpp() { # output, options
    out=$1
    shift
    "$CXX" -g $strict -Iinclude "$@" tests/cpp.cpp "$library" $private -o "$work/$out" && "$work/$out"
  }
  step "C++17" cpp cpp -std=c++17
  step "C++17 without exceptions and RTTI" cpp cpp-bare -std=c++17 -fno-exceptions -fno-rtti
  # std::chrono::sys_days came with C++20.
  if echo 'int main() {}' | "$CXX" -x c++ -std=c++20 -fsyntax-only - 2> "$work/newer.log"; then
    step "C++20" cpp cpp-20 -std=c++20
  else
    skip "C++20" "$CXX has none"
  fi
  step "statuses that are not looked at in C++" ignored_cpp
  step "the parts of the guide in C++" parts docs/c-api.md cpp tests/parts.cpp "$CXX" -std=c++17
  step "headers in any order in C++" orders order.cpp "$CXX -std=c++17" "livebuf.h livebuf.h" \
    "livebuf.h livebuf.hpp" "livebuf.hpp livebuf.h" "livebuf.hpp livebuf.hpp"
  # Below C++17 there were 264 errors, none of which told the reason.
  old() { # language, options
    if "$CXX" "$@" -Iinclude -fsyntax-only include/livebuf.hpp 2> "$work/old.log"; then return 1; fi
    grep -q 'needs C++17' "$work/old.log" && [ "$(grep -c ' error: ' "$work/old.log")" = 1 ]
  }
  step "livebuf.hpp below C++17" old -std=c++14 -x c++
  # The C header by itself is C++, too.
  step "livebuf.h as C++" orders order.cpp "$CXX -std=c++11" livebuf.h
else
  skip "C++" "no $CXX"
fi

# A program that needs no shared library, by the words that pkg-config has for it. -lgcc_s was
# among them, which is a shared library only.
static_libc() {
  echo 'int main(void) { return 0; }' > "$work/nothing.c"
  "$1" -static "$work/nothing.c" -o "$work/nothing" 2> "$work/nothing.log" && "$work/nothing"
}
static_program() {
  "$1" examples/context/5-json.c -static $(pkg-config --static --cflags --libs livebuf) \
    -o "$work/nothing-shared" 2> "$work/nothing.log" || { cat "$work/nothing.log"; return 1; }
  # The dynamic linker is asked for by no program that is static.
  if readelf -l "$work/nothing-shared" | grep -q INTERP; then return 1; fi
  "$work/nothing-shared" | diff examples/context/5-json.txt -
}
# Installed, found and used as others will, from the libraries at hand.
package() {
  # Programs must find the installed library by what they were built with.
  unset LD_LIBRARY_PATH
  make --no-print-directory -s install BUILT="$built" BUILD_DIR="$work/build" PREFIX="$work/prefix" || return 1
  if has pkg-config; then
    export PKG_CONFIG_PATH="$work/prefix/lib/pkgconfig"
    "$CC" examples/buffer/1-messages.c $(pkg-config --cflags --libs livebuf) -o "$work/shared" || return 1
    LD_LIBRARY_PATH="$work/prefix/lib" "$work/shared" | diff examples/buffer/1-messages.txt - || return 1
    "$CC" examples/buffer/1-messages.c $(pkg-config --cflags livebuf) "$work/prefix/lib/liblivebuf.a" \
      $(pkg-config --static --libs-only-l livebuf | sed 's/-llivebuf//') -o "$work/static" || return 1
    "$work/static" | diff examples/buffer/1-messages.txt - || return 1
    for compiler in gcc clang; do
      if ! has $compiler; then
        skip "a static program by $compiler" "not found"
      elif ! static_libc $compiler; then
        skip "a static program by $compiler" "no static libc"
      else
        static_program $compiler || return 1
      fi
    done
  else
    skip "pkg-config" "not found"
  fi
  if has cmake && has "$CXX"; then
    cmake -S tests/cmake -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/prefix" > "$work/cmake.log" &&
      cmake --build "$work/cmake" >> "$work/cmake.log" || { cat "$work/cmake.log"; return 1; }
    "$work/cmake/with_shared" | diff examples/context/1-messages.txt - || return 1
    "$work/cmake/with_static" | diff examples/context/1-messages.txt - || return 1
  else
    skip "CMake" "no cmake or $CXX"
  fi
  make --no-print-directory -s uninstall PREFIX="$work/prefix" || return 1
  left=$(find "$work/prefix" -type f -o -type l)
  [ -z "$left" ] || { echo "left behind: $left"; return 1; }
  make --no-print-directory -s dist BUILT="$built" BUILD_DIR="$work/build" > "$work/dist.log" || return 1
  archive=$(tail -n 1 "$work/dist.log")
  mkdir "$work/dist" && tar -C "$work/dist" -xzf "$archive" || return 1
  cd "$work"/dist/livebuf-*
  # The one line of the guide.
  "$CC" examples/context/1-messages.c -Iinclude lib/liblivebuf.a $private -o message && ./message > "$work/dist.txt"
  cd "$here"
  diff examples/context/1-messages.txt "$work/dist.txt"
}
if has make && has install; then step "install, pkg-config, CMake, uninstall, dist" package; else skip "packaging" "no make or install"; fi

join
[ -z "$skipped" ] || printf "skipped for want of tools:$skipped\n"
exit $failed
