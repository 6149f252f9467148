#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# cmake.sh BUILD: find_package(chard) and chard_add_ci() serve a CMake project. `make install` goes below DESTDIR with a
# packager's folders, so the CMake files must find the rest from where they lie. One line for each fact; exit code 1 if
# one does not hold.

cd "$(dirname "$0")/.." || exit 1
B=${1:-build}
unset MAKEFLAGS MFLAGS MAKELEVEL LD_LIBRARY_PATH PKG_CONFIG_PATH
if ! command -v cmake >/dev/null; then
	echo "skip chard-config.cmake: cmake is not installed"
	exit 77
fi

. tests/steps.sh
installed() {
	make -s B="$B" PREFIX=/usr LIBDIR=/usr/lib/some-arch INCLUDEDIR=/usr/include DESTDIR="$tmp/there" install
}
step "make install" installed

# A blank in the path; two targets of one folder from one .ci file; one linked statically; one file with two modules.
src="$tmp/my project" out="$tmp/my build"
mkdir -p "$src" && cp examples/hello/hello.c examples/hello/hello.ci "$src" || exit 1
cat >"$src/CMakeLists.txt" <<'end'
cmake_minimum_required(VERSION 3.13)
project(hello C)
find_package(chard 0.1 REQUIRED)
set(CMAKE_C_STANDARD 11)
foreach(name IN ITEMS hello hello_static)
	add_executable(${name} hello.c)
	chard_add_ci(${name} hello.ci)
endforeach()
target_link_libraries(hello PRIVATE chard::chard)
target_link_libraries(hello_static PRIVATE chard::chard_static)
add_executable(two two.c)
chard_add_ci(two two.ci --cpp -DNAME=second)
target_link_libraries(two PRIVATE chard::chard)
end
cat >"$src/two.ci" <<'end'
#include "part.ci"
mainmodule NAME { mainchare Main { entry Main(CkArgMsg *m); }; };
end
echo 'module first { group Other { entry Other(); }; };' >"$src/part.ci"
cat >"$src/two.c" <<'end'
#include "first.decl.h"
#include "second.decl.h"
struct Other { int x; };
struct Main { int x; };
void Other_on_new(Other *self) { self->x = 1; }
void Main_on_new(Main *self, CkArgMsg *m) { self->x = m->argc; CkPrintf("two modules\n"); CkExit(); }
#include "first.def.h"
#include "second.def.h"
end
configure() {
	cmake -S "$src" -B "$out" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -Dchard_DIR="$tmp/there/usr/lib/some-arch/cmake/chard"
}
# Frames touch every page, if the compiler can let them.
touch_pages() {
	! cc -Werror -fstack-clash-protection -fsyntax-only -x c /dev/null ||
		[ "$(grep -c -e ' -fstack-clash-protection .*/hello.c\>' -e ' -fstack-clash-protection .*/two.c\>' "$out/compile_commands.json")" = 3 ]
}
build() { cmake --build "$out"; }
greets() { "$@" 6 >"$tmp/out" && [ "$(grep -c '^Hello World' "$tmp/out")" = 6 ]; }
static() { greets "$out/hello_static" && ! ldd "$out/hello_static" | grep libchard; }
two() { "$out/two" | grep -x 'two modules'; }
ckci_runs() { build >"$tmp/build" 2>&1 && grep -c '[]] ckci ' "$tmp/build"; }
after_touch() { # file, how often ckci runs after it changed
	sleep 0.1
	touch "$src/$1"
	[ "$(ckci_runs)" = "$2" ]
}
refuses() { # text, project, options...
	rm -rf "$out"
	! cmake -S "$tmp/$2" -B "$out" -Dchard_DIR="$tmp/there/usr/lib/some-arch/cmake/chard" "${@:3}" >"$tmp/refused" 2>&1 &&
		tr -s ' \n' ' ' <"$tmp/refused" | grep -F "$1"
}
project() { # lines behind find_package: a project of its own
	mkdir -p "$tmp/$1" && cat >"$tmp/$1/CMakeLists.txt" <<-end
	cmake_minimum_required(VERSION 3.13)
	project(p C)
	find_package(chard $2 REQUIRED)
	$3
	end
	echo 'module x {' >"$tmp/$1/bad.ci"
	echo 'int main(void) { return 0; }' >"$tmp/$1/p.c"
}

step "configure" configure
step "build" build
step "-fstack-clash-protection" touch_pages
step "hello" greets "$out/hello"
step "hello under ckrun" greets "$tmp/there/usr/bin/ckrun" -n 2 "$out/hello"
step "chard::chard_static" static
step "two modules, through the preprocessor" two
step "nothing to do the second time" test "$(ckci_runs)" = 0
step "a .ci file that changed" after_touch hello.ci 2
step "a file that a .ci file includes" after_touch part.ci 1
mv "$tmp/there" "$tmp/moved" && mkdir -p "$tmp/there/usr/lib/some-arch/cmake" && rm -rf "$out"
ln -s "$tmp/moved/usr/lib/some-arch/cmake/chard" "$tmp/there/usr/lib/some-arch/cmake/chard"
step "moved, and found through a link" eval 'configure && build && greets "$out/hello"'
project bad 0.1 'add_executable(p p.c)
	chard_add_ci(p bad.ci)'
project none 0.1 'chard_add_ci(p bad.ci)'
project new 0.2 ''
step "a bad .ci file" refuses "chard_add_ci: ckci cannot read bad.ci" bad
step "no target" refuses "chard_add_ci: there is no target p yet" none
step "another version" refuses "compatible with requested version \"0.2\"" new
step "no ckci" refuses "chard_add_ci: there is no ckci" bad -DCHARD_CKCI=
rm "$tmp/moved/usr/lib/some-arch/libchard.so"
step "a library that is missing" refuses "libchard.so is missing" bad
exit $failed
