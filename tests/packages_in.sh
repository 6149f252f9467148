#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs in a system that packages.sh throws away: installs the packages, builds programs against them as their own test
# and as CMake do, and purges them. Exit code 0 if nothing is left.
set -e
cd /packages
dpkg -i ./*.deb
mkdir hello
(cd chard && AUTOPKGTEST_TMP=/packages/hello sh -e packaging/debian/tests/hello)
if command -v cmake >/dev/null; then
	mkdir project
	cp chard/examples/hello/hello.c chard/examples/hello/hello.ci project
	cat >project/CMakeLists.txt <<-end
	cmake_minimum_required(VERSION 3.13)
	project(hello C)
	find_package(chard REQUIRED)
	add_executable(hello hello.c)
	chard_add_ci(hello hello.ci)
	target_link_libraries(hello PRIVATE chard::chard)
	end
	cmake -S project -B project/build && cmake --build project/build && project/build/hello 6
fi
dpkg -P chard-doc libchard-dev chard-tools libchard0
! ls -d /usr/share/chard /usr/share/doc/chard /usr/include/chard /usr/lib/*/cmake/chard /usr/lib/*/libchard* /usr/bin/ckrun 2>/dev/null
