#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# across.sh BUILD WORD: the instructions of one call between two processes of a host, as valgrind counts them in
# bench/across. Prints `name 0 value instructions`:
#	across-send-instructions     of a plain call with one int, from the stub to the machine layer
#	across-receive-instructions  from the machine layer to the end of the handler
# These are with the word count. With array, string, struct or message the call has 8 bytes more in such a parameter, or is a message object. With
# `lease` the called element has moved there from a third process, its home, and the caller has a lease of it:
#	across-array-send-instructions, across-array-receive-instructions, ...
# All but the first two count the stub, too, and the search for the home PE (17 instructions).
set -u
more=
build=${1:?usage: across.sh BUILD WORD}
word=${2:?usage: across.sh BUILD WORD}
case $word in
count) pes=2 name=across ;;
array | string | struct | message)
	pes=2 name=across-$word
	more='across[.]d|/string/|csd_check' ;;
lease) pes=3 name=across-lease ;;
*) echo "across.sh: unknown word $word; it is count, array, string, struct, message or lease" >&2; exit 2 ;;
esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

mkfifo "$dir/pipe" || exit 1
ACROSS_PIPE="$dir/pipe" "$build/bin/ckrun" -n $pes valgrind --tool=callgrind --callgrind-out-file="$dir/count.%p" \
	--zero-before='counting_begins*' --dump-before='sending_ends*' --dump-before='receiving_ends*' \
	"$build/bench/across" "$word" >"$dir/out" 2>&1 || { tail -5 "$dir/out" >&2; exit 1; }
# How many calls each side counts: see bench/across.c. `more`: with all of the chare layer, but for the handler that sends. Only what the scheduler and the chare layer do is counted, because
# valgrind lets the nodes of a host map no memory of each other, and the calls go through UCX.
for count in "$dir"/count.*; do
	case $(sed -n 's/^desc: Trigger:.*before=//p' "$count") in
	sending_ends) side=send calls=36 room=
		names='CkGen_openClass|open_away|CkGen_close|csd_send_away|route_to_pe|flow_send'
		[ $pes = 2 ] || names="$names|open_[a-z]*|address|home_in_blocks" ;;
	receiving_ends) side=receive calls=32 room=
		names='client_arrived|msgq_push|run_queue|dispatch_marked|dispatch_remote|element_arrived|element_came|run_and_free|flow_consumed'
		# It takes a longer way through the chare layer, all of which counts.
		[ $pes = 2 ] || { room=runtime/chare/; names="$names|csd_check"; } ;;
	*) continue ;;
	esac
	callgrind_annotate --inclusive=no --auto=no --threshold=100 "$count" | tr -d , | awk -v names=":($names)([.].*)?( |$)" -v n=$calls -v s=$side -v room="$room" -v more="$more" -v name=$name '
		more != "" && ($0 ~ more || /runtime.chare/) && !/:(element_(came|arrived)|ck_call_End_burst|main)( |$)/ { sum += $1; next }
		($0 ~ names && /runtime/) || (room != "" && index($0, room)) { sum += $1 }
		END { printf "%s-%s-instructions 0 %.1f instructions\n", name, s, sum / n }'
done | sort
