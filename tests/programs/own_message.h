/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_message.h: a message that its program packs itself: two pieces of memory, which become one
 * on the way. For programs with `message [packed] Own;`, which include this after their .decl.h.
 */
#ifndef OWN_MESSAGE_H
#define OWN_MESSAGE_H

struct Own {
	Own *other;
	int x;
};

static inline Own *own_new(int x)
{
	Own *m = Own_alloc(0);

	m->x = x;
	m->other = Own_alloc(0);
	m->other->x = 2 * x;
	return m;
}

static inline void own_check_and_free(Own *m, int x)
{
	CHECK_EQ(m->x, x);
	CHECK_EQ(m->other->x, 2 * x);
	CkFreeMsg(m->other);
	CkFreeMsg(m);
}

void *Own_pack(Own *m)
{
	int *p = CkAllocBuffer(m, sizeof *p);

	CHECK_EQ(m->other->x, 2 * m->x);
	*p = m->x;
	CkFreeMsg(m->other);
	CkFreeMsg(m);
	return p;
}

Own *Own_unpack(void *buffer)
{
	Own *m = own_new(*(const int *)buffer);

	CkFreeMsg(buffer);
	return m;
}

#endif
