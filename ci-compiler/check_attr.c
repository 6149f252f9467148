/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_attr.c: checks which attributes of an entry method go together, and on which chares and
 * with which parameters; also the condition of [when], the number of [count], and the answer of
 * [sync] and [local].
 *
 * Most of it is tables: to add an attribute, add its lines there.
 */
#include "check_int.h"

#include <string.h>

static const char *const names[CI_N_ATTRS] = {
	"reductiontarget", "expedited", "notrace", "threaded", "stacksize", "sync", "when",
	"inline", "local", "exclusive", "immediate", "createhere", "createhome", "aggregate",
	"whenidle", "arrival", "channel", "count"
};

static unsigned lowest(unsigned flags)
{
	unsigned i = 0;

	while (!(flags & 1u << i))
		i++;
	return i;
}

static bool refuse(struct checker *c, const struct ci_entry *e, unsigned flag, const char *help,
		   const char *why)
{
	unsigned i = lowest(flag);

	ci_error(c->ci, e->attr_at[i]->at, help, "[%s] %s", names[i], why);
	return false;
}

/* ---- with each other ------------------------------------------------------------------------ */

struct conflict {
	unsigned one;            /* the error points at this attribute */
	unsigned others;
	const char *help;
};

static const struct conflict conflicts[] = {
	{CI_WHENIDLE, ~(unsigned)(CI_WHENIDLE | CI_NOTRACE),
	 "keep one: a [whenidle] entry method is called by the PE when it has nothing else to do"},
	{CI_ARRIVAL, ~(unsigned)(CI_ARRIVAL | CI_NOTRACE | CI_COUNT),
	 "keep one: an [arrival] entry method is called when a put has come through a channel; there is "
	 "no message"},
	{CI_COUNT, CI_SYNC | CI_INLINE | CI_LOCAL | CI_THREADED | CI_WHEN | CI_AGGREGATE |
	 CI_REDUCTION_TARGET | CI_EXCLUSIVE | CI_IMMEDIATE,
	 "keep one: the handler of a [count] entry method runs once for several calls, none of "
	 "which it answers"},
	{CI_CHANNEL, ~(unsigned)(CI_CHANNEL | CI_REDUCTION_TARGET | CI_COUNT),
	 "keep one: a [channel] entry method is called plainly, and its calls that repeat need no message"},
	{CI_LOCAL, CI_SYNC | CI_INLINE | CI_THREADED | CI_WHEN | CI_EXPEDITED | CI_AGGREGATE |
	 CI_REDUCTION_TARGET | CI_CREATEHERE | CI_CREATEHOME | CI_IMMEDIATE,
	 "keep one: a [local] entry method is called as a function, there is no message; it may "
	 "return a value"},
	{CI_INLINE, CI_THREADED, "keep one: an entry that may wait cannot run inside its caller"},
	{CI_INLINE, CI_SYNC, "keep sync: its caller waits for the answer anyway"},
	{CI_INLINE, CI_WHEN, "keep when: such a call may have to wait"},
	{CI_INLINE, CI_AGGREGATE, "keep one: inline calls at once, aggregate sends later"},
	{CI_SYNC, CI_REDUCTION_TARGET,
	 "write two entry methods: a reduction does not wait for an answer"},
	{CI_SYNC, CI_AGGREGATE, "remove aggregate: the caller waits, so its call is sent at once"},
	{CI_WHEN, CI_REDUCTION_TARGET,
	 "remove when, and keep the result in the chare's struct until its turn comes"},
	{CI_IMMEDIATE, CI_THREADED | CI_SYNC | CI_WHEN | CI_EXCLUSIVE | CI_AGGREGATE,
	 "remove immediate: such a handler runs at once, between others, and cannot wait"},
	{CI_EXCLUSIVE, CI_THREADED,
	 "remove threaded: a waiting thread would block the nodegroup for all PEs"},
	{CI_CREATEHERE, CI_CREATEHOME, "keep one: the element is created in one place"},
	{CI_EXPEDITED, CI_AGGREGATE, "keep one: an aggregated call waits for others"},
};

