#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# lines.sh: for what is wrong in a program, the compiler names the line of the .ci file, or says what is wrong with a pup.

[ -z "$CKCI" ] || CKCI=$(realpath "$CKCI")
cd "$(dirname "$0")" || exit 1
. ./common.sh

"$CKCI" -o "$out" accept/hello.ci

# ---- #line ------------------------------------------------------------------------------------

# line NAME PATTERN: the compiler reports PATTERN for the program NAME.c
line() {
	check "#line: $1" reported "$tmp/$1.c" "$2"
}
reported() {
	if $CC -std=c11 $include -I"$tmp" -c "$1" -o "$tmp/x.o" 2>"$tmp/stderr"; then
		echo "it compiled"
		return 1
	fi
	cat "$tmp/stderr"
	grep -q "$2" "$tmp/stderr"
}

printf 'typedef struct wide { long a, b; } wide;\n' >"$tmp/wide.h"
printf 'module lost {\n  array [1D] A {\n    entry A();\n    entry void f(int n,\n%s' \
	'      Unknown u);
  };
};
' >"$tmp/lost.ci"
"$CKCI" -o "$tmp" "$tmp/lost.ci"
printf '#include "lost.decl.h"\nstruct A { int x; };\n#include "lost.def.h"\n' \
	>"$tmp/unknown_type.c"
line unknown_type "lost.ci:4:.*error: unknown type name .Unknown"
printf '#include "Hello.decl.h"\nstruct HelloMain { int x; };\n#include "Hello.def.h"\n' \
	>"$tmp/missing_struct.c"
line missing_struct "accept/hello.ci:[0-9]*:.*error: invalid application of .sizeof.*HelloArray"

# place NAME PATTERN TEXT: the same for a program with a module of that text, whose chare A has no member
# that the text names
place() {
	printf 'module place {\n%s\n}\n' "$3" >"$tmp/place.ci"
	printf '#include "place.decl.h"\nstruct A { int x; };\n#include "place.def.h"\n' \
		>"$tmp/$1.c"
	"$CKCI" -o "$tmp" "$tmp/place.ci" && line "$1" "$2"
}
place condition "place.ci:4:.*error: .*no member named .iter" '  array [1D] A {
    entry A();
    entry [when(n > 0 && n == self->iter)] void f(int n); };'
place wide_index "place.ci:3:.*error: static assertion failed: .*array A has more than 12" \
	'  include "wide.h";
  array [wide] A { entry A(); };'
place unknown_index "place.ci:2:.*error: .Unknown. undeclared" \
	'  array [Unknown] A { entry A(); };'
place unknown_target "place.ci:3:.*in expansion of macro .CKGEN_DATATYPE" \
	'  include "wide.h"; group A { entry A();
    entry [reductiontarget] void f(wide w); };'
place unknown_size "place.ci:2:.*error: .SIZE. undeclared" '  readonly int table[SIZE];'
place unknown_length "place.ci:3:.*error: .SIZE. undeclared" \
	'  group A { entry A();
    entry void f(double v[SIZE]); };'
place unknown_message "place.ci:4:.*error: unknown type name .M" \
	'  extern message M;
  group A { entry A();
    entry void f(M *m); };'
place unknown_pup "place.ci:2:.*error: unknown type name .Unknown" \
	'  pup Unknown; group A { entry A(Unknown x); };'
place unknown_answer "place.ci:3:.*error: unknown type name .Unknown" \
	'  group A { entry A();
    entry [sync] Unknown f(); };'
place stack_size "place.ci:3:.*error: .MUCH. undeclared" \
	'  group A { entry A();
    entry [threaded, stacksize=MUCH] void f(); };'

# The compiler finds a body's text where the user wrote it, to the column.
place serial_code "place.ci:5:34: error: .*no member named .y" \
	'  group A { entry A();
    entry void f() {
      serial { self->x = 0; // one
           /* two */ int z = self->y; (void)z; } }; };'
place when_number "place.ci:3:33: error: .*no member named .iter" \
	'  group A { entry A();
    entry void f() { when g[self->iter](int n) { } }; };'
place for_head "place.ci:4:14: error: .i. undeclared" \
	'  group A { entry A();
    entry void f() {
        for (i = 0; i < 3; i++) serial { self->x++; } } };'
place overlap_constant "place.ci:3:[0-9]*: error: increment of read-only variable .k" \
	'  group A { entry A();
    entry void f(int k) { overlap { { when g() {} when h() serial { k++; } } } } };'
place no_handler "place.ci:2:.*error: unknown type name .Unknown" \
	'  group A { entry A(); entry void f() { when g(Unknown u) {} } };'

# ---- lists of fields ---------------------------------------------------------------------------

