# SPDX-License-Identifier: Apache-2.0
# Chard: a message-driven chare runtime with one-sided direct channels.
#   make demo    install what is missing, build, run the three main examples, print one table
#   make check   build and run the tests, a quarter of their matrix (FULL=1: all; SANITIZE=address|thread: an eighth, under a sanitizer)
#   make check-device  channels between devices' buffers, where a device is
#   make check-clang (under its address sanitizer), check-cross (aarch64 under qemu), check-packages (make dist, Debian's packages)
#   make fuzz    look for inputs that break what reads them (FUZZ_SECONDS=60 for each, FUZZ=target)
#   make mutants how many planted faults the tests find
#   make torture drawn programs that compose features, checked against what GUIDE.md promises (SEEDS=1-2000: half an hour)
#   make check-without  takes rooms out of the library, each in turn and then all, and runs what is left (ONE=1: a drawn
#                one, and all); make WITHOUT="balance trace" builds such a library
#   make check-hosts   all programs on 2 and 4 hosts made of namespaces, under each launcher, and over bad cables
#                (SHORT=1: a sixth)
#   make         library, ckci, ckrun, examples      V=1: show the commands
#   make reliability   deaths, scarce resources, hostile text, damage, over a thousand times (SHORT=1: a third)
#   make bench   the benchmarks (QUICK=1: shorter); installs two MPIs and gnuplot to compare with
#   make install PREFIX=... DESTDIR=... LIBDIR=... INCLUDEDIR=... MANDIR=... DOCDIR=...; packaging/README.md has the rest

SANITIZE ?=
# WITHOUT="balance trace": a smaller library, without these rooms and those that call them; "all": only the spine.
WITHOUT  ?=
space    := $(subst ,, )
comma    := ,
B        ?= build$(if $(SANITIZE),-$(SANITIZE))$(if $(WITHOUT),-without-$(subst $(space),-,$(subst /,_,$(strip $(WITHOUT)))))
PREFIX   ?= /usr/local
LIBDIR   ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR   ?= $(PREFIX)/share/man
DOCDIR   ?= $(PREFIX)/share/doc/chard
VERSION  := 0.1.0
Q        := $(if $(V),,@)
say      = @$(if $(V),:,printf '  %-8s %s\n')

CC       ?= cc
# The tools that belong to the compiler: a cross build needs only CC, unless it names others.
tool_of_cc = $(if $(filter default undefined,$(origin $(1))),$(shell $(CC) -print-prog-name=$(2) 2>/dev/null),$($(1)))
LD       := $(call tool_of_cc,LD,ld)
AR       := $(call tool_of_cc,AR,ar)
OBJCOPY  := $(call tool_of_cc,OBJCOPY,objcopy)
PKG_CONFIG ?= pkg-config
# A sanitizer's build compiles in two thirds of the time so, and its reports name lines.
OPT      ?= $(if $(SANITIZE),-O1 -g1,-O2 -g)
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
SAN_address := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
SAN_thread  := -fsanitize=thread
SAN_fuzz    := $(SAN_address) -fsanitize=fuzzer-no-link -fno-sanitize=pointer-overflow -D__SANITIZE_ADDRESS__ \
	-Wno-missing-field-initializers
