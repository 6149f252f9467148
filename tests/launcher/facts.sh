# SPDX-License-Identifier: Apache-2.0
#
# facts.sh: read by tests of launchers ("."): $here is their folder, $dir one of their own. outcome notes
# in $rc, $dir/out and $dir/err what a command does; fact says whether something holds.

here=$(cd "${BASH_SOURCE%/*}" && pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
facts=0 failed=0
fact() { # what, condition as a command
	local what=$1
	shift
	facts=$((facts + 1))
	if "$@"; then
		echo "ok    $what"
		return
	fi
	echo "FAIL  $what"
	failed=$((failed + 1))
	head -5 "$dir/out" | cut -c1-200 | sed 's/^/      out: /'
	head -8 "$dir/err" | cut -c1-200 | sed 's/^/      err: /'
	echo "      rc $rc"
	[ -z "$FAIL_FAST" ] || exit 1
}
skip() { echo "skip  $1: $2"; } # what, why

# The caller gives stdin. took_ms tells how long it took.
outcome() {
	local start=${EPOCHREALTIME/./}
	"$@" >"$dir/out" 2>"$dir/err"
	rc=$?
	took_ms=$(((${EPOCHREALTIME/./} - start) / 1000))
}
. "${BASH_SOURCE%/*}/../job.sh" # alive
