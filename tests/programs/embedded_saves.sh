#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# embedded_saves.sh PROGRAM NODES PES: a host program saves the chares in it, and starts from that. The folder has both
#	checkpoints then, and nothing half written.
set -u
dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT
"$1" "$dir/ck" "$2" "$3" || exit
[ "$(ls "$dir/ck" | tr '\n' ' ')" = 'ck-000001 ck-000002 latest ' ] || {
	echo "it left: $(ls "$dir/ck")"
	exit 1
}
