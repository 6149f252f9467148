/* Made by ckci from module Hello; do not edit. Include it in one C file, behind the
 * structs of the chares. */
#ifndef CK_DEF_Hello
#define CK_DEF_Hello

#include <string.h>

#include "Hello.decl.h"

/* A parameter may have the name of a global of the program. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"

#include "ckgen.h"

CProxy_HelloMain mainProxy;
CProxy_HelloArray a;
int num;

/* ---- HelloMain ---- */

static void ck_call_HelloMain_new(void *ck_self, void *ck_m)
{
	(void)ck_m;
	HelloMain_on_new((HelloMain *)ck_self);
}

static void ck_call_HelloMain_Finished(void *ck_self, void *ck_m)
{
	(void)ck_m;
	HelloMain_on_Finished((HelloMain *)ck_self);
}

static void ck_reduced_HelloMain_Finished(void *ck_self, void *ck_m)
{
	(void)ck_m;
	HelloMain_on_Finished((HelloMain *)ck_self);
}

static const CkGenEntry ck_entries_HelloMain[] = {
	{"HelloMain", ck_call_HelloMain_new, NULL,
	 0, CK_NOTYPE, 0, 0, 0,
	 0, NULL, NULL, 0, 0,
	 NULL, NULL, NULL,
	 CKGEN_HEAD, CKGEN_TAKER_ANY, NULL, NULL,
	 NULL, NULL},
	{"Finished", ck_call_HelloMain_Finished, ck_reduced_HelloMain_Finished,
	 CKGEN_NOARGS | CKGEN_REDUCTION, CK_NOTYPE, 1, 0, 0,
	 0, NULL, NULL, 0, 0,
	 NULL, NULL, NULL,
	 CKGEN_HEAD, CKGEN_TAKER_ANY, NULL, NULL,
	 NULL, NULL},
};
static const CkGenChare ck_chare_HelloMain = {
	"HelloMain", CKGEN_MAINCHARE, 0, NULL,
#line 10 "accept/hello.ci"
	sizeof(HelloMain),
#line 59 "Hello.def.h"
	ck_entries_HelloMain, 2, 0,
	NULL, NULL, NULL, 0, NULL, NULL
};

CProxy_HelloMain HelloMain_thisProxy(const HelloMain *self)
{
	const CProxy_HelloMain ck_p = {CkGen_thisMain(self)};

	return ck_p;
}

void HelloMain_Finished_opt(const CkEntryOptions *ck_o, CProxy_HelloMain ck_to)
{
	CkGen_sendMain(&ck_chare_HelloMain, CkGen_main(ck_to.ck), 1, CkGen_alloc(0), ck_o);
}

CkCallback HelloMain_cb_Finished(CProxy_HelloMain ck_to)
{
	return CkGen_cbMain(&ck_chare_HelloMain, CkGen_main(ck_to.ck), 1);
}

/* ---- HelloArray ---- */

static void ck_call_HelloArray_new(void *ck_self, void *ck_m)
{
	(void)ck_m;
	HelloArray_on_new((HelloArray *)ck_self);
}

static void ck_call_HelloArray_PrintHello(void *ck_self, void *ck_m)
{
	(void)ck_m;
	HelloArray_on_PrintHello((HelloArray *)ck_self);
}

static void ck_reduced_HelloArray_PrintHello(void *ck_self, void *ck_m)
{
	(void)ck_m;
	HelloArray_on_PrintHello((HelloArray *)ck_self);
}

static const CkGenEntry ck_entries_HelloArray[] = {
	{"HelloArray", ck_call_HelloArray_new, NULL,
	 0, CK_NOTYPE, 0, 0, 0,
	 0, NULL, NULL, 0, 0,
	 NULL, NULL, NULL,
	 CKGEN_HEAD, CKGEN_TAKER_ANY, NULL, NULL,
	 NULL, NULL},
	{"PrintHello", ck_call_HelloArray_PrintHello, ck_reduced_HelloArray_PrintHello,
	 CKGEN_NOARGS | CKGEN_REDUCTION, CK_NOTYPE, 1, 0, 0,
	 0, NULL, NULL, 0, 0,
	 NULL, NULL, NULL,
	 CKGEN_HEAD, CKGEN_TAKER_ANY, NULL, NULL,
	 NULL, NULL},
};
static const CkGenChare ck_chare_HelloArray = {
	"HelloArray", CKGEN_ARRAY, 1, NULL,
#line 16 "accept/hello.ci"
	sizeof(HelloArray),
#line 119 "Hello.def.h"
	ck_entries_HelloArray, 2, 0,
	NULL, NULL, NULL, 0, NULL, NULL
};

CProxy_HelloArray HelloArray_ckNew_opt(const CkArrayOptions *ck_o)
{
	CProxy_HelloArray ck_p;

	ck_p.ck = CkGen_newArray(&ck_chare_HelloArray, ck_o, CkGen_alloc(0));
	return ck_p;
}

CProxy_HelloArray HelloArray_ckNew(CkArrayDims ck_dims)
{
	CkArrayOptions ck_o;

	memset(&ck_o, 0, sizeof ck_o);
	ck_o.dims = ck_dims;
	return HelloArray_ckNew_opt(&ck_o);
}

CProxy_HelloArray HelloArray_ckNewEmpty_opt(const CkArrayOptions *ck_o)
{
	const CProxy_HelloArray ck_p = {CkGen_newArray(&ck_chare_HelloArray, ck_o, NULL)};

	return ck_p;
}