static bool check_conflicts(struct checker *c, const struct ci_entry *e)
{
	for (size_t i = 0; i < sizeof conflicts / sizeof conflicts[0]; i++) {
		const struct conflict *x = &conflicts[i];

		if ((e->attrs & x->one) && (e->attrs & x->others))
			return refuse(c, e, x->one, x->help,
				      ci_fmt(c->ci, "and [%s] cannot be combined",
					     names[lowest(e->attrs & x->others)]));
	}
	if ((e->attrs & CI_STACKSIZE) && !(e->attrs & CI_THREADED) && e->body == NULL)
		return refuse(c, e, CI_STACKSIZE, "write [threaded, stacksize=...], or remove it",
			      "is for threads: other handlers run on the PE's own stack");
	return true;
}

/* ---- with the chare ------------------------------------------------------------------------- */

enum {
	COLLECTIONS = 1 << CI_ARRAY | 1 << CI_GROUP | 1 << CI_NODEGROUP,
};

static const struct { unsigned flag, kinds; const char *help, *why; } places[] = {
	{CI_EXCLUSIVE, 1 << CI_NODEGROUP,
	 "remove it: the handlers of this chare run one at a time anyway",
	 "is for a nodegroup, whose handlers run on all PEs of a node"},
	{CI_IMMEDIATE, 1 << CI_NODEGROUP, "write [expedited]: served before everything queued",
	 "is for a nodegroup"},
	{CI_CREATEHERE, 1 << CI_ARRAY, "remove it",
	 "is for an array, whose elements may be missing"},
	{CI_CREATEHOME, 1 << CI_ARRAY, "remove it",
	 "is for an array, whose elements may be missing"},
	{CI_AGGREGATE, COLLECTIONS, "remove it", "is for an array, a group or a nodegroup"},
	{CI_WHENIDLE, 1 << CI_ARRAY | 1 << CI_GROUP, "move it into a group or an array",
	 "is for an array or a group"},
	{CI_ARRIVAL, 1 << CI_ARRAY, "move it into an array; CkDirect_createHandle is for other chares",
	 "is for an array, whose elements are the ends of named channels"},
	{CI_CHANNEL, 1 << CI_ARRAY, "remove it",
	 "is for an array, whose elements call each other again and again"},
	{CI_COUNT, ~(1u << CI_NODEGROUP), "move it into a group or an array, or count in the handler",
	 "is not for a nodegroup, whose calls several PEs handle at once"},
	{CI_LOCAL, COLLECTIONS, "remove it: the chare may live on any PE",
	 "is for an array, a group or a nodegroup"},
};

static bool check_places(struct checker *c, const struct ci_chare *chare, const struct ci_entry *e)
{
	unsigned demand = e->attrs & (CI_CREATEHERE | CI_CREATEHOME);

	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		if ((e->attrs & places[i].flag) && !(places[i].kinds & 1u << chare->kind))
			return refuse(c, e, places[i].flag, places[i].help, places[i].why);
	}
	if (demand != 0 && chare->ctor != NULL && chare->ctor->params != NULL)
		return refuse(c, e, demand,
			      ci_fmt(c->ci, "write 'entry %s();', and send what it needs in '%s'",
				     chare->name, e->name),
			      "has no values for the constructor's parameters");
	if ((e->attrs & CI_WHEN) && chare->kind == CI_NODEGROUP && !(e->attrs & CI_EXCLUSIVE))
		return refuse(c, e, CI_WHEN, "write [exclusive, when(...)]",
			      "of a nodegroup reads fields that other PEs may be changing");
	return true;
}

/* ---- with the parameters -------------------------------------------------------------------- */

