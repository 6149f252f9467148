/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pup.c: an element as bytes, by the functions with which it leaves and arrives. The object is a main
 * chare, which comes without an array around it; the table is written by hand as ckci would print it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "chare_layer.h"
#include "check_run.h"
#include "ckgen.h"
#include "params/element/element.h"

enum { N = 5, BYTES = 40 };

struct Main {
	int n;
	double *v;
	void *plain, *wide, *own, *none;
	CkCallback done;
	int skipped;
};

static const CkGenChare Main_table;

/* What the main chare does. Set before the nodes start. */
static void (*act)(struct pe *pe, struct ck_obj *obj);
static int n_packed;

/* ---- a message with its own form: it points to a text of malloc ----------------------------------- */

static void *note_pack(void *msg)
{
	char *text = *(char **)msg, *to = CkAllocBuffer(msg, strlen(text) + 1);

	strcpy(to, text);
	free(text);
	CkFreeMsg(msg);
	n_packed++;
	return to;
}

static void *note_unpack(void *buffer)
{
	char **msg = CkAllocBuffer(buffer, sizeof *msg);

	*msg = strdup(buffer);
	CkFreeMsg(buffer);
	return msg;
}

static const CkGenMessage note = { .name = "Note", .pack = note_pack, .unpack = note_unpack };

/* ---- Main -------------------------------------------------------------------------------------------- */

static void Main_pup(pup_er p, void *x)
{
	struct Main *m = x;

	pup_int(p, &m->n);
	m->v = pup_alloc(p, m->v, (size_t)m->n * sizeof *m->v);
	pup_doubles(p, m->v, (size_t)m->n);
	m->plain = pup_message(p, m->plain);
	m->wide = pup_message(p, m->wide);
	m->own = CkGen_pupMessage(p, m->own, &note);
	m->none = pup_message(p, m->none);
	pup_callback(p, &m->done);
	pup_skip(p, &m->skipped, sizeof m->skipped);
}

static void fill(struct Main *m)
{
	m->n = N;
	m->v = calloc(N, sizeof *m->v);
	m->v[N - 1] = 0.5;
	m->plain = memset(CkGen_allocMsg(BYTES), 'p', BYTES);
	CkSetRefNum(m->plain, 17);
	CkSetPrio(m->plain, -3);
	assert_true(env_add_section(env_of(m->plain), (CkSection){ 3, 4 }));
	CkReservePrio(64);
	m->wide = memset(CkGen_allocMsg(BYTES), 'w', BYTES);
	CkSetPrioLong(m->wide, INT64_C(1) << 40);
	m->own = CkGen_allocMsg(sizeof(char *));
	*(char **)m->own = strdup("a note");
	CkSetRefNum(m->own, 18);
	m->done = CkCallbackExit();
	m->skipped = 1;
}

static void check(const struct Main *m)
{
	const struct cmi_msg *plain = &env_of(m->plain)->head, *wide = &env_of(m->wide)->head;

	assert_int_equal(m->n, N);
	assert_true(m->v[0] == 0 && m->v[N - 1] == 0.5 && !m->none);
	assert_true(((char *)m->plain)[BYTES - 1] == 'p' && ((char *)m->wide)[BYTES - 1] == 'w');
	assert_int_equal(CkGetRefNum(m->plain), 17);
	assert_true(plain->flags & CMI_F_PRIO && plain->prio == -3);
	assert_true(wide->flags & CMI_F_WIDE && msg_prio_of(wide)->key == INT64_C(1) << 40);
	assert_true(env_section(env_of(m->plain)).id == 4 && env_of(m->plain)->more & CK_MORE_SECTION);
	assert_string_equal(*(char **)m->own, "a note");
	assert_int_equal(CkGetRefNum(m->own), 18);
}

static void Main_new(void *self, void *payload)
{
	(void)payload;
	fill(self);
	act(csd_self(), obj_of(self));
	CkExit(0);
}

static const CkGenEntry main_entries[] = { { .name = "Main", .call = Main_new } };
static const CkGenChare Main_table = {
	.name = "Main", .kind = CKGEN_MAINCHARE, .bytes = sizeof(struct Main), .entries = main_entries,
	.n_entries = 1, .pup = Main_pup
};
static const CkGenChare *const chares[] = { &Main_table };
static const CkGenModule module = { .name = "pup", .chares = chares, .n_chares = 1 };

