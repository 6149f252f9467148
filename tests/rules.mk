# SPDX-License-Identifier: Apache-2.0
# How the tests are built, and the targets that run them. The Makefile reads this.

# A test is one file x.c, with x.ci beside it when it has chares.
VICTIM   := $(B)/tests/reliability/victim
# Programs whose messages tests/damage/sweep.py damages.
DAMAGED  := arrays params mixed reductions messages sections insert channels aggregate futures scan nodegroups \
	chares completion getput globals sdag groups broadcast qd fence sync spread lend readonlies delete converse
UNIT_BINS := $(patsubst %.c,$(B)/%,$(filter-out tests/ci/%,$(wildcard tests/*/test_*.c)))
PROG_BINS := $(patsubst %.ci,$(B)/%,$(wildcard tests/programs/*.ci)) $(B)/tests/programs/mains/mains $(VICTIM)
FUZZ_BINS := $(patsubst %.c,$(B)/%,$(wildcard tests/fuzz/fuzz_*.c))
DAMAGE_BINS := $(patsubst %,$(B)/tests/damage/%,$(DAMAGED))
# Its nodes die at chosen stages.
STAGE_BIN := $(B)/tests/stages/saves
# ckci's parser, which gets damaged files.
CUT_BIN  := $(B)/tests/ci/test_damaged

# The cables of the hosts that tests/rig/rig.py makes of namespaces.
RIG_LINK := $(B)/tests/rig/link
# Preloaded by tests/alloc/sweep.py and tests/programs/stops.py.
FAIL_SO  := $(if $(SANITIZE),,$(B)/tests/alloc/fail.so $(B)/tests/image/stop.so)
# A driver without a device (tests/device/fake_cuda.c), one that cannot export memory, and one that spoils the order of a
# driver's puts.
FAKE_SO  := $(B)/tests/device/libcuda.so.1 $(B)/tests/device/old.so $(B)/tests/device/early.so

.PHONY: tests fuzz-bins check check-device check-hosts check-layers check-without without-list clang-bins check-clang check-cross check-packages reliability fuzz mutants torture
# Sanitizers have no use for benchmarks, and the thread sanitizer none for the damage tests' programs.
tests: $(if $(filter-out thread,$(SANITIZE)),,lib) tools $(filter-out $(GONE),$(UNIT_BINS) $(PROG_BINS) $(if $(WITHOUT)$(filter thread,$(SANITIZE)),,$(DAMAGE_BINS) $(CUT_BIN)) $(if $(WITHOUT),,$(STAGE_BIN))) examples \
	$(if $(SANITIZE)$(WITHOUT),,bench-bins) \
	$(if $(WITHOUT),,fuzz-bins) $(FAIL_SO) $(FAKE_SO) $(RIG_LINK)
fuzz-bins: $(FUZZ_BINS)

# ---- programs and unit tests ---------------------------------------------------------------
# No time is taken in them. Private: ckci, which they need, is compiled as always.
$(B)/tests/%.o: private MORE := $(if $(filter -O0,$(OPT) $(CFLAGS)),,-O1)
# One program of two modules.
$(B)/tests/programs/mains/mains: $(B)/tests/programs/mains/part.o
$(B)/tests/programs/mains/mains.o: $(B)/tests/programs/mains/part.decl.h
$(call needs_ci,tests/chare/*.ci tests/programs/*.ci tests/programs/mains/*.ci tests/reliability/*.ci)
$(UNIT_BINS): LIBS += -lcmocka
# It counts what arrives.
$(B)/tests/chare/test_multicast_nodes: LIBS += -Wl,--wrap=client_arrived
# Tests that decide when a message arrives (tests/check_hold.h).
$(B)/tests/scheduler/test_watch_waves $(B)/tests/chare/test_closing $(B)/tests/chare/test_newborn: LIBS += -Wl,--wrap=client_arrived,--wrap=cmi_progress,--wrap=cmi_sleep
KEEPER_NET := $(addprefix $(B)/launcher/,buf.o keeper/keeper_net.o keeper/keeper_seal.o)
$(B)/tests/launcher/test_keeper_choose: $(B)/launcher/keeper/keeper_choose.o $(KEEPER_NET)
$(B)/tests/launcher/test_keeper_net: $(KEEPER_NET)
# Processors without AES.
$(B)/tests/launcher/test_keeper_net: LIBS += -Wl,--wrap=seal_has_aes,--wrap=seal_open
$(B)/tests/launcher/test_keeper_images: $(B)/launcher/keeper/keeper_images.o
$(B)/tests/chare/test_lb_dump $(B)/tests/chare/test_choose: $(B)/bench/lb_read.o
# It has a function of its own before UCX's.
$(VICTIM): LIBS += -rdynamic
# Libraries that are missing there.
$(B)/tests/chare/test_strategies: LIBS += -lm -Wl,--wrap=dlopen
# What becomes of the child that finds names.
$(B)/tests/machine/test_frames: LIBS += -Wl,--wrap=frames_text
# What the system refuses there.
$(B)/tests/image/test_image_memory: LIBS += -Wl,--wrap=fallocate
WRITES   := open close pwrite fdatasync fsync mkdir rmdir unlink rename symlink link
$(B)/tests/image/test_image_disk: LIBS += $(WRITES:%=-Wl,--wrap=%)
# It runs the command.
$(B)/tests/image/test_ckpt: | $(CKPT)
$(B)/tests/machine/test_filter: LIBS += -Wl,--wrap=machine_say,--wrap=cmi_env_refuse
$(B)/tests/machine/test_guard: LIBS += -Wl,--wrap=machine_die,--wrap=setsockopt,--wrap=opendir,--wrap=pthread_create

# The programs of the damage tests, with objects that may flip a byte of what arrives.
FLIPPED  := $(addprefix runtime/machine/,shm/share.c ucx/ucx_am.c ucx/ucx_cut.c ucx/ucx_batch.c)
FLIP_OBJ := $(B)/tests/damage/flip.o $(patsubst %.c,$(B)/tests/damage/%.o,$(notdir $(FLIPPED)))
define flip_rule
$$(B)/tests/damage/$(notdir $(1:.c=.o)): $(1) Makefile tests/rules.mk
	$$(say) CC $$@
	@mkdir -p $$(@D)
	$$(Q)$$(COMPILE) $$(LIB_CFLAGS) -DCHARD_TEST_FLIP $$(INC) -MMD -MP -c -o $$@ $$<
endef
$(foreach c,$(FLIPPED),$(eval $(call flip_rule,$(c))))
$(DAMAGE_BINS): $(B)/tests/damage/%: $(B)/tests/programs/%.o $(FLIP_OBJ) $(LIB_ALL)
	$(say) LINK $@
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LIB_ALL) $(LIBS)

# A program that dies at chosen stages of a checkpoint and of a restart (tests/stages/stages.py).
STAGES   := qd_start store_measured store_block store_written store_commit store_over image_write_file pwrite \
	image_folder_commit boot_fence image_walk_check place_read_all asked_read_all
$(STAGE_BIN): $(B)/tests/programs/saves.o $(B)/tests/stages/stage.o $(LIB_ALL) $(B)/linked_with tests/rules.mk
	$(say) LINK $@
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(STAGES:%=-Wl,--wrap=%) $(LIB_ALL) $(LIBS)

# A program of which a unit test runs several nodes in one process.
$(B)/tests/chare/test_order_chare: $(B)/tests/chare/order_nodes.o
$(B)/tests/chare/order_nodes.o: tests/programs/order.c $(B)/tests/programs/order.decl.h Makefile tests/rules.mk
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -DCK_NO_MAIN $(INC) -I$(B)/tests/programs -Itests/programs -MMD -MP -c -o $@ $<

$(CUT_BIN).o: FLAGS += -Ici-compiler
$(CUT_BIN): $(CUT_BIN).o $(filter-out %/main.o,$(CKCI_OBJ))
	$(link_program)

# Programs that call what is inside of the library.
INSIDE   := $(patsubst %,$(B)/tests/programs/%,atrest ends_rest)
$(filter-out $(INSIDE),$(PROG_BINS)): $(LIB)
$(UNIT_BINS) $(INSIDE): $(LIB_ALL)
$(UNIT_BINS) $(PROG_BINS) $(DAMAGE_BINS) $(FUZZ_BINS): $(B)/linked_with
$(UNIT_BINS) $(PROG_BINS): %: %.o
	$(link_program)
# Their flags stand here.
$(addsuffix .o,$(UNIT_BINS) $(PROG_BINS) $(FUZZ_BINS) $(RIG_LINK) $(CUT_BIN)): tests/rules.mk

# ---- harnesses for fuzzing, and what tests preload -----------------------------------------
# A harness gets its inputs from libFuzzer, which only clang has, or from files. Two harnesses take in what comes to
# a node of a program, zoo; they look at what the machine hands up.
FUZZ_DRIVER := $(if $(filter fuzz,$(SANITIZE)),$(shell $(CC) -print-file-name=libclang_rt.fuzzer_no_main-$(shell uname -m).a) -lstdc++ -lm,$(B)/tests/fuzz/files.o)
ZOO_OBJ  := $(patsubst %,$(B)/tests/fuzz/%.o,nodes zoo)
$(B)/tests/fuzz/fuzz_ckci: $(filter-out %/main.o,$(CKCI_OBJ))
$(B)/tests/fuzz/fuzz_frames $(B)/tests/fuzz/fuzz_image: $(LIB_ALL)
$(B)/tests/fuzz/fuzz_pmi: $(filter-out %/ckrun.o,$(RUN_OBJ)) $(LIB_ALL)
$(B)/tests/fuzz/fuzz_pmi: FUZZ_WRAP := -Wl,--wrap=_exit
$(B)/tests/fuzz/fuzz_wire $(B)/tests/fuzz/fuzz_handle: $(ZOO_OBJ) $(LIB_ALL)
$(B)/tests/fuzz/fuzz_wire $(B)/tests/fuzz/fuzz_handle: FUZZ_WRAP := -Wl,--wrap=cmi_abort,--wrap=cmi_no_memory,--wrap=client_arrived,--wrap=cmi_progress,--wrap=cmi_sleep,--wrap=clock_gettime
# A message may bring any value, also for a bool of the program.
$(B)/tests/fuzz/zoo.o: FLAGS += -DCK_NO_MAIN -fno-sanitize=bool
$(ZOO_OBJ) $(B)/tests/fuzz/fuzz_handle.o: $(B)/tests/fuzz/zoo.decl.h
$(FUZZ_BINS): %: %.o $(filter %.o,$(FUZZ_DRIVER))
	$(say) LINK $@
	$(Q)$(LINK) $(FUZZ_WRAP) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(filter-out %.o,$(FUZZ_DRIVER)) $(LIBS)

$(RIG_LINK): $(B)/tests/rig/link.o
	$(say) LINK $@
	$(Q)$(LINK) -o $@ $^
$(B)/tests/device/libcuda.so.1: $(B)/tests/device/fake_cuda.o
	$(say) LINK $@
	$(Q)$(LINK) -shared -Wl,-soname,libcuda.so.1 -o $@ $^ -pthread
$(B)/tests/device/old.so: $(B)/tests/device/fake_cuda.o
	$(say) LINK $@
	$(Q)objcopy -L cuMemExportToShareableHandle $< $(@:.so=.o)
	$(Q)$(LINK) -shared -o $@ $(@:.so=.o) -pthread
# Its functions are those of the driver that the loader finds.
$(B)/tests/device/early.so: $(B)/tests/device/early_cuda.o $(B)/tests/device/libcuda.so.1
	$(say) LINK $@
	$(Q)$(LINK) -shared -Wl,--no-as-needed -o $@ $^ -ldl
$(B)/tests/alloc/fail.so $(B)/tests/image/stop.so: %.so: %.o
	$(say) LINK $@
	$(Q)$(LINK) -shared -o $@ $^ -ldl

# ---- what runs them ------------------------------------------------------------------------
# What always runs and a quarter of the others, or an eighth under a sanitizer, as the commit's name draws, or SEED=word.
# FULL=1 runs all, and so does FIND=pattern with those whose name contains it. The benchmarks are built, too, so that they keep up with the runtime; those that compare
# with an MPI only where it is installed.
check: deps
	@$(MAKE) -s tests
	@tests/run.py -b $(B) $(if $(SANITIZE),-s $(SANITIZE)) $(if $(FULL)$(FIND),,--draw=$(SEED)) '$(FIND)'
# HOSTS=2 chooses the numbers of hosts, FIND=pattern the programs, SHORT=1 a sixth, as the commit's name draws, or SEED=word. Then
# once more over cables that lose, delay, double, swap and damage frames, as LINK_SEED=N decides, or a number that is
# drawn, and in all kinds of weather, of which make check draws twelve. 77: no namespaces here, as a line has said.
check-hosts: deps-hosts
	@$(MAKE) -s tests
	@tests/rig/hosts.py -b $(B) $(if $(SHORT),--draw=$(SEED)) $(if $(HOSTS),--hosts $(HOSTS)) '$(FIND)' || [ $$? = 77 ]
	@tests/rig/hosts.py -b $(B) $(if $(SHORT),--draw=$(SEED)) --hosts 2 --launcher hydra --link $(or $(LINK_SEED),0) '$(FIND)' || [ $$? = 77 ]
	@$(if $(SHORT),:,tests/rig/weather.py -b $(B) || [ $$? = 77 ])
# Takes rooms out of the library, each in turn and then all, and shows that the rest works (tests/without.py). ONE=1: one
# room that the commit's name draws, or SEED=word, and the spine.
check-without: deps
	@$(MAKE) -s tests
	@tests/without.py -b $(B) $(if $(ONE),--one=$(SEED)) $(if $(ROOM),--room=$(ROOM))
# What it builds, for it to read.
without-list:
	@printf '%s\n' $(patsubst $(B)/%,%,$(UNIT_BINS) $(PROG_BINS) $(EXAMPLE_BINS))
# Where a device is; elsewhere it says that it is skipped.
DEVICE_BINS := $(addprefix $(B)/tests/programs/,device device_order device_speed named_device) $(B)/examples/stencil/stencil
check-device: tools $(DEVICE_BINS) $(FAKE_SO)
	@tests/device/check.sh $(B) || [ $$? = 77 ]
check-layers: lib
	@tests/layers.py -b $(B) --self-test
# What the runtime promises when something goes wrong, tried many times; docs/RELIABILITY.md.
reliability: deps
	@$(MAKE) -s tests
	@tests/reliability/run.py -b $(B) $(if $(SHORT),--short)
# A build of its own, by clang, which check-clang shares.
BY_CLANG := SANITIZE=fuzz CC=clang CXX=clang++ CFLAGS=-Werror
clang-bins: deps-fuzz
	@$(MAKE) -s tests $(BY_CLANG)
fuzz: deps-fuzz
	@$(MAKE) -s fuzz-bins $(BY_CLANG)
	@bash tests/fuzz/run.sh $(FUZZ)
# Draws programs that compose features and checks what came: SEEDS=A-B, SMALL=folder for small programs of what fails.
# HOSTS=N: on so many hosts made of namespaces, LINK_SEED=S: over bad cables.
torture: lib tools $(if $(HOSTS),$(RIG_LINK))
	@tests/torture/torture.py -b $(B) --seeds $(or $(SEEDS),1-2000) $(if $(SMALL),--shrink $(SMALL)) \
	  $(if $(HOSTS),--hosts $(HOSTS) $(if $(LINK_SEED),--link $(LINK_SEED)))
# Plants faults in a copy of the tree, and runs the tests that should find them: half an hour. FIND=pattern
# chooses some of them, SOME=6 draws six.
mutants: deps
	@$(MAKE) -s tests
	@tests/mutants/run.py $(if $(SOME),--some $(SOME)) '$(FIND)'
# All by clang, where a warning is an error, and the tests under its address sanitizer, as check draws them.
check-clang: clang-bins
	@tests/run.py -b build-fuzz -s clang $(if $(FULL)$(FIND),,--draw=$(SEED)) '$(FIND)'
# For aarch64, under qemu-user. A compiler or packages that cannot be had are no failure: it says so.
check-cross:
	@./deps.sh --cross || true
	@bash tests/cross.sh || [ $$? = 77 ]
# make dist, Debian's packages, and programs that are built against them.
check-packages: deps-packages
	@bash tests/packages.sh || [ $$? = 77 ]
