# SPDX-License-Identifier: Apache-2.0
# chard.mk: builds Chard programs with GNU make, for programs outside Chard's own tree.
#
#	include $(shell pkg-config --variable=makefragment chard)
#
#	hello: hello.o
#		$(CC) -o $@ $^ $(CHARD_LIBS)
#	hello.o: hello.decl.h
#
# The last line makes ckci run before the first compilation; give one for each file that
# includes the header. x.ci must hold one module named x, because ckci names its output by
# module; for other cases `ckci -M x.ci` prints the rule that is right.
#
# Set before the include, where needed:
#	CHARD_STATIC=1          link libchard.a instead of libchard.so
#	PKG_CONFIG=...          another pkg-config, or one with options (--define-prefix)
# Sets:
#	CKCI CKRUN              the two programs
#	CHARD_CFLAGS CHARD_LIBS added to CPPFLAGS; to stand last in the link command. The program finds
#	                        libchard.so where it was installed (rpath)
PKG_CONFIG ?= pkg-config
CKCI       ?= $(shell $(PKG_CONFIG) --variable=ckci chard)
CKRUN      ?= $(shell $(PKG_CONFIG) --variable=ckrun chard)

CHARD_CFLAGS := $(shell $(PKG_CONFIG) --cflags chard)
# By this a frame that is too large for its thread's stack is found, however large it is. Chard's compiler has it, but
# maybe not this one.
chard_probes := $(filter -fstack-clash-protection,$(CHARD_CFLAGS))
ifneq ($(chard_probes),)
ifneq ($(shell $(CC) -Werror $(chard_probes) -fsyntax-only -x c /dev/null 2>&1 || echo no),)
CHARD_CFLAGS := $(filter-out $(chard_probes),$(CHARD_CFLAGS))
endif
endif
ifeq ($(CHARD_STATIC),1)
chard_rpath := -Wl,-rpath,%
CHARD_LIBS := $(patsubst -lchard,-l:libchard.a,$(filter-out $(chard_rpath),$(shell $(PKG_CONFIG) --static --libs chard)))
else
CHARD_LIBS := $(shell $(PKG_CONFIG) --libs chard)
endif
CPPFLAGS += $(CHARD_CFLAGS)

# Both files come from one run of ckci. Make would delete them as intermediate files in a Makefile that
# asks for them by pattern rules only. ckci writes them whole or not at all, so they may be kept always.
.PRECIOUS: %.decl.h %.def.h
%.decl.h %.def.h: %.ci
	$(CKCI) -o $(@D) $<