/* ---- what it does ------------------------------------------------------------------------------------ */

static struct ck_obj *moved(struct pe *pe, struct ck_obj *obj)
{
	const size_t n = element_size(pe, obj);
	char *image = malloc(n);
	struct ck_obj *there = obj_new(obj->coll, obj->index);

	element_pack(pe, obj, image, n);
	element_unpack(pe, there, image, n);
	free(image);
	return there;
}

static void move_and_delete(struct pe *pe, struct ck_obj *obj)
{
	struct ck_obj *there = moved(pe, obj), *again;

	check(self_of(obj));
	check(self_of(there));
	assert_int_equal(((struct Main *)self_of(there))->skipped, 0);
	element_delete(pe, obj);
	again = moved(pe, there);
	element_delete(pe, there);
	element_free(pe, there);
	check(self_of(again));
	element_delete(pe, again);
	element_free(pe, again);
}

static void check_many_times(struct pe *pe, struct ck_obj *obj)
{
	for (int i = 0; i < 3; i++)
		element_check(pe, obj);
	check(self_of(obj));
	n_packed = 0;
	element_delete(pe, obj);
	assert_int_equal(n_packed, 1); /* so the text that the note points to is freed */
}

static void write_behind(struct pe *pe, struct ck_obj *obj)
{
	struct ck_obj *there = moved(pe, obj);
	struct Main *left = self_of(there);

	element_delete(pe, there);
	element_free(pe, there);
	left->skipped = 2;
}

static void unpack_other(struct pe *pe, struct ck_obj *obj, int more)
{
	const size_t n = element_size(pe, obj);
	char *image = calloc(1, n + 1);

	element_pack(pe, obj, image, n);
	element_unpack(pe, obj_new(obj->coll, obj->index), image, more < 0 ? n - 1 : n + 1);
}

static void unpack_part(struct pe *pe, struct ck_obj *obj) { unpack_other(pe, obj, -1); }
static void unpack_too_much(struct pe *pe, struct ck_obj *obj) { unpack_other(pe, obj, 1); }

/* ---- facts --------------------------------------------------------------------------------------------- */

static void run(void (*what)(struct pe *, struct ck_obj *), bool checked)
{
	act = what;
	if (checked)
		setenv("CK_CHECK", "1", 1);
	assert_int_equal(check_run(&chare_layer, &module, 1, 1, 0), 0);
	unsetenv("CK_CHECK");
}

static void fails(void (*what)(struct pe *, struct ck_obj *), const char *text)
{
	const struct csd_layer *layer = &chare_layer;
	char said[4096];

	act = what;
	setenv("CK_CHECK", "1", 1);
	assert_int_equal(check_run_apart(&layer, 1, &module, 1, said, sizeof said), 1);
	unsetenv("CK_CHECK");
	if (!strstr(said, text))
		fail_msg("not said: %s; but: %s", text, said);
}

static void an_element_is_the_same_behind_its_image(void **state) { (void)state; run(move_and_delete, false); }
static void checked_mode_lets_go_of_the_same(void **state) { (void)state; run(move_and_delete, true); }
static void a_check_changes_nothing(void **state) { (void)state; run(check_many_times, false); }
static void a_check_in_checked_mode_changes_nothing(void **state) { (void)state; run(check_many_times, true); }

static void a_write_to_what_has_left_is_found(void **state)
{
	(void)state;
	fails(write_behind, "Main was written to after it had left this process (0x");
}

static void an_image_that_is_cut_off_is_refused(void **state)
{
	(void)state;
	fails(unpack_part, "Main: Main_pup unpacks more than it packed: ");
}

static void an_image_that_is_not_used_up_is_refused(void **state)
{
	(void)state;
	fails(unpack_too_much, "it must do the same each time");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_element_is_the_same_behind_its_image),
		cmocka_unit_test(checked_mode_lets_go_of_the_same),
		cmocka_unit_test(a_check_changes_nothing),
		cmocka_unit_test(a_check_in_checked_mode_changes_nothing),
		cmocka_unit_test(a_write_to_what_has_left_is_found),
		cmocka_unit_test(an_image_that_is_cut_off_is_refused),
		cmocka_unit_test(an_image_that_is_not_used_up_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