static bool check_params(struct checker *c, const struct ci_entry *e, const struct ci_param *q)
{
	static const unsigned no_message = CI_INLINE | CI_LOCAL | CI_AGGREGATE | CI_CHANNEL;
	static const unsigned no_result = CI_INLINE | CI_LOCAL | CI_AGGREGATE | CI_WHEN | CI_SYNC |
					  CI_CHANNEL | CI_COUNT;
	static const unsigned no_nocopy = CI_LOCAL | CI_AGGREGATE | CI_REDUCTION_TARGET | CI_CHANNEL;
	const char *word = q->posted ? "nocopypost" : "nocopy";
	const unsigned no_posted = q->posted ? CI_INLINE | CI_COUNT : 0;
	unsigned bad = 0;

	if (q->kind == CI_PARAM_NOCOPY && e->ctor) {
		ci_error(c->ci, q->tok->at,
			 ci_fmt(c->ci, "remove '%s', or send it to an entry method", word),
			 "a constructor's parameters are copied");
		return false;
	}
	if (q->kind == CI_PARAM_MESSAGE && (bad = e->attrs & no_message) != 0)
		return refuse(c, e, bad, "write the message's members as parameters",
			      "cannot be combined with a message: these calls send none");
	if (q->kind == CI_PARAM_REDUCTION && (bad = e->attrs & no_result) != 0)
		return refuse(c, e, bad, bad & (CI_WHEN | CI_SYNC | CI_COUNT) ?
			      "write CkDataMsg *m, which is a message" : "remove it",
			      "cannot be combined with CkReductionMsg, which belongs to the runtime");
	if (q->kind == CI_PARAM_NOCOPY && (bad = e->attrs & (no_nocopy | no_posted)) != 0)
		return refuse(c, e, bad, ci_fmt(c->ci, "remove '%s'", word),
			      ci_fmt(c->ci, "cannot be combined with the %s array '%s'", word, q->name));
	if (q->type.class_ == CI_PUP && (e->attrs & CI_CHANNEL))
		return refuse(c, e, CI_CHANNEL, "send its fields as plain values and arrays",
			      ci_fmt(c->ci, "cannot be combined with '%s', which a pup function packs", q->name));
	return true;
}

/* ---- the condition -------------------------------------------------------------------------- */

static bool adjacent(const struct ci_tok *t)
{
	return t[0].at + t[0].len == t[1].at;
}

static bool condition_error(struct checker *c, const struct ci_tok *t, const char *help,
			    const char *why)
{
	ci_error(c->ci, t->at, help, "%s", why);
	return false;
}

/* A function counts as known: the C compiler reports an unknown one. */
static bool known_to_ck_h(const struct ci_tok *t)
{
	static const char *const words[] = {"self", "NULL", "true", "false"};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (strcmp(t->s, words[i]) == 0)
			return true;
	}
	return ci_is_c_keyword(t->s) || strncmp(t->s, "Ck", 2) == 0 ||
	       strncmp(t->s, "CK_", 3) == 0 || strcmp(t[1].s, "(") == 0;
}

static bool check_condition_name(struct checker *c, const struct ci_entry *e,
				 const struct ci_tok *t)
{
	const struct ci_param *q = check_find_param(e, t->s);

	if (strcmp(t[-1].s, ".") == 0 || strcmp(t[-1].s, "->") == 0 || known_to_ck_h(t))
		return true;
	if (q != NULL && (q->kind == CI_PARAM_NOCOPY || q->type.class_ == CI_PUP))
		return condition_error(c, t, "send what it needs as a plain value beside it",
				       ci_fmt(c->ci, "a condition cannot use '%s': it is unpacked "
					      "only for the handler", t->s));
	if (q != NULL || check_find_readonly(c, t->s) != NULL || c->module->includes != NULL ||
	    c->module->externs != NULL || c->parse_failed)
		return true;
	if (e->attrs & CI_COUNT)
		return check_is_capitals(t->s) ||
		       condition_error(c, t, ci_fmt(c->ci, "it may use the chare: self->%s", t->s),
				       ci_fmt(c->ci, "a count cannot use '%s': it is unknown here", t->s));
	return condition_error(c, t, ci_fmt(c->ci, "it may use the parameters and the chare: "
					    "self->%s", t->s),
			       ci_fmt(c->ci, "a condition cannot use '%s': it is unknown here",
				      t->s));
}

/* The count is evaluated when the first call of a round comes, so it may use what all calls of the
 * round have in common. */
