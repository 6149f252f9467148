/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ckgen.h: what the code that ckci prints calls, and the constant tables that it prints.
 * Not for users: no promise between versions; a hash of the tables is compared at start.
 *
 * Everything generated is constant: entry methods are numbered by their place in their
 * chare (0 is the constructor), so nothing is registered into global variables and no code
 * address is ever sent.
 */
#ifndef CKGEN_H
#define CKGEN_H

#include "ck.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Calls the user's handler. `self` is the user's struct; `payload` is what the stub packed
 * (16-byte aligned), the message struct of a message entry, or a CkReductionMsg. */
typedef void (*CkGenCall)(void *self, void *payload);

enum {
	CKGEN_EXPEDITED = 1,       /* [expedited] */
	CKGEN_MESSAGE = 2,         /* the payload is a user message; the handler gets it writable */
	CKGEN_NOARGS = 4,          /* can be the target of any callback */
	CKGEN_REDUCTION = 8,       /* has `reduced` */
};

typedef struct CkGenEntry {
	const char *name;
	CkGenCall call;
	CkGenCall reduced;         /* from a CkReductionMsg; NULL when no callback may target it */
	uint16_t flags;
	uint8_t want;              /* CkDataType of a [reductiontarget]; CK_NOTYPE: any */
	uint8_t want_array;        /* 1: any count (an array parameter); 0: want_count values */
	uint32_t want_count;
} CkGenEntry;

typedef enum CkGenKind { CKGEN_MAINCHARE = 1, CKGEN_ARRAY, CKGEN_GROUP } CkGenKind;

typedef struct CkGenChare {
	const char *name;
	CkGenKind kind;
	int nd;                    /* dimensions of an array, else 0 */
	size_t bytes;              /* sizeof the user's struct */
	const CkGenEntry *entries; /* [0] is the constructor */
	int n_entries;
} CkGenChare;

typedef struct CkGenReadonly {
	const char *name;
	void *addr;
	size_t bytes;
} CkGenReadonly;

typedef struct CkGenModule {
	const char *name;
	const CkGenChare *const *chares;
	int n_chares;
	const CkGenReadonly *readonlies;
	int n_readonlies;
	void (*const *initnodes)(void); /* run once per node, before any chare */
	int n_initnodes;
	const struct CkGenModule *const *externs; /* modules this one names */
	int n_externs;
} CkGenModule;

/** The main program: start the runtime, run the main chares, return the job's exit code.
 * ckci prints a main() that calls it in the .def.h of a mainmodule, unless CK_NO_MAIN. */
int CkMain(int argc, char **argv, const CkGenModule *mainmodule);

/** A message with room for `bytes` of payload; returns the payload, 16-byte aligned, not
 * zeroed. The caller owns it until one of the functions below takes it. */
void *CkGen_alloc(size_t bytes);

/** Send the payload to an entry of one element, of all elements, or of a main chare. They take
 * the payload. o may be NULL. `chare` is the stub's own table, for checks and names. */
void CkGen_send(const CkGenChare *chare, const CkElement *e, int entry, void *payload,
		const CkEntryOptions *o);
void CkGen_sendAll(const CkGenChare *chare, CkProxy p, int entry, void *payload,
		   const CkEntryOptions *o);
void CkGen_sendMain(const CkGenChare *chare, CkProxy p, int entry, void *payload,
		    const CkEntryOptions *o);

/** Create an array or a group; `payload` holds the constructor's parameters. */
CkProxy CkGen_newArray(const CkGenChare *chare, const CkArrayOptions *o, void *payload);
CkProxy CkGen_newGroup(const CkGenChare *chare, void *payload);

/** What an element knows of itself. */
CkProxy CkGen_thisProxy(const void *self);
CkIndex CkGen_thisIndex(const void *self);

/** The user's struct when the element lives on this PE, else NULL. */
void *CkGen_ckLocal(const CkGenChare *chare, const CkElement *e);

/** Callbacks to an entry of one element, of all, or of a main chare. */
CkCallback CkGen_cb(const CkGenChare *chare, const CkElement *e, int entry);
CkCallback CkGen_cbAll(const CkGenChare *chare, CkProxy p, int entry);
CkCallback CkGen_cbMain(const CkGenChare *chare, CkProxy p, int entry);

/** Round up to the alignment of arrays inside a payload. */
static inline size_t CkGen_align(size_t n) { return (n + 15) & ~(size_t)15; }

/** Abort: an array length in a call was negative. */
__attribute__((noreturn)) void CkGen_badLength(const CkGenChare *chare, int entry, const char *param,
			       long long n);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