SAN      := $(SAN_$(SANITIZE))
# Each layer has a list of its rooms, and of what stands for them in its tables (runtime/rooms.awk).
LISTS    := $(wildcard runtime/rooms.list runtime/*/rooms.list)
LEFT_OUT := $(if $(WITHOUT),$(shell awk -v without="$(WITHOUT)" -f runtime/rooms.awk $(LISTS)))
$(if $(WITHOUT),$(if $(LEFT_OUT),$(info without $(LEFT_OUT:runtime/%=%)),$(error no room is left out)))
# UCX is loaded when a job needs it (runtime/machine/ucx/ucx_load.c): a program is not linked with it.
PKGS     := hwloc libunwind
# CPPFLAGS, CFLAGS and LDFLAGS are the user's. What a target needs goes into FLAGS. MORE is last, for the few
# files that are slow without it; with -O0 every file is built that way.
FLAGS    := -std=c11 -D_GNU_SOURCE $(OPT) $(WARN) $(SAN)
COMPILE   = $(CC) $(FLAGS) $(CPPFLAGS) $(CFLAGS) $(MORE)
LINK      = $(CC) $(FLAGS) $(CFLAGS) $(LDFLAGS)
# ckci prints stubs for all that a chare can be asked for. Those that nothing calls must not ask for a room.
USED     := $(if $(WITHOUT),-ffunction-sections -Wl$(comma)--gc-sections)
LINK     += $(USED)
O3       := $(if $(filter -O0,$(OPT) $(CFLAGS)),,-O3)
# Only what the public headers declare leaves the library, so that a program may call its own
# functions as it likes.
LIB_CFLAGS := -fPIC -fvisibility=hidden -ffunction-sections -DCHARD_VERSION='"$(VERSION)"' $(shell $(PKG_CONFIG) --cflags $(if $(filter %/ucx,$(LEFT_OUT)),,ucx) $(PKGS) 2>/dev/null)
LIBS     := $(shell $(PKG_CONFIG) --libs $(PKGS) 2>/dev/null || echo -lhwloc -lunwind) -pthread -ldl
# For programs, not for us: a frame of theirs touches every page on its way down, so that none gets past what lies below
# its thread's stack.
PROBES   := $(shell $(CC) -Werror -fstack-clash-protection -fsyntax-only -x c /dev/null 2>/dev/null && echo -fstack-clash-protection)
# Two functions in assembly switch stacks (runtime/scheduler/thread/thread.c); they become part of the library.
BOOST_CONTEXT ?= $(shell $(CC) $(CFLAGS) $(LDFLAGS) -print-file-name=libboost_context.a 2>/dev/null)
CONTEXT_SYMS := jump_fcontext make_fcontext
# The client of PMIx launchers needs these headers, not the library; without them it is left out.
PMIX_CFLAGS := $(or $(shell $(PKG_CONFIG) --cflags-only-I pmix 2>/dev/null),$(addprefix -I,$(wildcard /usr/lib/$(shell $(CC) -print-multiarch 2>/dev/null)/pmix2/include)))
# Each layer is a folder, seen by its name; the rooms of runtime/chare are folders in it.
RUNTIME  := $(wildcard runtime/*.[ch] runtime/*/*.[ch] runtime/*/*/*.[ch] runtime/*/*/*/*.[ch])
INC      := -Iruntime/chare -Iruntime/device -Iruntime/direct -Iruntime/scheduler -Iruntime/image -Iruntime/trace -Iruntime/machine

# Tests and examples that call what is gone (tests/without.py checks that these are all).
GONE     := $(if $(LEFT_OUT),$(shell awk -v out=" $(LEFT_OUT) " -v b="$(B)/" \
	'!/^\#/ && index(out, " runtime/" $$1 " ") { for (i = 2; i <= NF; i++) print b $$i }' tests/rooms.list))

obj = $(patsubst %.c,$(B)/%.o,$(filter %.c,$(1)))
LIB_OBJ  := $(call obj,$(filter-out $(LEFT_OUT:%=%/%),$(RUNTIME)))
# What names the room when a program calls one that is left out: an object for each of them, one for libchard.so.
name_left_out = $(B)/left_out/$(subst /,_,$(1:runtime/%=%))
LEFT_OUT_OBJ := $(foreach r,$(LEFT_OUT),$(call name_left_out,$(r)).o)
LEFT_OUT_SO := $(if $(LEFT_OUT),$(B)/left_out/shared.o)
CKCI_OBJ := $(call obj,$(wildcard ci-compiler/*.c))
RUN_OBJ  := $(call obj,$(wildcard launcher/*.c launcher/keeper/*.c) job-control/status.c)
IMAGE_OBJ := $(call obj,$(wildcard runtime/image/*.c))
# What keepers seal with.
SEAL_OBJ := $(call obj,runtime/machine/base/cmi_env.c $(addprefix runtime/machine/filter/,library.c seal.c wire_key.c))
# OTF2 is optional: with it cktrace has --otf2.
OTF2     := $(shell echo 'int main(void) { return !OTF2_AttributeList_New(); }' | \
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -include otf2/otf2.h -x c - -o /dev/null -lotf2 2>/dev/null && echo -lotf2)
TRACE_OBJ := $(call obj,$(filter-out trace-reader/otf2$(if $(OTF2),_none).c,$(wildcard trace-reader/*.c))) \
	$(B)/trace-reader/page.o
# They know nothing of the runtime but the format of images.
CKPT_OBJ := $(call obj,$(wildcard image-reader/*.c runtime/image/*.c))
CKCTL_OBJ := $(call obj,$(wildcard job-control/*.c) launcher/reach.c)
LIB      := $(B)/libchard.a
LIB_ALL  := $(B)/libchard-internal.a
WHOLE    := $(B)/whole.o
CKCI     := $(B)/bin/ckci
# The ckci that runs here; a cross build names one that was built for this machine.
CKCI_FOR_BUILD ?= $(CKCI)
CKRUN    := $(B)/bin/ckrun
CKTRACE  := $(B)/bin/cktrace
CKPT     := $(B)/bin/ckpt
CKCTL    := $(B)/bin/ckctl

# FFTW is optional: without it there is no example fft.
FFTW     := $(shell echo 'int main(void) { fftw_make_planner_thread_safe(); }' | \
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -include fftw3.h -x c - -o /dev/null -lfftw3_threads -lfftw3 -lm 2>/dev/null && \
	echo -lfftw3_threads -lfftw3)
EXAMPLES := $(filter-out $(if $(FFTW),,fft),$(basename $(notdir $(wildcard examples/*/*.ci))))
EXAMPLE_BINS := $(foreach e,$(EXAMPLES),$(B)/examples/$(e)/$(e))
# A benchmark is one file x.c, as a test is, with x.ci beside it when it has chares.
BENCH_BINS := $(patsubst %.c,$(B)/%,$(filter-out bench/bench.c bench/floor.c bench/lb_read.c %_mpi.c,$(wildcard bench/*.c bench/lab/*.c bench/grain/grain.c)))
# The references: bench/floor has no runtime; one binary per MPI that is installed, maybe none.
FLOOR    := $(B)/bench/floor
MPIS     := $(foreach m,openmpi mpich,$(if $(shell command -v mpicc.$(m)),$(m)))
# Some are a library's own programs by MPI: Debian has FFTW's for Open MPI, and a ScaLAPACK for each.
lib_there = $(filter /%,$(shell $(CC) -print-file-name=lib$(1).so))
NO_MPI_BINS := %/fft_mpi.mpich $(if $(call lib_there,fftw3_mpi),,%/fft_mpi.openmpi) \
	$(foreach m,$(MPIS),$(if $(call lib_there,scalapack-$(m)),,%/cholesky_mpi.$(m)))
MPI_BINS := $(filter-out $(NO_MPI_BINS),$(foreach m,$(MPIS),$(patsubst %.c,$(B)/%.$(m),$(wildcard bench/*/*_mpi.c))))
$(B)/bench/mpi/fft_mpi.%: MPI_LIBS := -lfftw3_mpi -lfftw3
$(foreach m,$(MPIS),$(eval $(B)/bench/mpi/cholesky_mpi.$(m): MPI_LIBS := -lscalapack-$(m)))
# libpng is optional: with it the example raytrace writes pictures.
PNG      := $(shell echo 'int main(void) { return !png_access_version_number(); }' | \
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -include png.h -x c - -o /dev/null -lpng 2>/dev/null && echo -lpng)
BLAS_CFLAGS := $(shell $(PKG_CONFIG) --cflags openblas 2>/dev/null)
BLAS_LIBS := $(shell $(PKG_CONFIG) --libs openblas 2>/dev/null || echo -lopenblas) -lm

