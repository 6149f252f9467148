#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# unreached.sh CKRUN PROGRAM: a job of which ssh does not know a host, or does not reach it, ends, under mpiexec.hydra and
# mpirun, and leaves nothing; a name that only ssh knows is a host. The program is tests/programs/broadcast. FAIL_FAST=1
# ends at the first fact that does not hold.
. "$(dirname "$0")/facts.sh"
ckrun=$1 program=$2
export TMPDIR=$dir # mpirun's files
unset "${!PMI@}" "${!OMPI@}" "${!HYDRA@}" "${!CK_@}" "${!UCX_@}" "${!SLURM@}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_oob_tcp_if_include=lo
run() { outcome timeout -k 1 60 "$@" </dev/null; }

# A stand-in for ssh, which knows one name that the resolver does not, as ssh does by its configuration.
mkdir "$dir/ssh" && cat >"$dir/ssh/ssh" <<'END'
#!/bin/bash
for word; do [[ $word = -o* ]] && echo "told $word" >&2; done
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
[ "$host" = only-ssh-knows ] && exec sh -c "$*"
echo "ssh: Could not resolve hostname $host: Name or service not known" >&2
exit 255
END
chmod +x "$dir/ssh/ssh"
nothing_left() { ! pgrep -f "$dir/ssh|broadcast $dir" >/dev/null; }
ended() { # the line of ours, the failure of ssh on a line before it, the code
	[ $rc = 255 ] && [ $took_ms -lt 15000 ] && grep -q "^ssh: .*$1" "$dir/err" &&
		[ "$(grep -c '^ckrun: ' "$dir/err")" = 1 ] && grep -q "^ckrun: $2" "$dir/err"
}
unreached() { # launcher, the line of ours
	local ssh="$dir/ssh:$PATH"
	run env PATH="$ssh" "$ckrun" --launcher $1 --hosts nobody-knows.invalid -n 2 "$program" "$dir"
	fact "$1: a name that nobody knows ends the job" ended nobody-knows "$2"
	fact "$1: and leaves nothing" nothing_left
	run env PATH="$ssh" "$ckrun" --launcher $1 --hosts localhost,nobody-knows.invalid -n 2 "$program" "$dir"
	fact "$1: one among others, too" ended nobody-knows "$2"
	fact "$1: and leaves nothing there" nothing_left
	run env PATH="$ssh" CK_BOOT_TIMEOUT=7 "$ckrun" --launcher $1 --hosts only-ssh-knows:2 -n 2 "$program"
	fact "$1: a name that only ssh knows is a host" eval \
		'[ $rc = 0 ] && [ "$(cat "$dir/out")" = "broadcast: 900 calls on 2 PEs" ]'
	fact "$1: ssh is told CK_BOOT_TIMEOUT" grep -q "told -oConnectTimeout=7" "$dir/err"
	run unshare --net sh -c 'ip link add d0 type veth peer name d1 && ip addr add 10.77.1.1/24 dev d0 && ip link set lo up &&
		ip link set d0 up && ip link set d1 up && ip neigh add 10.77.1.2 lladdr 02:00:00:00:00:01 dev d0 &&
		CK_BOOT_TIMEOUT=1 "$@"' sh "$ckrun" --launcher $1 --hosts 10.77.1.2 -n 2 "$program" "$dir"
	fact "$1: a host that does not answer ends the job" ended 10.77.1.2 "$2"
}
unreached_by() { # command, launcher, the line of ours
	if ! command -v $1 >/dev/null || ! command -v ssh >/dev/null; then
		skip "$2, hosts that are not reached" "no $1, or no ssh"
	elif ! unshare --net ip link add d0 type veth peer name d1 2>/dev/null; then
		skip "$2, hosts that are not reached" "no namespaces here"
	else
		unreached $2 "$3"
	fi
}
unreached_by mpiexec.hydra hydra "mpiexec.hydra (pid [0-9]*) did not reach a host: .* exit code 255; the job is ended"
unreached_by mpirun.openmpi mpirun "mpirun.openmpi (pid [0-9]*) ended with exit code"
echo "$facts facts, $failed failed"
[ $failed = 0 ]
