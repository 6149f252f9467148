/* Made by ckci from module Hello; do not edit. Include it first; include Hello.def.h
 * at the end of one C file that has the structs of the chares. */
#ifndef CK_DECL_Hello
#define CK_DECL_Hello

#include "ck.h"

typedef struct HelloMain HelloMain;
typedef struct CProxy_HelloMain { CkChareID ck; } CProxy_HelloMain;
typedef struct HelloArray HelloArray;
typedef struct CProxy_HelloArray { CkProxy ck; } CProxy_HelloArray;
typedef struct CProxyElement_HelloArray { CkElement ck; } CProxyElement_HelloArray;
typedef struct CProxySection_HelloArray { CkSection ck; } CProxySection_HelloArray;

#ifdef __cplusplus
extern "C" {
#endif

/* A parameter may have the name of a global of the program. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"

/* Set in the main chare's constructor, then the same on all PEs. */
extern CProxy_HelloMain mainProxy;
extern CProxy_HelloArray a;
extern int num;

/* ---- Main chare HelloMain ---- */

/* you write */
void HelloMain_on_new(HelloMain *self);
void HelloMain_on_Finished(HelloMain *self);

/* you call */
CProxy_HelloMain HelloMain_thisProxy(const HelloMain *self);
void HelloMain_Finished_opt(const CkEntryOptions *ck_o, CProxy_HelloMain ck_to);
static inline void HelloMain_Finished(CProxy_HelloMain ck_to)
{
	HelloMain_Finished_opt(NULL, ck_to);
}
CkCallback HelloMain_cb_Finished(CProxy_HelloMain to);

/* ---- Array HelloArray ---- */

/* you write */
void HelloArray_on_new(HelloArray *self);
void HelloArray_on_PrintHello(HelloArray *self);

/* you call */
CProxy_HelloArray HelloArray_ckNew(CkArrayDims ck_dims);
CProxy_HelloArray HelloArray_ckNew_opt(const CkArrayOptions *options);
CProxy_HelloArray HelloArray_ckNewEmpty(void);
CProxy_HelloArray HelloArray_ckNewEmpty_opt(const CkArrayOptions *options);
void HelloArray_insert(CProxyElement_HelloArray ck_e, int ck_pe);
void HelloArray_beginInserting(CProxy_HelloArray p);
void HelloArray_doneInserting(CProxy_HelloArray p);
void HelloArray_ckDestroy(CProxyElement_HelloArray e);
static inline CkIndex HelloArray_index(int x)
{
	CkIndex i = {{x, 0, 0}};

	return i;
}
static inline CProxyElement_HelloArray HelloArray_at(CProxy_HelloArray p, int x)
{
	CProxyElement_HelloArray e = {{p.ck.id, HelloArray_index(x), 0}};

	return e;
}
CProxy_HelloArray HelloArray_thisProxy(const HelloArray *self);
CProxyElement_HelloArray HelloArray_thisElement(const HelloArray *self);
int HelloArray_thisIndex(const HelloArray *self);
HelloArray *HelloArray_ckLocal(CProxyElement_HelloArray element);
HelloArray *HelloArray_nextLocal(CProxy_HelloArray p, const HelloArray *after);
CProxySection_HelloArray HelloArray_ckSection(CProxy_HelloArray p, const CkIndex *list, size_t n);
CProxySection_HelloArray HelloArray_ckSectionOf(const CProxyElement_HelloArray *list, size_t n);
void HelloArray_PrintHello_opt(const CkEntryOptions *ck_o, CProxyElement_HelloArray ck_to);
void ck_send_HelloArray_PrintHello(uint64_t ck_id, int ck_x);
static inline void HelloArray_PrintHello(CProxyElement_HelloArray ck_to)
{
	ck_send_HelloArray_PrintHello(ck_to.ck.id, ck_to.ck.index.v[0]);
}
void HelloArray_PrintHello_all_opt(const CkEntryOptions *ck_o, CProxy_HelloArray ck_to);
static inline void HelloArray_PrintHello_all(CProxy_HelloArray ck_to)
{
	HelloArray_PrintHello_all_opt(NULL, ck_to);
}
void HelloArray_PrintHello_section_opt(const CkEntryOptions *ck_o, CProxySection_HelloArray ck_to);
static inline void HelloArray_PrintHello_section(CProxySection_HelloArray ck_to)
{
	HelloArray_PrintHello_section_opt(NULL, ck_to);
}
CkCallback HelloArray_cb_PrintHello(CProxyElement_HelloArray to);
CkCallback HelloArray_cb_PrintHello_all(CProxy_HelloArray to);
CkCallback HelloArray_cb_PrintHello_section(CProxySection_HelloArray to);

extern const struct CkGenModule ck_module_Hello;
/* The linker misses this name if no file of the program includes Hello.def.h. */
extern const char Hello_def_h_is_included_in_no_file[];
static const char *const ck_needs_def_Hello __attribute__((used)) =
	Hello_def_h_is_included_in_no_file;

#pragma GCC diagnostic pop
/* Handlers need not use their parameters. To be warned of unused ones all the same, define
 * CK_WARN_UNUSED_PARAMETERS before this header. */
#ifndef CK_WARN_UNUSED_PARAMETERS
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

#ifdef __cplusplus
}
#endif
#endif
