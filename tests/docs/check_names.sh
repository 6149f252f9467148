#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_names.sh: the documents say what the tree says. One line per failure; exit code 1 if any.
#
#   1. Every name in `code` quotes of docs/ARCHITECTURE.md and docs/decisions/ occurs in the sources;
#      every file and folder there exists.
#   2. `name` (`file`), and `name` | `file` in a table: the name occurs in that file. In all documents
#      `bench/x`, `examples/x` and the like are programs, files or folders.
#   3. Every page of docs/decisions/ has its number, its date and its parts, and the index lists it.
#   4. Every CK_* variable that the code reads or sets is in docs/GUIDE.md, and no other one is in
#      its table.
#   5. Every relative link in the documents leads to a file, and to a heading where it names one.
#   6. Every Ck... name in the other documents is in the sources (CHARM.md: check_charm.sh).
#   7. The C blocks of README.md are examples/hello, whole and in order.
#   8. No cell of a table has more than 60 words.
#
# Files are found by the end of their paths, so pages may name them without their folders, and
# folders of runtime/ may have folders. Fenced blocks are not looked at. When nothing is wrong, it
# plants mistakes in a copy, which must be found. Run it from anywhere; it needs a POSIX shell, grep
# and awk.
# shellcheck disable=SC2013 # the loops are over words
# shellcheck disable=SC2016 # backquotes are the documents'
set -u
cd "$(dirname "$0")/../.." || exit 1
SRC="runtime ci-compiler launcher trace-reader image-reader job-control examples tests bench packaging Makefile chard.mk chard.pc.in"
GUIDE=docs/GUIDE.md
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT INT TERM
tree=$PWD
failures=$tmp/failures
: >"$failures"
fail() { echo "check_names: $*" >>"$failures"; }

# shellcheck disable=SC2086
{
	find $SRC docs ./*.md -type f | sed 's|^[.]/||'
	find $SRC docs -type d | sed 's|$|/|'
} >"$tmp/paths"
# shellcheck disable=SC2086
find $SRC -type f ! -path 'tests/docs/*' -exec cat {} + |
	LC_ALL=C grep -aoE '[A-Za-z_][A-Za-z0-9_]*' | LC_ALL=C sort -u >"$tmp/words"

# ---- names and files in `code` quotes -----------------------------------------------------------

is_file='^[A-Za-z0-9_./-]*([.](c|h|ci|sh|py|mk|md|in|1)|/|Makefile)$'

spans() { # page: what is quoted, as "line TAB span"
	awk '/^```/ { fence = !fence; next } !fence {
		n = split($0, part, "`")
		for (i = 2; i < n; i += 2) print NR "\t" part[i]
	}' "$1"
}

pairs() { # page: names with the file that they are said to be in, as "line TAB name TAB file"
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
	}' "$1"
}

check_words() { # page; spans on standard input
	awk -F '\t' -v page="$1" -v words="$tmp/words" '
	BEGIN { while ((getline w < words) > 0) word[w] }
	{
		rest = $2
		while (match(rest, /[A-Za-z_][A-Za-z0-9_]*/)) {
			w = substr(rest, RSTART, RLENGTH)
			rest = "0" substr(rest, RSTART + RLENGTH)
			if (!(w in word)) print "check_names: " page ":" $1 ": \"" w "\" is nowhere in the sources"
		}
	}' >>"$failures"
}

check_paths() { # page; spans on standard input: each is the end of a file's or folder's path
	awk -F '\t' -v page="$1" -v paths="$tmp/paths" '
	BEGIN {
		while ((getline path < paths) > 0)
			for (end = path; ; end = substr(end, at + 1)) {
				there[end]
				if (!(at = index(end, "/")) || at == length(end)) break
			}
	}
	!($2 in there) { print "check_names: " page ":" $1 ": there is no " $2 }' >>"$failures"
}

