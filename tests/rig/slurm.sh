#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# slurm.sh [-n NODES] [-c CPUS] COMMAND...: brings up a Slurm of its own, whose nodes (2) with so many processors each (4)
# are all on this host, runs the command, in which srun works, and takes everything down again. Its exit code
# is the command's; 77, with a line "skip slurm: WHY", where it cannot run.
#
# All daemons live in one network namespace, where nobody else's traffic is; they have an address there besides
# 127.0.0.1, because name look-ups fail where there is only that one. Their files are in a folder below /tmp.
# CRED_EXPIRE=5: a job that is queued again starts after half a minute instead of two.
set -u
nodes=2 cpus=4
while getopts n:c: option; do
	case $option in
	n) nodes=$OPTARG ;;
	c) cpus=$OPTARG ;;
	*) sed -n 's/^# \(slurm.sh .*\)/usage: \1/p' "$0" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))

[ -z "${CHARD_SLURM:-}" ] || { echo "slurm.sh: this is a Slurm of slurm.sh already" >&2; exit 2; }
skip() { echo "skip  slurm: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "only root can make a network namespace and start slurmd"
for tool in ip munged slurmctld slurmd srun; do
	command -v "$tool" >/dev/null || skip "$tool is not installed (./deps.sh --hosts)"
done

ns=chard-slurm-$$
dir=$(mktemp -d /tmp/chard-slurm.XXXXXX) || exit 1
# Slurm's daemons find each other by these names and ports; in the namespace they are free.
export SLURM_CONF=$dir/slurm.conf

# The daemons leave helpers behind that outlive them, so what runs in the namespace is ended by its number.
down() {
	local tries=0 pids
	trap '' INT TERM HUP
	pids=$(ip netns pids "$ns" 2>/dev/null)
	[ -z "$pids" ] || kill $pids 2>/dev/null
	while pids=$(ip netns pids "$ns" 2>/dev/null) && [ "$pids" ] && [ $((tries += 1)) -lt 100 ]; do
		[ $tries -lt 50 ] || kill -9 $pids 2>/dev/null
		sleep 0.02
	done
	wait 2>/dev/null
	ip netns del "$ns" 2>/dev/null
	rm -rf "$dir"
}
trap down EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
trap 'exit 129' HUP

ip netns add "$ns" 2>"$dir/why" || skip "no network namespace: $(cat "$dir/why")"
inside() { ip netns exec "$ns" "$@"; }
ip -n "$ns" link set lo up && ip -n "$ns" addr add 10.77.0.1/32 dev lo || exit 1

head -c 1024 /dev/urandom >"$dir/key"
chmod 400 "$dir/key"
chmod 755 "$dir"
mkdir "$dir/state"
names=
for i in $(seq "$nodes"); do
	mkdir "$dir/n$i" # spool folder and TmpFS; with one TmpFS for all, PMIx folders of two nodes would collide
	names+="NodeName=n$i NodeHostname=$(hostname) NodeAddr=10.77.0.1 Port=$((17000 + i)) CPUs=$cpus State=UNKNOWN"$'\n'
done
cat >"$SLURM_CONF" <<END
ClusterName=chard
SlurmctldHost=$(hostname)(10.77.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge${CRED_EXPIRE:+,cred_expire=$CRED_EXPIRE}
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SlurmctldPort=16817
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/%n
TmpFS=$dir/%n
SlurmctldPidFile=$dir/ctld.pid
SlurmdPidFile=$dir/%n.pid
SlurmctldLogFile=$dir/ctld.log
SlurmdLogFile=$dir/%n.log
MpiDefault=none
ReturnToService=2
KillWait=2
${names}PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=YES
END
printf 'CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n' >"$dir/cgroup.conf"

inside munged -F --key-file="$dir/key" --socket="$dir/munge" --pid-file="$dir/munge.pid" \
	--log-file="$dir/munge.log" --seed-file="$dir/munge.seed" >/dev/null 2>&1 &
inside slurmctld -D -f "$SLURM_CONF" -c >/dev/null 2>&1 &
for i in $(seq "$nodes"); do
	inside slurmd -D -f "$SLURM_CONF" -N "n$i" >/dev/null 2>&1 &
done
tries=0
until [ "$(inside sinfo -h -t idle -o %D 2>/dev/null)" = "$nodes" ]; do
	if [ $((tries += 1)) -ge 150 ]; then
		echo "slurm: the nodes have not come up; what the daemons say:" >&2
		tail -n 5 "$dir"/*.log >&2
		exit 1
	fi
	sleep 0.2
done
CHARD_SLURM=$ns inside "$@"
