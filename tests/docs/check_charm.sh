#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_charm.sh [--self-test]: docs/CHARM.md says what the tree has. One line per failure; exit
# code 1 if any.
#
#   1. Every file that it names exists.
#   2. Every row of a table with the column "shown by" names a file there, or says why not.
#   3. Every name of ours is one: Ck..., Cth... and so on are declared in a public header or are
#      variables in docs/GUIDE.md; X_..., M_..., T_... come out of ckci; attributes are known to it.
#      The first column of a table has Charm++'s names and is not looked at.
#   4. Code between ``` that is said to come from a file does, line by line; here, in GUIDE.md, CHANNELS.md and
#      HALO.md.
#      All C in CHARM.md is. A line "..." stands for what is left out.
#
# CKCI=path: the compiler, default build/bin/ckci. --self-test plants mistakes in a copy, which must
# be found.
set -u
cd "$(dirname "$0")/../.." || exit 1
CKCI=${CKCI:-build/bin/ckci}
HEADERS=$(find runtime -name ck.h -o -name cklb.h -o -name ckdirect.h -o -name ckchannel.h -o -name ckembed.h -o -name cth.h -o -name csd.h) # in any folder
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT INT TERM
word='[A-Za-z_][A-Za-z0-9_]*'

# ---- what there is --------------------------------------------------------------------------

# shellcheck disable=SC2086
cat $HEADERS | awk '{
	for (;;) {
		if (inside) {
			if (!(at = index($0, "*/"))) next
			$0 = substr($0, at + 2)
			inside = 0
		}
		if (!(at = index($0, "/*"))) break
		print substr($0, 1, at - 1)
		$0 = substr($0, at + 2)
		inside = 1
	}
	print
}' | grep -oE "$word" >"$tmp/words"
grep -oE '^\| *`CK_[A-Z0-9_]+' docs/GUIDE.md | grep -oE 'CK_[A-Z0-9_]+' >>"$tmp/words"

# Everything that ckci makes of a chare X, messages M and a type T.
n=0
for kind in chare 'array [1D]' 'array [2D]' group nodegroup; do
	for entry in 'void f(int a)' '[reductiontarget] void f(int a)' '[sync] int f(int a)' \
			'void f(int n, nocopypost int v[n])'; do
		n=$((n + 1))
		printf 'module m%d {\npup T;\nmessage %s;\n%s X { entry X(); entry %s; entry void g(T t); };\n}\n' \
			$n "$([ $n = 1 ] && echo '[packed] M' || echo 'M { int a[]; int b[]; }')" "$kind" \
			"$entry" >"$tmp/m.ci"
		"$CKCI" -o "$tmp" "$tmp/m.ci" || exit 1
	done
done
printf 'module mi {\ngroup X { readonly int n; entry X(); entry [whenidle] bool f(); };\n}\n' >"$tmp/m.ci"
"$CKCI" -o "$tmp" "$tmp/m.ci" || exit 1
printf 'module ma {\narray [1D] X { entry X(); entry [arrival] void f(int tag); };\n}\n' >"$tmp/m.ci"
"$CKCI" -o "$tmp" "$tmp/m.ci" || exit 1
printf 'module mc {\narray [1D] X { entry X(); entry [channel] void f(int n, double v[n]); };\n}\n' >"$tmp/m.ci"
"$CKCI" -o "$tmp" "$tmp/m.ci" || exit 1
printf 'module mp {\npup X [on_arrived];\narray [1D] X { entry X(); };\n}\n' >"$tmp/m.ci"
"$CKCI" -o "$tmp" "$tmp/m.ci" || exit 1
cat "$tmp"/m*.decl.h "$tmp"/m*.def.h | grep -oE "$word" >>"$tmp/words"
sort -u "$tmp/words" -o "$tmp/words"
sed -n '/attributes_known\[\] = {/,/^};/p' ci-compiler/parse_chare.c | grep 'NULL}' |
	grep -oE '"[a-z]+"' | tr -d '"' | sort -u >"$tmp/attributes"
sed -n '/^static bool message_attributes/,/^}/p' ci-compiler/parse.c | grep -oE 'p_accept\(p, "[a-z]+"' |
	grep -oE '[a-z]+"' | tr -d '"' >>"$tmp/attributes" # those of messages
sed -n '/^static bool attribute/,/^}/p' ci-compiler/parse_pup.c | grep -oE 'p_accept\(p, "[a-z_]+"' |
	grep -oE '[a-z_]+"' | tr -d '"' >>"$tmp/attributes" # of pup X
[ -s "$tmp/attributes" ] || { echo "check_charm: no attributes found in ckci"; exit 1; }

find tests examples docs bench runtime >"$tmp/paths"

# ---- what the page says ----------------------------------------------------------------------