.PHONY: FORCE all lib tools examples bench-bins deps deps-bench deps-fuzz deps-hosts deps-packages demo bench bench-smoke install uninstall dist clean
.DELETE_ON_ERROR:
.SECONDARY:
all: lib tools examples
lib: $(LIB) $(B)/libchard.so $(B)/chard-uninstalled.pc
tools: $(CKCI) $(CKRUN) $(CKTRACE) $(CKPT) $(CKCTL)
examples: $(filter-out $(GONE),$(EXAMPLE_BINS))
bench-bins: $(BENCH_BINS) $(FLOOR) $(MPI_BINS)

# What is linked with these depends on this file, which changes when they do: nothing else may tell that.
LINKED_WITH := $(LIBS) $(BLAS_LIBS) $(PNG)
$(B)/linked_with: FORCE
	@mkdir -p $(@D)
	@echo '$(LINKED_WITH)' | cmp -s - $@ || echo '$(LINKED_WITH)' >$@

$(B)/%.o: %.c Makefile
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(LIB_CFLAGS) $(INC) -I$(B)/$(<D) -I$(<D) -Ibench -Itests -MMD -MP -c -o $@ $<

# What is in the tables.
TABLES   := runtime/main runtime/machine/machine runtime/scheduler/layers runtime/chare/layer
$(foreach t,$(TABLES),$(if $(wildcard $(dir $(t))rooms.list),$(eval $(B)/$(t).o: $(B)/$(dir $(t))rooms.gen.h)))
$(B)/%/rooms.gen.h: %/rooms.list runtime/rooms.awk
	@mkdir -p $(@D)
	$(Q)awk -v left_out="$(LEFT_OUT)" -v tables=1 -f runtime/rooms.awk $< >$@