static bool check_count_name(struct checker *c, const struct ci_entry *e, const struct ci_tok *t)
{
	const struct ci_param *q = check_find_param(e, t->s);

	if (q == NULL || q == e->round || strcmp(t[-1].s, ".") == 0 || strcmp(t[-1].s, "->") == 0)
		return check_condition_name(c, e, t);
	return condition_error(c, t, q->kind == CI_PARAM_VALUE && strcmp(q->type.text, "int") == 0 ?
			       ci_fmt(c->ci, "if it is the number of the round, name it last: [count(4, %s)]", t->s) :
			       "it may use the chare, as in self->n, and the number of the round",
			       ci_fmt(c->ci, "a count cannot use '%s': it may differ between the calls of a round",
				      t->s));
}

static bool check_name(struct checker *c, const struct ci_entry *e, const struct ci_tok *t)
{
	return e->attrs & CI_COUNT ? check_count_name(c, e, t) : check_condition_name(c, e, t);
}

static bool check_condition_token(struct checker *c, const struct ci_entry *e,
				  const struct ci_tok *t)
{
	const bool count = e->attrs & CI_COUNT;
	bool twice = (*t->s == '+' || *t->s == '-') && t->len == 1 && strcmp(t->s, t[1].s) == 0 &&
		     adjacent(t);

	if (t->kind == TOK_NAME)
		return check_name(c, e, t);
	if (strcmp(t->s, "=") == 0 || twice)
		return condition_error(c, t, twice ? "change it in the handler" :
				       "write == to compare; change it in the handler",
				       count ? "a count must not change anything: it says how many calls a round has" :
				       "a condition must not change anything: it is evaluated again and "
				       "again");
	if (t->kind == TOK_DIRECTIVE || (t->kind == TOK_BAD && *t->s != '\'') ||
	    strcmp(t->s, ";") == 0 || strcmp(t->s, "{") == 0 || strcmp(t->s, "}") == 0)
		return condition_error(c, t, NULL,
				       ci_fmt(c->ci, "'%.40s' is not allowed in a %s", t->s,
					      count ? "count" : "condition"));
	return true;
}

static bool check_expression(struct checker *c, const struct ci_entry *e, const struct ci_expr *x,
			     const char *help, const char *empty)
{
	if (x->from == x->to)
		return condition_error(c, x->to, help, empty);
	for (const struct ci_tok *t = x->from; t != x->to; t++) {
		if (!check_condition_token(c, e, t))
			return false;
	}
	return true;
}

static bool check_condition(struct checker *c, const struct ci_entry *e)
{
	return !(e->attrs & CI_WHEN) ||
	       check_expression(c, e, &e->when, "write the condition: [when(n == self->n)]",
				"the condition is empty");
}

/* ---- the count ------------------------------------------------------------------------------ */

/* The last comma outside of parentheses, or NULL. */
static const struct ci_tok *last_comma(const struct ci_expr *x)
{
	const struct ci_tok *comma = NULL;
	int depth = 0;

	for (const struct ci_tok *t = x->from; t != x->to; t++) {
		depth += strcmp(t->s, "(") == 0 || strcmp(t->s, "[") == 0;
		depth -= strcmp(t->s, ")") == 0 || strcmp(t->s, "]") == 0;
		if (depth == 0 && strcmp(t->s, ",") == 0)
			comma = t;
	}
	return comma;
}

/* [count(n, round)]: split off the name of the parameter that numbers the rounds. The puts of a
 * channel are in order, so a set of channels needs none. */
static bool take_round(struct checker *c, struct ci_entry *e)
{
	const struct ci_tok *comma = last_comma(&e->count);
	const struct ci_param *q = NULL;

	if (comma == NULL)
		return true;
	if (e->attrs & CI_ARRIVAL)
		return condition_error(c, comma + 1, "write an entry method for each set of channels",
				       "the rounds of channels have no numbers");
	if (comma + 2 == e->count.to)
		q = check_find_param(e, comma[1].s);
	if (q == NULL || q->kind != CI_PARAM_VALUE || q->type.stars != 0 ||
	    strcmp(q->type.text, "int") != 0)
		return condition_error(c, comma + 1 != e->count.to ? comma + 1 : comma,
				       "name a parameter that is an int, as in '[count(n, iter)] void f(int iter)'; "
				       "without one, the reference number numbers the rounds",
				       "this is not the number of a round");
	e->round = q;
	e->count.to = comma;
	return true;
}

