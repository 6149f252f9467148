/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ast.h: a .ci file as data. parse.c builds it, check.c completes it (the fields marked
 * "check"), the generators only read it. Lists are in the order of the file.
 */
#ifndef CI_AST_H
#define CI_AST_H

#include "lex.h"

enum ci_class {
	CI_VOID,
	CI_INTEGER,
	CI_FLOATING,
	CI_RUNTIME,          /* check: a struct of the runtime or a proxy; ckci has verified it */
	CI_PUP,              /* check: `pup T;` says that the program packs it */
	CI_USER,             /* any other name, or struct/union/enum: only the C compiler knows it */
};

struct ci_type {
	const struct ci_tok *tok;   /* its first word other than `const` */
	const char *text;           /* as C writes it, without `const` and stars */
	enum ci_class class_;
	bool const_;                /* `const` stands before the stars */
	int stars;
};

/** The tokens from `from` up to but not including `to`. Empty: there is no expression. */
struct ci_expr {
	const struct ci_tok *from, *to;
};

enum ci_param_kind {
	CI_PARAM_VALUE,
	CI_PARAM_ARRAY,      /* T v[length] */
	CI_PARAM_NOCOPY,     /* nocopy T v[length], nocopypost T v[length] */
	CI_PARAM_STRING,     /* char *s */
	CI_PARAM_POINTER,    /* T *p, of a [local] entry method */
	CI_PARAM_MESSAGE,    /* Block *b: the only parameter */
	CI_PARAM_ARGS,       /* CkArgMsg *m: the only parameter, of a main chare's constructor */
	CI_PARAM_REDUCTION,  /* CkReductionMsg *m: the only parameter */
};

struct ci_param {
	struct ci_param *next;
	const struct ci_tok *tok;   /* where it starts */
	const char *name;
	struct ci_type type;
	enum ci_param_kind kind;    /* the parser sets VALUE, ARRAY or NOCOPY, check the others */
	struct ci_expr length;
	bool posted;                /* NOCOPY: nocopypost, X_on_f_post names the buffers */
	bool bad;                   /* it has an error: do not report another */
};

/** Attributes of an entry method; one bit each. */
enum {
	CI_REDUCTION_TARGET = 1 << 0,
	CI_EXPEDITED = 1 << 1,
	CI_NOTRACE = 1 << 2,
	CI_THREADED = 1 << 3,
	CI_STACKSIZE = 1 << 4,
	CI_SYNC = 1 << 5,
	CI_WHEN = 1 << 6,
	CI_INLINE = 1 << 7,
	CI_LOCAL = 1 << 8,
	CI_EXCLUSIVE = 1 << 9,
	CI_IMMEDIATE = 1 << 10,
	CI_CREATEHERE = 1 << 11,
	CI_CREATEHOME = 1 << 12,
	CI_AGGREGATE = 1 << 13,
	CI_WHENIDLE = 1 << 14,
	CI_ARRIVAL = 1 << 15,
	CI_CHANNEL = 1 << 16,
	CI_COUNT = 1 << 17,
	CI_N_ATTRS = 18,

	/* There is no message that calls such an entry method, or one that only its own stub sends. */
	CI_OWN_CALL = CI_SYNC | CI_LOCAL | CI_WHENIDLE | CI_ARRIVAL,
};

/** A variable that is declared inside a body. */
struct ci_local {
	struct ci_local *next;
	const char *type, *name;    /* type as C writes it in front of the name: "double *" */
	const char *dims;           /* "[2]"; mostly "" */
};

/** One call that a `when` waits for. */
struct ci_awaited {
	struct ci_awaited *next;
	const struct ci_tok *tok;
	struct ci_expr number;      /* f[number] */
	bool by_number;
	struct ci_param *params;    /* the entry's own list if this `when` declares the entry */
	struct ci_entry *entry;     /* NULL after an error */
};

enum ci_sdag_kind {
	CI_SDAG_BLOCK,
	CI_SDAG_SERIAL,      /* text: the code */
	CI_SDAG_WHEN,        /* calls */
	CI_SDAG_IF,          /* text: the condition; other */
	CI_SDAG_FOR,         /* text: its beginning; high: the condition; step; locals */
	CI_SDAG_WHILE,       /* text: the condition */
	CI_SDAG_FORALL,      /* text: the lower bound; high, step; locals: the variable */
	CI_SDAG_OVERLAP,     /* body: its branches */
	CI_SDAG_CASE,        /* body: its whens */
};

/** A statement of Structured Dagger. */
struct ci_sdag {
	struct ci_sdag *next;       /* in its block */
	enum ci_sdag_kind kind;
	int number;                 /* within its entry; part of generated names */
	const struct ci_tok *tok;
	struct ci_expr text, high, step;
	struct ci_local *locals;
	struct ci_awaited *calls;
	struct ci_sdag *body;       /* NULL: empty */
	struct ci_sdag *other;      /* else */
};