$(foreach r,$(LEFT_OUT),$(eval $(call name_left_out,$(r)).c: runtime/left_out.awk $(wildcard $(r)/*.c $(r)/*/*.c)))
$(LEFT_OUT_SO:.o=.c): runtime/left_out.awk $(sort $(wildcard $(LEFT_OUT:%=%/*.c) $(LEFT_OUT:%=%/*/*.c)))
$(B)/left_out/%.c:
	@mkdir -p $(@D)
	$(Q)awk -v rooms="$(LEFT_OUT)" -v shared=$(filter shared,$*) -f $^ >$@
$(B)/left_out/%.o: $(B)/left_out/%.c
	$(Q)$(COMPILE) $(LIB_CFLAGS) -c -o $@ $<

# All of it, in the order of runtime/order.ld.
$(WHOLE): runtime/order.ld $(LIB_OBJ)
	$(say) LD $@
	$(Q)$(LD) -r -T $< -o $@ $(LIB_OBJ) $(BOOST_CONTEXT)
$(LIB): $(WHOLE) $(LEFT_OUT_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && $(OBJCOPY) --localize-hidden $(CONTEXT_SYMS:%=--localize-symbol=%) $< $(B)/chard.o && \
		$(AR) rcs $@ $(B)/chard.o $(LEFT_OUT_OBJ)
# With everything in it, each object by itself, for unit tests and others that replace parts.
$(LIB_ALL): $(LIB_OBJ) $(LEFT_OUT_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && $(LD) -r -o $(B)/context.o $(CONTEXT_SYMS:%=-u %) $(BOOST_CONTEXT) && \
		$(AR) rcs $@ $^ $(B)/context.o
$(B)/libchard.so: runtime/libchard.map $(WHOLE) $(LEFT_OUT_SO) $(B)/linked_with
	$(say) LINK $@
	$(Q)$(LINK) -shared -Wl,-soname,libchard.so.0 -Wl,--version-script=$< -o $@ $(filter %.o,$^) $(LIBS) && \
		ln -sf libchard.so $@.0
# So that programs elsewhere can be built with what is here: PKG_CONFIG_PATH=build
$(B)/chard-uninstalled.pc: chard-uninstalled.pc.in Makefile $(B)/linked_with
	@mkdir -p $(@D)
	$(Q)sed -e 's|@TOP@|$(CURDIR)|; s|@BUILD@|$(abspath $(B))|; s|@VERSION@|$(VERSION)|; s|@LIBS@|$(LIBS)|' \
		-e 's|@PROBES@|$(PROBES) $(SAN)|; s|@SAN@|$(SAN)|' $< >$@
$(CKCI): $(CKCI_OBJ)
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $^
# The files of the page that cktrace --html writes become part of cktrace.
$(B)/trace-reader/page.o: trace-reader/page.S $(wildcard trace-reader/page/*) Makefile
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c -Wa,-Itrace-reader/page -o $@ $<
$(CKTRACE): $(TRACE_OBJ)
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $^ $(OTF2) -lm
$(CKPT): $(CKPT_OBJ)
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $^ -pthread -ldl
$(CKCTL): $(CKCTL_OBJ)
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $^
$(CKRUN): $(RUN_OBJ) $(IMAGE_OBJ) $(SEAL_OBJ)
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $^ -pthread -ldl

# ckci names its output by module; ours are called like their files.
$(B)/%.decl.h $(B)/%.def.h &: %.ci $(CKCI_FOR_BUILD)
	$(say) CKCI $<
	@mkdir -p $(@D)
	$(Q)$(CKCI_FOR_BUILD) -o $(@D) $<

# Programs: all objects of an example's folder; one file elsewhere.
# x_none.c takes the place of x.c in a library without the room x, and picture_none.c where libpng is missing.
taken_out = $(foreach f,$(wildcard $(1)/*_none.c),$(if $(filter %/$(patsubst %_none.c,%,$(notdir $(f))),$(LEFT_OUT) $(if $(PNG),,/picture)),$(f:_none.c=.c),$(f)))
sources_of = $(filter-out $(call taken_out,$(1)),$(wildcard $(1)/*.c))
define example_rule
$(B)/examples/$(1)/$(1): $(call obj,$(call sources_of,examples/$(1)))
$(call obj,$(call sources_of,examples/$(1))): $(B)/examples/$(1)/$(1).decl.h
endef
$(foreach e,$(EXAMPLES),$(eval $(call example_rule,$(e))))
# Host programs with Chard inside: one in C++, one per MPI that is installed, a library for Python.
EMBED_BINS := $(B)/examples/embed/host.c++ $(if $(SANITIZE),,$(B)/examples/embed/libembed.so \
	$(foreach m,$(MPIS),$(B)/examples/embed/host.$(m)))
examples: $(filter-out $(GONE),$(EMBED_BINS))
define embed_mpi_rule
$(B)/examples/embed/host.$(1): examples/embed/mpi/host.c examples/embed/embed.h $(B)/examples/embed/chares.o $(LIB)
	$$(say) MPICC $$@
	$$(Q)mpicc.$(1) -std=c11 -D_GNU_SOURCE $(OPT) $(WARN) $(USED) -Iruntime/chare -o $$@ $$< \
		$(B)/examples/embed/chares.o $(LIB) $(LIBS)
endef
$(foreach m,$(MPIS),$(eval $(call embed_mpi_rule,$(m))))
$(B)/examples/embed/host.c++: examples/embed/cpp/host.cc $(B)/examples/embed/cpp/ring.decl.h $(LIB)
	$(say) CXX $@
	$(Q)$(CXX) -std=c++17 $(OPT) -Wall -Wextra $(SAN) $(USED) $(INC) -I$(B)/examples/embed/cpp -o $@ $< $(LIB) $(LIBS)
# In the build folder it finds libchard.so where that was built.
$(B)/examples/embed/libembed.so: $(B)/examples/embed/chares.o $(B)/libchard.so
	$(say) LINK $@
	$(Q)$(LINK) -shared -o $@ $< -L$(B) -lchard -Wl,-rpath,'$$ORIGIN/../..'

# Objects that need what ckci makes of the file beside them.
needs_ci = $(foreach c,$(wildcard $(1)),$(eval $(B)/$(c:.ci=.o): $(B)/$(c:.ci=.decl.h)))
$(call needs_ci,bench/*.ci bench/*/*.ci)
$(B)/examples/matmul/%.o $(B)/examples/stencil/%.o $(B)/examples/cg/%.o $(B)/examples/fft/%.o $(filter %/reducers.o,$(LIB_OBJ)): MORE := $(O3)
# As bench/mpi, whose loops over the values are compared with these.
$(B)/bench/collectives.o $(B)/bench/globals.o $(B)/bench/parts.o $(B)/bench/strided.o $(B)/examples/samplesort/%.o: MORE := $(O3)
$(B)/examples/matmul/%.o $(B)/examples/cholesky/%.o $(B)/bench/paircalc.o $(B)/bench/transfer.o: FLAGS += $(BLAS_CFLAGS)
$(B)/examples/matmul/matmul $(B)/examples/cholesky/cholesky $(B)/bench/paircalc $(B)/bench/transfer: LIBS := $(BLAS_LIBS) $(LIBS)
$(B)/examples/raytrace/raytrace: LIBS := $(PNG) -lm $(LIBS)
$(B)/examples/cg/cg: LIBS := -lm $(LIBS)
$(B)/examples/fft/fft: LIBS := $(FFTW) -lm $(LIBS)
$(B)/runtime/machine/boot/pmix/boot_pmix.o: FLAGS += $(PMIX_CFLAGS)
$(BENCH_BINS): $(B)/bench/bench.o
$(B)/bench/ghosts: $(B)/examples/stencil/kernel.o
$(B)/bench/strategies: $(B)/bench/lb_read.o
$(B)/bench/mirrors: $(addprefix $(B)/launcher/,buf.o keeper/keeper_net.o keeper/keeper_seal.o)
# A file for each way; as the MPI program, whose tasks are compared with theirs.
GRAIN_OBJS := $(patsubst %.c,$(B)/%.o,$(wildcard bench/grain/*.c))
$(GRAIN_OBJS): MORE := $(O3)
$(GRAIN_OBJS): $(patsubst %.ci,$(B)/%.decl.h,$(wildcard bench/grain/*.ci))
$(B)/bench/grain/grain: $(GRAIN_OBJS)

$(EXAMPLE_BINS) $(BENCH_BINS) $(EMBED_BINS): $(B)/linked_with
$(EXAMPLE_BINS): $(LIB)
# Benchmarks may look inside, and measure what programs get.
$(BENCH_BINS): $(WHOLE)
define link_program
$(say) LINK $@
$(Q)$(LINK) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS)
endef
$(EXAMPLE_BINS) $(BENCH_BINS): %: %.o
	$(link_program)

$(FLOOR): $(B)/bench/floor.o $(B)/bench/bench.o
	$(say) LINK $@
	$(Q)$(LINK) -o $@ $^ -pthread

# samplesort_mpi and cg_mpi share with the examples what one processor does; cg_mpi its very code.
MPI_SHARED := examples/samplesort/keys.h examples/cg/rows.h examples/random.h
$(MPIS:%=$(B)/bench/mpi/cg_mpi.%): $(B)/examples/cg/rows.o
define mpi_rule
$(B)/%_mpi.$(1): %_mpi.c bench/bench.c $(wildcard bench/*.h bench/*/*.h) $(MPI_SHARED)
	$$(say) MPICC $$@
	@mkdir -p $$(@D)
	$$(Q)mpicc.$(1) -std=c11 -D_GNU_SOURCE -O3 -g -Ibench -Ibench/mpi $(BLAS_CFLAGS) -o $$@ $$< bench/bench.c $$(filter %.o,$$^) $$(MPI_LIBS) $(BLAS_LIBS)
endef
$(foreach m,$(MPIS),$(eval $(call mpi_rule,$(m))))

# Headers lie flat where they are installed, so their includes lose the folder.
PUBLIC   := ck.h ckchannel.h ckglobal.h cklb.h ckembed.h ckgen.h ckdirect.h ckdevice.h csd.h cth.h cmi_msg.h
HEADERS  := $(filter $(addprefix %/,$(PUBLIC)),$(RUNTIME))
MANPAGES := $(wildcard docs/man/*.1)
# Where things go: as programs see it, and as this make writes it.
BINDIR   := $(PREFIX)/bin
SHARE    := $(PREFIX)/share/chard
# The guide, the pages that it refers to, and the examples, in the same folders as here, so that links between them hold.
DOCUMENTS := README.md CHANGELOG.md $(shell find docs -name '*.md' -o -name '*.png' 2>/dev/null) $(shell find examples -type f 2>/dev/null)
to        = $(DESTDIR)$(1)
# Programs find libchard.so where it was installed. Below /usr the loader looks anyway, and packagers want
# no rpath.
RPATH    := $(if $(filter /usr,$(PREFIX)),,-Wl$(comma)-rpath$(comma)$${libdir} )
# What the library needs, without the folders of another machine's files that were built against.
PC_LIBS  := $(filter-out $(if $(PKG_CONFIG_SYSROOT_DIR),-L$(PKG_CONFIG_SYSROOT_DIR)%),$(LIBS))
of_prefix = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))
FILL_IN  := sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(call of_prefix,$(LIBDIR))|; s|@INCLUDEDIR@|$(call of_prefix,$(INCLUDEDIR))|; \
	s|@VERSION@|$(VERSION)|; s|@LIBS@|$(PC_LIBS)|; s|@RPATH@|$(RPATH)|; s|@PROBES@|$(PROBES) $(SAN)|; s|@SAN@|$(SAN)|'
# The CMake files know the other folders by the way from their own.
CMAKEDIR := $(LIBDIR)/cmake/chard
from_cmake = $(shell realpath -ms --relative-to=$(CMAKEDIR) $(1))
FILL_IN_CMAKE = sed 's|@BIN_FROM_HERE@|$(call from_cmake,$(BINDIR))|; s|@VERSION@|$(VERSION)|; \
	s|@INCLUDE_FROM_HERE@|$(call from_cmake,$(INCLUDEDIR)/chard)|; s|@LIBS_LIST@|$(subst $(space),;,$(strip $(PC_LIBS)))|'
install: lib tools
	install -d $(call to,$(BINDIR)) $(call to,$(INCLUDEDIR)/chard) $(call to,$(LIBDIR)/pkgconfig) \
		$(call to,$(SHARE)) $(call to,$(MANDIR)/man1) $(call to,$(CMAKEDIR))
	install $(CKCI) $(CKRUN) $(CKTRACE) $(CKPT) $(CKCTL) $(call to,$(BINDIR))
	for h in $(HEADERS); do sed 's|^#include "\.\./.*/|#include "|' $$h | \
		install -m 644 /dev/stdin $(call to,$(INCLUDEDIR))/chard/$${h##*/} || exit; done
	install -m 644 $(LIB) $(call to,$(LIBDIR))
	install -m 644 $(B)/libchard.so $(call to,$(LIBDIR))/libchard.so.$(VERSION)
	ln -sf libchard.so.$(VERSION) $(call to,$(LIBDIR))/libchard.so.0
	ln -sf libchard.so.0 $(call to,$(LIBDIR))/libchard.so
	$(FILL_IN) chard.pc.in | install -m 644 /dev/stdin $(call to,$(LIBDIR))/pkgconfig/chard.pc
	for f in chard-config chard-config-version; do $(FILL_IN_CMAKE) packaging/cmake/$$f.cmake.in | \
		install -m 644 /dev/stdin $(call to,$(CMAKEDIR))/$$f.cmake || exit; done
	install -m 644 chard.mk runtime/chard-gdb.py runtime/chard.py $(call to,$(SHARE))
	install -m 644 $(MANPAGES) $(call to,$(MANDIR))/man1
	for f in $(DOCUMENTS); do install -D -m 644 $$f $(call to,$(DOCDIR))/$$f || exit; done
uninstall:
	rm -f $(addprefix $(call to,$(BINDIR))/,ckci ckrun cktrace ckpt ckctl) $(call to,$(LIBDIR))/libchard.*
	rm -f $(call to,$(LIBDIR))/pkgconfig/chard.pc
	rm -f $(addprefix $(call to,$(MANDIR))/man1/,$(notdir $(MANPAGES)))
	rm -rf $(call to,$(INCLUDEDIR))/chard $(call to,$(SHARE)) $(call to,$(CMAKEDIR)) $(call to,$(DOCDIR))

# What is committed, as one file: the same bytes from every checkout of a commit, since git takes order, times
# and owners from the commit, and gzip writes no time of its own.
DIST     := $(B)/chard-$(VERSION).tar
dist:
	@mkdir -p $(B)
	@! git status --porcelain | grep . || echo "make dist: this is not committed, so not in it" >&2
	@git -c tar.umask=0022 archive --format=tar --prefix=chard-$(VERSION)/ -o $(DIST) HEAD
	@gzip -n -9 -f $(DIST)
	@echo $(DIST).gz

# ---- tests -------------------------------------------------------------------------------
include tests/rules.mk

# ---- what is needed ----------------------------------------------------------------------
deps:
	@./deps.sh
deps-packages:
	@./deps.sh --packages
deps-bench:
	@./deps.sh --bench
deps-fuzz:
	@./deps.sh --fuzz
deps-hosts:
	@./deps.sh --hosts

# ---- what to show ------------------------------------------------------------------------
demo: deps
	@$(MAKE) -s tools examples
	@sh examples/demo.sh $(B)
# All benchmarks, each figure with its reference; QUICK=1 for a short run. Only they need an MPI.
bench: deps-bench
	@$(MAKE) -s tools bench-bins examples
	@python3 bench/suite.py $(B)
# Whether they still run, and whether the shortest paths have grown: under a minute, no word about speed.
bench-smoke: deps-bench
	@$(MAKE) -s tools bench-bins examples
	@python3 bench/suite.py --smoke $(B)
	@sh bench/bars.sh $(B)

clean:
	rm -rf build build-address build-thread build-fuzz build-clang build-cross build-without-*

-include $(shell find $(B) -name '*.d' -type f 2>/dev/null)