# Of each line without fences "line TAB what we say": of a row all but its first cell.
ours() {
	awk '/^```/ { fence = !fence; next } fence { next }
	/^\|/ {
		gsub(/\\\|/, " ")
		cells = split($0, cell, "|")
		$0 = ""
		for (i = 3; i < cells; i++) $0 = $0 " " cell[i]
	}
	{
		n = split($0, part, "`")
		for (i = 2; i < n; i += 2) print NR "\t" part[i]
	}' "$1"
}

rows() { # file: rows that show nothing and give no reason
	awk -F '|' '/^\| Charm\+\+ / { shown = $4 ~ /shown by/; next }
	!/^\|/ { shown = 0 }
	shown && !/^\|-/ && $4 !~ /`tests\// && $3 !~ /\*\*(Not C|Later)\*\*/ { print NR }' "$1"
}

names() { # file
	ours "$1" | awk -F '\t' -v words="$tmp/words" -v attributes="$tmp/attributes" -v paths="$tmp/paths" '
	BEGIN {
		while ((getline w < words) > 0) word[w]
		while ((getline w < attributes) > 0) attribute[w]
		while ((getline w < paths) > 0) path[w]
	}
	$2 ~ /^(tests|examples|docs|bench|runtime)\// {
		if (!($2 in path)) print $1 ": there is no " $2
		next
	}
	{
		rest = $2
		while (match(rest, /[A-Za-z_][A-Za-z0-9_]*/)) {
			w = substr(rest, RSTART, RLENGTH)
			bracket = substr(rest, RSTART - 1, 1) == "[" && (RSTART == 2 ||
				substr(rest, RSTART - 2, 1) !~ /[A-Za-z0-9_]/)
			rest = "0" substr(rest, RSTART + RLENGTH)
			if (w ~ /^((Ck|CK_|CK[A-Z]|Cth|Ctv|Ccd|Csd|Cmi|CProxy|pup_).*|[XMT]_.+)$/ && !(w in word))
				print $1 ": there is no " w
			if (bracket && !(w in attribute)) print $1 ": there is no attribute " w
		}
	}'
}

# Marked blocks against their files; pieces between blank lines and "..." must be there as they stand.
blocks() { # file, whether all must be marked
	awk -v all="$2" '
	function bare(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }
	function check_piece() {
		if (piece != "" && !index(text, "\n" piece)) {
			sub(/\n.*/, "", piece)
			print start ": not in " from ": " piece
		}
		piece = ""
	}
	/^<!-- from .* -->$/ { from = $3; marked = NR; next }
	/^```/ && !fence {
		fence = 1
		kind = substr($0, 4)
		if (marked != NR - 1) from = ""
		if (from == "") {
			if (all && (kind == "c" || kind == "ci")) print NR ": code that comes from nowhere"
			next
		}
		text = "\n"
		n = 0
		while ((getline line < from) > 0) {
			if (bare(line) != "") text = text bare(line) "\n"
			n++
		}
		close(from)
		if (!n) print NR ": there is no " from
		next
	}
	/^```/ { if (from != "") check_piece(); fence = 0; next }
	fence && from != "" {
		if (bare($0) == "" || bare($0) == "...") { check_piece(); next }
		if (piece == "") start = NR
		piece = piece bare($0) "\n"
	}' "$1"
}

check() { # CHARM.md or a copy
	rows "$1" | sed 's/$/: neither a test nor a reason/'
	names "$1"
	blocks "$1" 1
}

# ---- and whether this script sees it ----------------------------------------------------------

plant() { # sed command: what it does to the page must be found, where the page is else right
	sed "$1" docs/CHARM.md >"$tmp/page.md"
	cmp -s docs/CHARM.md "$tmp/page.md" && echo "self-test: $1 changed nothing"
	[ -n "$(check "$tmp/page.md")" ] || echo "self-test: $1 was not found"
}

self_test() {
	plant 's|tests/programs/threaded.c|tests/programs/thread.c|'
	plant '0,/`CkContributeBarrier/s//`CkContributeBarrierX/'
	plant 's/`CthYield`/`CthYeild`/'
	plant 's/`CtvAccess`/`CtvAcess`/'
	plant 's/| `X_f_sync(e, a)`/| `X_f_wait(e, a)`/'
	plant 's/`\[exclusive\]`, for nodegroups/`[exclusiv]`, for nodegroups/'
	plant 's/CK_SEED=random/CK_SEEDS=random/'
	plant 's/self->n = n;/self->n = n + 1;/'
	plant 's/<!-- from tests.programs.pi.c -->//'
	plant 's/^\(| `sync` |.*\) | `tests.*/\1 | |/'
}

wrong=$(check docs/CHARM.md | sed 's|^|docs/CHARM.md:|'; for d in docs/GUIDE.md docs/CHANNELS.md docs/HALO.md; do blocks $d 0 | sed "s|^|$d:|"; done)
[ -n "$wrong" ] || [ "${1:-}" != --self-test ] || wrong=$(self_test)
[ -z "$wrong" ] && exit 0
echo "$wrong"
exit 1