struct ci_entry {
	struct ci_entry *next;
	const struct ci_tok *tok;   /* its name */
	const char *name;           /* "new" for the constructor, as in C */
	bool ctor;
	unsigned attrs;
	const struct ci_tok *attr_at[CI_N_ATTRS]; /* the word of each attribute that is set */
	struct ci_expr when, stacksize;
	struct ci_expr count;       /* [count(n, round)]; check: just n */
	const struct ci_param *round; /* check: of count; NULL: the reference number */
	struct ci_sdag *body;       /* a block of Structured Dagger; NULL: the program writes the handler */
	const struct ci_tok *awaited; /* the first `when` that names it, or NULL; if set, it has no handler */
	struct ci_type answer;      /* what the handler returns: void unless [sync] or [local] */
	struct ci_param *params;
	int number;                 /* check: 0 is the constructor */
	const char *want;           /* check: CkDataType of a reduction target, as a C expression; or NULL */
	bool bad;
};

/** The order is that of enum CkGenKind. */
enum ci_chare_kind {
	CI_MAINCHARE,
	CI_ARRAY,
	CI_GROUP,
	CI_CHARE,
	CI_NODEGROUP,
};

struct ci_chare {
	struct ci_chare *next;
	const struct ci_tok *tok;
	const char *name;
	enum ci_chare_kind kind;
	int nd;                     /* an array's dimensions; 0 with an index type of the user's */
	struct ci_type index;       /* the user's index type; its text is NULL if there is none */
	struct ci_entry *ctor;      /* NULL: none was declared */
	struct ci_entry *entries;   /* the others */
	struct ci_module *module;
	bool bad;
};

enum ci_field_kind {
	CI_FIELD_FIXED,      /* T x; T x[3]; */
	CI_FIELD_VAR,        /* T x[]; the caller passes its length to X_alloc */
	CI_FIELD_MESSAGE,    /* check: readonly M *x; */
};

/** A member of a message, or a readonly. */
struct ci_field {
	struct ci_field *next;
	const struct ci_tok *tok;
	const char *name;
	struct ci_type type;
	enum ci_field_kind kind;
	struct ci_expr dims;        /* all of "[3][4]" */
	bool bad;
};

struct ci_message {
	struct ci_message *next;
	const struct ci_tok *tok;
	const char *name;
	struct ci_field *fields;
	bool own;                   /* `message M;`: the program defines the struct */
	bool packed;                /* `message [packed] M;` or [varsize]: and packs it */
	int n_var;
	struct ci_module *module;
};

/** A name in a list: an include, an extern module, an initnode function. */
struct ci_item {
	struct ci_item *next;
	const struct ci_tok *tok;
	const char *name;
};

enum ci_pup_kind {
	CI_PUP_BYTES,        /* T x; T x[3][4]; copied as it is */
	CI_PUP_OBJECTS,      /* check: the same by T_pup */
	CI_PUP_CALLBACKS,    /* check: CkCallback x; */
	CI_PUP_POINTED,      /* T *x [count]; bytes, or check: by T_pup */
	CI_PUP_STRING,       /* check: char *x; */
	CI_PUP_MESSAGE,      /* check: M *x; a message that the program keeps, or NULL */
	CI_PUP_END,          /* check: CkChannel *x = buffer; CkReducing *x = buffer; */
	CI_PUP_SKIP,         /* skip x; skip x[]; */
};

/** What `T *x [count]` points to was allocated by malloc, CkRdmaAlloc or CkDirect_alloc. */
enum ci_pup_memory { CI_PUP_MALLOC, CI_PUP_RDMA, CI_PUP_DIRECT };

/** A field of a struct, in the list of `pup X { ... }`. */
struct ci_pup_field {
	struct ci_pup_field *next;
	const struct ci_tok *tok;
	const char *name;
	struct ci_type type;        /* of `skip`: no text */
	enum ci_pup_kind kind;      /* the parser sets BYTES, POINTED or SKIP, check the others */
	enum ci_pup_memory memory;
	struct ci_expr dims;        /* all of "[3][4]"; of `skip x[]` the brackets */
	struct ci_expr group[2];    /* what is between the brackets behind `T *x`; n_groups of them */
	int n_groups;
	struct ci_expr row;         /* check: T **x points to so many pointers; empty: there is one star */
	struct ci_expr count;       /* check: each pointer points to so many values; empty: to one */
	struct ci_expr buffer;      /* of an END */
	bool bad;
};

/** `pup X;`: the program packs a type, or chares of a type. `pup X { ... }`: ckci prints how. */
struct ci_pup {
	struct ci_pup *next;
	const struct ci_tok *tok;
	const char *name;
	const char *text;           /* the name with its `struct ` */
	const struct ci_tok *on_arrived; /* [on_arrived]: X_on_arrived is called; or NULL */
	const struct ci_tok *open;  /* the { of the list; NULL: the program writes X_pup */
	struct ci_pup_field *fields;
	const struct ci_chare *chare; /* check: the array whose elements it packs; NULL: a type */
};

struct ci_module {
	struct ci_module *next;
	const struct ci_tok *tok;
	const char *name;
	bool main;
	struct ci_item *includes, *externs, *initnodes, *initprocs;
	struct ci_pup *pups;
	struct ci_item *elsewhere;  /* messages and chares that another file declares */
	struct ci_field *readonlies;
	struct ci_message *messages;
	struct ci_chare *chares;
	bool uses_direct;           /* check: the module names CkDirectHandle */
	bool has_arrivals;          /* check: one of its entry methods is [arrival] */
};

#endif