CProxy_HelloArray HelloArray_ckNewEmpty(void)
{
	CkArrayOptions ck_o;

	memset(&ck_o, 0, sizeof ck_o);
	return HelloArray_ckNewEmpty_opt(&ck_o);
}

void HelloArray_insert(CProxyElement_HelloArray ck_e, int ck_pe)
{
	CkGen_insert(&ck_chare_HelloArray, &ck_e.ck, ck_pe, CkGen_alloc(0));
}

void HelloArray_beginInserting(CProxy_HelloArray ck_p)
{
	CkGen_beginInserting(ck_p.ck);
}

void HelloArray_doneInserting(CProxy_HelloArray ck_p)
{
	CkGen_doneInserting(ck_p.ck);
}

void HelloArray_ckDestroy(CProxyElement_HelloArray ck_e)
{
	CkGen_destroy(&ck_e.ck);
}

CProxy_HelloArray HelloArray_thisProxy(const HelloArray *self)
{
	const CProxy_HelloArray ck_p = {CkGen_thisProxy(self)};

	return ck_p;
}

CProxyElement_HelloArray HelloArray_thisElement(const HelloArray *self)
{
	const CProxyElement_HelloArray ck_e = {{CkGen_thisProxy(self).id, CkGen_thisIndex(self), 0}};

	return ck_e;
}

int HelloArray_thisIndex(const HelloArray *self)
{
	return CkGen_thisIndex(self).v[0];
}

HelloArray *HelloArray_ckLocal(CProxyElement_HelloArray ck_e)
{
	return (HelloArray *)CkGen_ckLocal(&ck_chare_HelloArray, &ck_e.ck);
}

HelloArray *HelloArray_nextLocal(CProxy_HelloArray ck_p, const HelloArray *ck_after)
{
	return (HelloArray *)CkGen_nextLocal(&ck_chare_HelloArray, ck_p.ck, ck_after);
}

CProxySection_HelloArray HelloArray_ckSection(CProxy_HelloArray ck_p, const CkIndex *ck_list, size_t ck_n)
{
	const CProxySection_HelloArray ck_s = {CkGen_section(&ck_chare_HelloArray, ck_p.ck, ck_list, ck_n)};

	return ck_s;
}

CProxySection_HelloArray HelloArray_ckSectionOf(const CProxyElement_HelloArray *ck_list, size_t ck_n)
{
	const CProxySection_HelloArray ck_s = {CkGen_sectionOf(&ck_chare_HelloArray, (const CkElement *)ck_list, ck_n)};

	return ck_s;
}

void ck_send_HelloArray_PrintHello(uint64_t ck_id, int ck_x)
{
	const CkGenOpen ck_c = CkGen_open(&ck_chare_HelloArray, ck_id, ck_x, 1, 0);

	if (ck_c.away)
		CkGen_close(ck_c);
}

void HelloArray_PrintHello_opt(const CkEntryOptions *ck_o, CProxyElement_HelloArray ck_to)
{
	CkGen_send(&ck_chare_HelloArray, &ck_to.ck, 1, CkGen_alloc(0), ck_o);
}

void HelloArray_PrintHello_all_opt(const CkEntryOptions *ck_o, CProxy_HelloArray ck_to)
{
	CkGen_sendAll(&ck_chare_HelloArray, ck_to.ck, 1, CkGen_alloc(0), ck_o);
}

void HelloArray_PrintHello_section_opt(const CkEntryOptions *ck_o, CProxySection_HelloArray ck_to)
{
	CkGen_sendSection(&ck_chare_HelloArray, &ck_to.ck, 1, CkGen_alloc(0), ck_o);
}

CkCallback HelloArray_cb_PrintHello(CProxyElement_HelloArray ck_to)
{
	return CkGen_cb(&ck_chare_HelloArray, &ck_to.ck, 1);
}

CkCallback HelloArray_cb_PrintHello_all(CProxy_HelloArray ck_to)
{
	return CkGen_cbAll(&ck_chare_HelloArray, ck_to.ck, 1);
}

CkCallback HelloArray_cb_PrintHello_section(CProxySection_HelloArray ck_to)
{
	return CkGen_cbSection(&ck_chare_HelloArray, &ck_to.ck, 1);
}

static const CkGenChare *const ck_chares_Hello[] = {
	&ck_chare_HelloMain,
	&ck_chare_HelloArray,
};
static const CkGenReadonly ck_readonlies_Hello[] = {
	{"CProxy_HelloMain mainProxy", &mainProxy, sizeof mainProxy, NULL},
	{"CProxy_HelloArray a", &a, sizeof a, NULL},
	{"int num", &num, sizeof num, NULL},
};
const CkGenModule ck_module_Hello = {
	"Hello",
	ck_chares_Hello, 2, /* chares */
	ck_readonlies_Hello, 3, /* readonlies */
	NULL, 0, /* initnodes */
	NULL, 0, /* initprocs */
	NULL, 0, /* externs */
};

const char Hello_def_h_is_included_in_no_file[] = "";

extern const char ck_no_module_of_the_program_is_a_mainmodule[] __attribute__((weak));
const char ck_no_module_of_the_program_is_a_mainmodule[] = "";

#ifndef CK_NO_MAIN
/* the program's main() */
#ifdef __cplusplus
extern "C"
#endif
int ck_main(int argc, char **argv) __asm__("main");
int ck_main(int argc, char **argv)
{
	return CkMain(argc, argv, &ck_module_Hello);
}
#endif

#pragma GCC diagnostic pop
#endif