check_programs() { # page: what is quoted with its folder is there; a program by its source
	spans "$1" | awk -F '\t' -v page="$1" -v paths="$tmp/paths" '
	BEGIN { while ((getline path < paths) > 0) there[path] }
	{
		sub(/ .*/, "", $2)
		if ($2 !~ /^(bench|ci-compiler|docs|examples|launcher|runtime|tests)\//) next
		if (!($2 in there) && !($2 "/" in there) && !($2 ".c" in there))
			print "check_names: " page ":" $1 ": there is no " $2
	}' >>"$failures"
}

check_pairs() { # page; pairs on standard input
	while IFS=$tab read -r line span file; do
		found=$(awk -v f="$file" '!/\/$/ && ($0 == f || substr($0, length($0) - length(f)) == "/" f)' \
			"$tmp/paths")
		[ -n "$found" ] || continue # check_paths has said it, or it is a folder
		for word in $(echo "$span" | LC_ALL=C grep -oE '[A-Za-z_][A-Za-z0-9_]*'); do
			# shellcheck disable=SC2086
			grep -qw -- "$word" $found || fail "$1:$line: '$word' is not in $file"
		done
	done
}

check_page() { # page
	spans "$1" >"$tmp/spans"
	grep -E "^[0-9]+$tab${is_file#^}" "$tmp/spans" | check_paths "$1"
	grep -vE "^[0-9]+$tab${is_file#^}" "$tmp/spans" | check_words "$1"
	pairs "$1" | check_pairs "$1"
}

check_publics() { # page: our public names; CkNcpyBuffer is Charm++'s, and the text says so
	LC_ALL=C grep -nowE '(Ck|CK|Cmi|Csd|Ccd)[A-Za-z0-9_]+' "$1" | grep -v ':CkNcpyBuffer$' |
		tr : '\t' | check_words "$1"
}

# ---- the pages of decisions ---------------------------------------------------------------------

check_decision() { # page
	name=${1##*/}
	number=$(expr "$name" : '0*\([0-9]*\)')
	head -n 2 "$1" | grep -q "^# ${number}[.] " || fail "$1: its title does not begin with $number."
	grep -qE '^Date: .* Status: .*[.]$' "$1" || fail "$1: no line with date and status"
	for part in Context Decision Figures Rejected; do
		grep -qx "## $part" "$1" || fail "$1: no part '$part'"
	done
	grep -qF "($name)" docs/decisions/README.md || fail "$1: docs/decisions/README.md does not list it"
}

# ---- links --------------------------------------------------------------------------------------

headings() { # page: the anchors that its headings make
	awk '/^```/ { fence = !fence; next } !fence && /^#+ / {
		sub(/^#+ /, "")
		gsub(/`/, "")
		$0 = tolower($0)
		gsub(/[^a-z0-9_ -]/, "")
		gsub(/ /, "-")
		print
	}' "$1"
}

check_links() { # page
	for link in $(awk '/^```/ { fence = !fence; next } !fence { gsub(/`[^`]*`/, ""); print }' "$1" |
		grep -oE '\]\([^) ]+' | cut -c3- | grep -v '^[a-z]*:'); do
		file=$(dirname "$1")/${link%%#*}
		[ -n "${link%%#*}" ] || file=$1
		if [ ! -e "$file" ]; then
			fail "$1: the link to $link leads nowhere"
		elif [ "$link" != "${link#*#}" ]; then
			headings "$file" | grep -qx -- "${link#*#}" || fail "$1: no heading for the link to $link"
		fi
	done
}

# ---- the environment ----------------------------------------------------------------------------

check_environment() { # numbers of the protocol (PMI_*) and UCX_* belong to others
	grep -rhoE '"CK_[A-Z0-9_]+"' --include='*.[ch]' runtime launcher | tr -d '"' | sort -u >"$tmp/read"
	grep -oE '^\| *`CK_[A-Z0-9_]+' "$GUIDE" | grep -oE 'CK_[A-Z0-9_]+' | sort -u >"$tmp/listed"
	for v in $(comm -23 "$tmp/read" "$tmp/listed"); do
		fail "$GUIDE: the code knows $v, the table of variables has no row for it"
	done
	for v in $(comm -13 "$tmp/read" "$tmp/listed"); do
		fail "$GUIDE: the table has $v, but nothing reads it"
	done
}

# ---- tables -------------------------------------------------------------------------------------

check_cells() { # page: a cell holds a phrase; what needs a paragraph stands under the table
	awk -v page="$1" '/^```/ { fence = !fence } fence || !/^\|/ { next } {
		cells = split($0, cell, "|")
		for (c = 2; c < cells; c++)
			if ((n = split(cell[c], word, " ")) > 60)
				print "check_names: " page ":" NR ": a cell of " n " words, more than 60"
	}' "$1" >>"$failures"
}

# ---- README.md ----------------------------------------------------------------------------------

check_readme() { # without the comments at the heads of the files, and empty lines
	awk '/^```/ { fence = $0 == "```c"; next } fence && NF' README.md >"$tmp/readme"
	cat examples/hello/hello.ci examples/hello/hello.c | grep -vE '^(/\*| \*|$)' >"$tmp/hello"
	diff "$tmp/hello" "$tmp/readme" >"$tmp/diff" ||
		fail "README.md: the program differs from examples/hello: $(sed -n 2p "$tmp/diff")"
}

# ---- and whether this script sees it ------------------------------------------------------------

plant() { # check, file, sed command: what the command does to the file must be found by the check
	sed "$3" "$2" >"$tmp/page"
	cmp -s "$2" "$tmp/page" && fail "self-test: $3 changed nothing in $2"
	cp "$tmp/page" "$tmp/tree/$2"
	: >"$tmp/planted"
	failures=$tmp/planted
	cd "$tmp/tree" || exit 1
	$1
	cd "$tree" || exit 1
	failures=$tmp/failures
	[ -s "$tmp/planted" ] || fail "self-test: $3 in $2 was not found"
	cp "$2" "$tmp/tree/$2"
}

self_test() {
	mkdir "$tmp/tree"
	cp -r docs ./*.md "$tmp/tree"
	for entry in $SRC; do ln -s "$tree/$entry" "$tmp/tree/$entry"; done
	page=$(echo docs/decisions/0001-*.md)
	plant "check_page docs/ARCHITECTURE.md" docs/ARCHITECTURE.md 's/`one_pass`/`one_pas`/'
	plant "check_page docs/ARCHITECTURE.md" docs/ARCHITECTURE.md 's/(`gen_pack.c`)/(`gen_sdag.c`)/'
	plant "check_page docs/ARCHITECTURE.md" docs/ARCHITECTURE.md 's|`runtime/direct/`|`runtime/indirect/`|'
	plant "check_page docs/ARCHITECTURE.md" docs/ARCHITECTURE.md 's/`idle.c`/`idler.c`/'
	plant "check_page $page" "$page" 's/`CkCallbackFunction`/`CkCallbackFunctoin`/'
	plant "check_decision $page" "$page" '/^## Figures/d'
	plant "check_decision $page" "$page" '/^Date: /d'
	plant "check_decision $page" "$page" 's/^# 1[.]/# 2./'
	plant "check_decision $page" docs/decisions/README.md "/${page##*/}/d"
	plant check_environment docs/GUIDE.md 's/^| `CK_STACK`/| `CK_STACKS`/'
	plant "check_links docs/GUIDE.md" docs/GUIDE.md 's/(CHARM.md)/(CHARMS.md)/'
	plant "check_links docs/GUIDE.md" docs/GUIDE.md 's/(#sections-and-small-calls)/(#sections-and-calls)/'
	plant "check_publics docs/PERFORMANCE.md" docs/PERFORMANCE.md 's/CkDirect_path/CkDirect_ways/'
	plant "check_programs docs/PERFORMANCE.md" docs/PERFORMANCE.md 's|`bench/transfer`|`bench/transfers`|'
	plant "check_links CONTRIBUTING.md" CONTRIBUTING.md 's/(SECURITY.md)/(SAFETY.md)/'
	plant "check_cells docs/CLUSTER.md" docs/CLUSTER.md 's/^| Open MPI | /&and so on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on /'
	plant check_readme README.md 's/CkExit(1);/CkExit(2);/'
}

tab=$(printf '\t')
for page in docs/ARCHITECTURE.md docs/decisions/*.md; do check_page "$page"; done
for page in docs/decisions/[0-9]*.md; do check_decision "$page"; done
for page in *.md docs/*.md docs/*/*.md; do
	check_links "$page"
	check_programs "$page"
	check_cells "$page"
done
check_environment
check_readme
for page in *.md docs/*.md; do
	[ "$page" = docs/CHARM.md ] || check_publics "$page" # half of its names are Charm++'s
done
[ -s "$failures" ] || self_test

cat "$failures"
[ ! -s "$failures" ]
