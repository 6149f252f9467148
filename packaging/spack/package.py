# SPDX-License-Identifier: Apache-2.0
"""Chard for Spack: a recipe, to be copied to var/spack/repos/.../packages/chard/package.py of a Spack tree.

Nobody has run it yet. It says what Chard needs and which variables of its Makefile Spack sets; tests/packages.sh checks
only that it names the Makefile's version.
"""

from spack.package import *


class Chard(MakefilePackage):
    """Message-driven chares in C11, with one-sided direct channels (CkDirect): Charm++'s model without C++."""

    # There is no public address of releases yet: put the file that `make dist` wrote into a mirror.
    manual_download = True

    license("Apache-2.0")

    # `make dist` writes the file; its checksum belongs here (spack checksum).
    version("0.1.0")

    depends_on("c", type="build")
    depends_on("gmake@4.3:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("boost+context", type="build")
    depends_on("xxhash@0.8:", type="build")
    depends_on("ucx@1.13:")
    depends_on("hwloc@2:")
    depends_on("libunwind")
    depends_on("elfutils")

    @property
    def build_targets(self):
        # Boost's static library, which becomes part of libchard. Spack's compiler wrapper does not say where it is.
        context = find_libraries("libboost_context*", self.spec["boost"].prefix, shared=False, recursive=True)
        return [f"BOOST_CONTEXT={context[0]}", "V=1", "lib", "tools"]

    @property
    def install_targets(self):
        return [f"PREFIX={self.prefix}", *self.build_targets[:1], "install"]

    def setup_run_environment(self, env):
        env.prepend_path("PKG_CONFIG_PATH", self.prefix.lib.pkgconfig)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_tools(self):
        Executable(self.prefix.bin.ckci)("--version")
