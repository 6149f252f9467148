#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_names.sh: the documents say what the tree says. One line per failure; exit code 1 if any.
#
#   1. Every name in `code` quotes of docs/ARCHITECTURE.md occurs in the sources, every file
#      there exists.
#   2. `name` (`file`), and `name` | `file` in a table: the name occurs in that file.
#   3. Every CK_* variable that the code reads or sets is in docs/GUIDE.md, and no other one is in
#      its table.
#   4. Every relative link in the documents leads to a file.
#   5. Every Ck... name in the other documents is in the sources (CHARM.md: check_charm.sh).
#   6. The C blocks of README.md are examples/hello, whole and in order.
#
# Fenced blocks are not looked at. Run it from anywhere; it needs a POSIX shell, grep and awk.
# shellcheck disable=SC2013 # the loops are over words
set -u
cd "$(dirname "$0")/../.." || exit 1
SRC="runtime ci-compiler launcher examples tests bench Makefile chard.mk chard.pc.in"
ARCH=docs/ARCHITECTURE.md
GUIDE=docs/GUIDE.md
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT INT TERM
: >"$tmp/failures"
fail() { echo "check_names: $*" >>"$tmp/failures"; }

# shellcheck disable=SC2086
find $SRC docs README.md -type f ! -path 'tests/docs/*' | sort >"$tmp/files"
# shellcheck disable=SC2086
find $SRC -type f ! -path 'tests/docs/*' -exec cat {} + |
	LC_ALL=C grep -aoE '[A-Za-z_][A-Za-z0-9_]*' | LC_ALL=C sort -u >"$tmp/words"

# find_file SPAN: the tree's files that the span means, by its whole path or its end.
find_file() {
	awk -v f="$1" '$0 == f || substr($0, length($0) - length(f)) == "/" f' "$tmp/files"
}

# What is quoted: "line TAB span"; then pairs "line TAB name TAB file".
awk '/^```/ { fence = !fence; next } !fence {
	n = split($0, part, "`")
	for (i = 2; i < n; i += 2) print NR "\t" part[i]
}' "$ARCH" >"$tmp/spans"
is_file='^[A-Za-z0-9_./-]*([.](c|h|ci|sh|mk|md|in|1)|/|Makefile)$'
awk -v is_file="$is_file" '/^```/ { fence = !fence; next } !fence {
	n = split($0, part, "`")
	for (i = 2; i + 2 < n; i += 2)
		if (part[i + 1] == " (" && part[i + 2] ~ is_file && part[i] !~ is_file)
			print NR "\t" part[i] "\t" part[i + 2]
	if ($0 !~ /^\|/) next
	cells = split($0, cell, "|")
	for (c = 2; c < cells; c++) {
		if (split(cell[c + 1], file, "`") != 3 || file[2] !~ is_file) continue
		n = split(cell[c], part, "`")
		for (i = 2; i < n; i += 2)
			if (part[i] !~ is_file) print NR "\t" part[i] "\t" file[2]
	}
}' "$ARCH" >"$tmp/pairs"

tab=$(printf '\t')
while IFS=$tab read -r line span; do
	if echo "$span" | grep -qE "$is_file"; then
		case $span in
		*/) [ -d "$span" ] || [ -d "runtime/$span" ] || fail "$ARCH:$line: no folder $span" ;;
		*) [ -n "$(find_file "$span")" ] || [ -f "$span" ] || fail "$ARCH:$line: no file $span" ;;
		esac
		continue
	fi
	for word in $(echo "$span" | LC_ALL=C grep -oE '[A-Za-z_][A-Za-z0-9_]*'); do
		LC_ALL=C grep -qx -- "$word" "$tmp/words" ||
			fail "$ARCH:$line: '$word' is nowhere in the sources (in \`$span\`)"
	done
done <"$tmp/spans"

while IFS=$tab read -r line span file; do
	found=$(find_file "$file")
	[ -n "$found" ] || continue # reported above
	for word in $(echo "$span" | LC_ALL=C grep -oE '[A-Za-z_][A-Za-z0-9_]*'); do
		# shellcheck disable=SC2086
		grep -qw -- "$word" $found || fail "$ARCH:$line: '$word' is not in $file"
	done
done <"$tmp/pairs"

# The environment. Numbers of the protocol (PMI_*) and UCX_* belong to others.
grep -rhoE '(getenv|env_[a-z]+|setenv|set_number)\("CK_[A-Z0-9_]+"' runtime launcher |
	grep -oE 'CK_[A-Z0-9_]+' | sort -u >"$tmp/read"
grep -E '^\| *`CK_' "$GUIDE" | grep -oE '^\| *`CK_[A-Z0-9_]+' | grep -oE 'CK_[A-Z0-9_]+' |
	sort -u >"$tmp/listed"
for v in $(comm -23 "$tmp/read" "$tmp/listed"); do
	fail "$GUIDE: the code reads $v, the table of variables has no row for it"
done
for v in $(comm -13 "$tmp/read" "$tmp/listed"); do
	fail "$GUIDE: the table has $v, but nothing reads it"
done

for doc in README.md docs/*.md; do
	for link in $(awk '/^```/ { fence = !fence; next } !fence { gsub(/`[^`]*`/, ""); print }' "$doc" |
		grep -oE '\]\([^)#]+' | cut -c3- | grep -v '^[a-z]*:'); do
		[ -e "$(dirname "$doc")/$link" ] || fail "$doc: the link to $link leads nowhere"
	done
done

for doc in README.md docs/*.md; do
	[ "$doc" != docs/CHARM.md ] || continue # half of its names are Charm++'s: check_charm.sh
	for word in $(LC_ALL=C grep -ohE '\b(Ck|CK|Cmi|Csd|Ccd)[A-Za-z0-9_]+' "$doc" | sort -u); do
		# CkNcpyBuffer is Charm++'s; the text says so.
		[ "$word" = CkNcpyBuffer ] || LC_ALL=C grep -qx -- "$word" "$tmp/words" ||
			fail "$doc: '$word' is nowhere in the sources"
	done
done

# Without the comments at their heads, and empty lines.
awk '/^```/ { fence = $0 == "```c"; next } fence && NF' README.md >"$tmp/readme"
cat examples/hello/hello.ci examples/hello/hello.c | grep -vE '^(/\*| \*|$)' >"$tmp/hello"
diff "$tmp/hello" "$tmp/readme" >"$tmp/diff" ||
	fail "README.md: the program differs from examples/hello: $(sed -n 2p "$tmp/diff")"

cat "$tmp/failures"
[ ! -s "$tmp/failures" ]