# field NAME PATTERN STRUCT [LIST]: A's struct has the fields STRUCT, and pup A the list LIST, its fields a, b, c
# each on a line of its own from line 4 on. The compiler reports PATTERN.
field() {
	printf 'module field {\n  array [1D] A { entry A(); };\n  pup A {\n%s\n  };\n}\n' \
		"${4:-    int a;
    double b;
    char *c;}" >"$tmp/field.ci"
	printf '#include "field.decl.h"\ntypedef int row[2], *handle;\nstruct A { %s };\n#include "field.def.h"\n' "$3" >"$tmp/$1.c"
	"$CKCI" -o "$tmp" "$tmp/field.ci" && line "$1" "$2"
}
field before_the_first "field.ci:4:.*A: a field before .*a.* is missing in .*pup A" 'int x, a; double b; char *c;'
field between "field.ci:5:.*A: a field between .*a.* and .*b.* is missing in .*pup A" \
	'int a; double x, b; char *c;'
field before_a_pointer "field.ci:6:.*A: a field between .*b.* and .*c.* is missing in .*pup A" \
	'int a; double b; int x; char *c;'
field behind_the_last "field.ci:6:.*A: a field after .*c.* is missing in .*pup A" \
	'int a; double b; char *c; int x;'
field hidden_in_padding "ck_A_has_a_field_that_is_missing_in_pup_A" 'int a; int x; double b; char *c;'
field hidden_in_padding_place "field.ci:[45]:.*error: missing initializer for field" 'int a; short x; short b;' '    int a;
    short b;'
field hidden_at_the_end "field.ci:4:.*error: missing initializer for field" 'double a; char b; char x;' \
	'    double a; char b;'
field swapped "field.ci:5:.*A: .*b.* comes before .*a.* in the struct" 'double b; int a; char *c;'
field unknown "field.ci:6:.*no member named .c" 'int a; double b; char *d;'
field other_number "field.ci:4:.*error: .*incompatible pointer type" 'float a; double b; char *c;'
field unsigned_number "field.ci:4:.*error: pointer targets .* differ in signedness" 'unsigned a; double b; char *c;'
field other_length "field.ci:4:.*error: .*incompatible pointer type" 'int a[3];' '    int a[4];'
field array_for_pointer "field.ci:4:.*error: .*incompatible pointer type" 'int a[4];' '    int *a [4];'
field array_type "field.ci:4:.*A: .*a.* is an array or a pointer behind a typedef" 'row a;' '    row a;'
field pointer_type "field.ci:4:.*A: .*a.* is an array or a pointer behind a typedef" 'handle a;' '    handle a;'
field skipped_array "field.ci:4:.*A: .*a.* is an array; write .*skip a\[\]" 'int a[2];' '    skip a;'
field skipped_number "field.ci:4:.*A: .*a.* is not an array; write .*skip a" 'int a;' '    skip a[];'
field count "field.ci:5:.*error: request for member .m" 'int a; int *b;' '    int a;
    int *b [self->a.m];'
# What moves with channels: buffers, ends, rows of both.
ends='    int n;
    direct double *in[2] [self->n];
    CkChannel *from[2] = self->in[i];
    CkChannel **to [self->n] = self->in[0] + i;'
field missing_end "field.ci:6:.*A: a field between .*in.* and .*from.* is missing in .*pup A" \
	'int n; double *in[2]; CkChannel *other; CkChannel *from[2]; CkChannel **to;' "$ends"
field missing_buffer "field.ci:5:.*A: a field between .*n.* and .*in.* is missing in .*pup A" \
	'int n; double *out[2]; double *in[2]; CkChannel *from[2]; CkChannel **to;' "$ends"
field missing_row "field.ci:7:.*A: a field after .*to.* is missing in .*pup A" \
	'int n; double *in[2]; CkChannel *from[2]; CkChannel **to, **last;' "$ends"
field fewer_ends "field.ci:6:.*error: .*incompatible pointer type" 'int n; double *in[2]; CkChannel *from[3]; CkChannel **to;' "$ends"
field one_end "field.ci:6:.*error: .*incompatible pointer type" 'int n; double *in[2]; CkChannel *from; CkChannel **to;' "$ends"
field number_for_buffer "field.ci:5:.*error: .*makes pointer from integer" 'int n; CkChannel *from;' '    int n;
    CkChannel *from = self->n;'
field row_length "field.ci:5:.*error: .*self.* undeclared" 'int n; double *in[2];' '    int n;
    double *in[self->n] [2];'
printf '#include "field.decl.h"\nstruct A { int a; };\nvoid A_on_arrived(A *self) { (void)self; }\n' >"$tmp/uncalled.c"
line uncalled "uncalled.c:3:.*error: .A_on_arrived. redeclared"

told