static bool check_count(struct checker *c, struct ci_entry *e)
{
	return !(e->attrs & CI_COUNT) ||
	       (take_round(c, e) &&
		check_expression(c, e, &e->count, "write how many calls a round has: [count(self->n)]",
				 "the count is empty"));
}

/* ---- the answer ----------------------------------------------------------------------------- */

static bool answer_error(struct checker *c, const struct ci_entry *e, const char *help)
{
	ci_error(c->ci, e->answer.tok->at, help,
		 "the answer of '%s' is sent: it cannot be '%s%s'", e->name, e->answer.text,
		 e->answer.stars == 0 ? "" : e->answer.stars == 1 ? " *" : " **");
	return false;
}

/* `M *f()`: M is a message, perhaps of another file. */
static bool check_message_answer(struct checker *c, struct ci_entry *e)
{
	static const char help[] = "return a value or a message; for an array, return a message "
				   "with a variable array";
	enum ci_param_kind kind = CI_PARAM_VALUE;

	if (e->answer.stars != 1 || e->answer.class_ != CI_USER)
		return answer_error(c, e, help);
	return check_pointer_type(c, &e->answer, "answer", &kind) &&
	       (kind == CI_PARAM_MESSAGE || kind == CI_PARAM_REDUCTION ||
		answer_error(c, e, help));
}

/* The answer says whether the entry method is to be called again. */
static bool check_whenidle(struct checker *c, const struct ci_entry *e)
{
	const char *t = e->answer.text;

	if (!(e->attrs & CI_WHENIDLE) ||
	    (e->params == NULL && t != NULL && e->answer.stars == 0 &&
	     (strcmp(t, "bool") == 0 || strcmp(t, "_Bool") == 0)))
		return true;
	return refuse(c, e, CI_WHENIDLE, ci_fmt(c->ci, "write 'entry [whenidle] bool %s();': true "
						"asks to be called again", e->name),
		      "has no parameters and returns bool");
}

/* The number distinguishes the element's channels that have this entry method. With [count] all of
 * them have arrived. */
static bool check_arrival(struct checker *c, const struct ci_entry *e)
{
	const struct ci_param *q = e->params;

	if (!(e->attrs & CI_ARRIVAL))
		return true;
	c->module->has_arrivals = true;
	if (e->attrs & CI_COUNT)
		return q == NULL || refuse(c, e, CI_ARRIVAL,
					   ci_fmt(c->ci, "write 'entry [arrival, count(n)] void %s();'", e->name),
					   "has no parameters with [count], as it is called once for n channels");
	if (q != NULL && q->next == NULL && q->kind == CI_PARAM_VALUE && q->type.stars == 0 &&
	    strcmp(q->type.text, "int") == 0)
		return true;
	return refuse(c, e, CI_ARRIVAL, ci_fmt(c->ci, "write 'entry [arrival] void %s(int tag);'", e->name),
		      "has one parameter, the channel's tag, which is an int");
}

static bool check_answer(struct checker *c, struct ci_entry *e)
{
	struct ci_type *type = &e->answer;

	if (type->text == NULL || (type->class_ == CI_VOID && type->stars == 0))
		return true;
	if (type->stars != 0 && (e->attrs & CI_LOCAL))
		return true;    /* a result on the same PE: the C compiler checks it */
	if (type->stars != 0)
		return check_message_answer(c, e);
	if (strcmp(type->text, "string") == 0)
		return answer_error(c, e, "return a message with a variable array of char");
	if (check_find_message(c, type->text) != NULL)
		return answer_error(c, e, ci_fmt(c->ci, "write '%s *%s(...)'", type->text, e->name));
	if (!check_value_type(c, type))
		return false;
	if (type->class_ == CI_PUP && (e->attrs & CI_SYNC))
		return answer_error(c, e, "return a message, or send it back as a parameter, which is "
				    "packed");
	return true;
}

bool check_attributes(struct checker *c, const struct ci_chare *chare, struct ci_entry *e)
{
	if (!check_conflicts(c, e) || !check_places(c, chare, e))
		return false;
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (!check_params(c, e, q))
			return false;
	}
	return check_whenidle(c, e) && check_arrival(c, e) && check_condition(c, e) && check_count(c, e) &&
	       check_answer(c, e);
}
