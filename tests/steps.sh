# SPDX-License-Identifier: Apache-2.0
#
# steps.sh: read by the tests that do one thing after the other ("." from the top folder): a folder that goes at the end,
# $tmp, and step, which runs a command and says whether it went well; $failed is 1 after one that did not.

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

step() { # name, command...
	local name=$1
	shift
	if "$@" >"$tmp/log" 2>&1; then
		echo "ok $name"
	else
		echo "FAIL $name"
		tail -20 "$tmp/log"
		failed=1
	fi
}
