#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# hosts.sh BUILD: jobs on several hosts: the lines that ckrun makes of its options for srun, mpiexec.hydra and mpirun
# (which are scripts here that print them), lists and files of hosts, allocations, refusals; and real jobs on this host
# by the launchers that are installed. FAIL_FAST=1 ends at the first fact that does not hold.
. "$(dirname "$0")/facts.sh"
top=$(cd "$here/../.." && pwd)
build=$(cd "$1" && pwd) || exit 2
ckrun=$build/bin/ckrun
export TMPDIR=$dir # mpirun's files
unset "${!PMI@}" "${!OMPI@}" "${!CK_@}" "${!UCX_@}" "${!LSB_@}" PBS_NODEFILE LD_LIBRARY_PATH
[ "$2" = in-slurm ] || unset "${!SLURM@}"
run() { outcome timeout -k 1 60 "$@" </dev/null; }

# ---- jobs by real launchers; inside Slurm that is all -----------------------------------
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_oob_tcp_if_include=lo
real() { # what, hosts, options
	local what=$1 hosts=$2
	shift 2
	run "$ckrun" "$@" --hosts "$hosts" -n 4 --ppn 2 "$build/tests/programs/broadcast"
	fact "$what: one job of 4 PEs" eval '[ $rc = 0 ] && [ "$(cat "$dir/out")" = "broadcast: 1800 calls on 4 PEs" ]'
	# mpiexec.hydra may write to a helper that has ended: a job this short sometimes kills it by SIGPIPE.
	for _ in 1 2 3; do
		run "$ckrun" "$@" --hosts "$hosts" -n 2 --env X="a b" --tag-output sh -c 'echo "$X $CK_PES"'
		grep -q 'mpiexec.hydra .* signal 13' "$dir/err" || break
	done
	fact "$what: --env and --tag-output" eval '[ $rc = 0 ] && [ "$(sort "$dir/out" | grep -Ec "^\[?(1,)?[01](\]|:).*a b 1$")" = 2 ]'
	run "$ckrun" "$@" --hosts "$hosts" -n 2 "$build/tests/programs/ends" exit 1
	fact "$what: CkExit's code" [ $rc = 7 ]
	run env CK_WATCHDOG=0 "$ckrun" "$@" --hosts "$hosts" -n 2 --timeout 2 "$build/tests/programs/ends" sleep
	fact "$what: --timeout" [ $rc = 124 ]
}
if [ "$2" = in-slurm ]; then
	real srun n1,n2 --launcher srun
	run salloc -Q -N2 -n4 "$ckrun" -n 4 "$build/tests/programs/broadcast"
	fact "salloc: ckrun calls srun" eval '[ $rc = 0 ] && [ "$(cat "$dir/out")" = "broadcast: 1800 calls on 4 PEs" ]'
	echo "$facts facts, $failed failed"
	exit $((failed > 0))
fi

# ---- the lines --------------------------------------------------------------------------
mkdir "$dir/all"
for name in srun mpiexec.hydra mpirun; do
	cat >"$dir/all/$name" <<'END'
#!/bin/bash
printf '%s' "${0##*/}"
for word; do
	case $word in
	'' | *[!a-zA-Z0-9_=+,.:/@%-]*) printf " '%s'" "$word" ;;
	*) printf ' %s' "$word" ;;
	esac
done
echo
echo "pes=$CK_PES bind=${CK_BIND:--} verbose=${CK_VERBOSE:--} x=${X:--} fd=${PMI_FD:--} rank=${PMIX_RANK:--} mca=${PMIX_MCA_a:--} log=$UCX_LOG_FILE"
[ -z "$SLOW" ] || { trap 'exit 0' TERM; while :; do read -rt 0.1 <> <(:); done; }
[ -z "$USR1" ] || { trap 'echo got USR1; exit 0' USR1; echo ready; while :; do read -rt 0.1 <> <(:); done; }
exit ${CODE:-0}
END
	chmod +x "$dir/all/$name"
	mkdir "$dir/only-$name"
	ln -s "$dir/all/$name" "$dir/only-$name/$name"
done
mkdir "$dir/none"
with() { # folder of launchers, ckrun's arguments (after variables)
	local path=$dir/$1
	shift
	run env PATH="$path" "$@"
}
line() { [ $rc = 0 ] && [ "$(head -1 "$dir/out")" = "$1" ]; }
variables() { [ "$(sed -n 2p "$dir/out")" = "$1" ]; }
usage() { [ $rc = 2 ] && [ "$(wc -l <"$dir/err")" = 1 ] && grep -q "^ckrun: $1" "$dir/err" && [ ! -s "$dir/out" ]; }

with all "$ckrun" --hosts a,b -n 8 --ppn 2 prog 1 "two words"
fact "hydra goes first; hosts share evenly" line 'mpiexec.hydra -hosts a:2,b:2 -n 4 prog 1 '\''two words'\'''
fact "the nodes' variables" variables "pes=2 bind=- verbose=- x=- fd=- rank=- mca=- log=stderr"
with only-mpirun "$ckrun" --hosts a,b,c -n 4 prog
fact "mpirun where there is no hydra; an uneven share" line \
	'mpirun --host a:2,b:1,c:1 -n 4 --map-by slot --bind-to none -x CK_CONTROL -x CK_PES -x UCX_LOG_FILE -x UCX_DEBUG_SIGNO prog'
with all "$ckrun" --launcher srun --hosts a,b -n 8 --ppn 2 prog
fact "srun by name" line 'srun --mpi=pmi2 --kill-on-bad-exit=1 --export=ALL --cpu-bind=none --nodes=2 --ntasks=4 --ntasks-per-node=2 --cpus-per-task=2 --distribution=block --nodelist=a,b prog'
with all "$ckrun" --launcher srun --hosts a:3,b:1 -n 4 prog
fact "srun, an uneven share" line 'srun --mpi=pmi2 --kill-on-bad-exit=1 --export=ALL --cpu-bind=none --nodes=2 --ntasks=4 --cpus-per-task=1 --distribution=arbitrary --nodelist=a,a,a,b prog'
with all "$ckrun" --hosts a:8,b:8,c:8 -n 12 --ppn 4 prog
fact "places are room for PEs; hosts are filled in order" line 'mpiexec.hydra -hosts a:2,b:1 -n 3 prog'
with all "$ckrun" --hosts a,b -n 1 prog
fact "fewer nodes than hosts" line 'mpiexec.hydra -hosts a:1 -n 1 prog'
with all "$ckrun" --hosts=fe80-1.x_y,10.0.0.2 +p2 prog +p 2 ++ppn 1 -x
fact "Charm++'s words, before and behind the program" line 'mpiexec.hydra -hosts fe80-1.x_y:1,10.0.0.2:1 -n 2 prog -x'
with all "$ckrun" --hosts "[::1]:4" -n 4 --ppn 2 prog
fact "an IPv6 address becomes a name" line 'mpiexec.hydra -hosts localhost:2 -n 2 prog'

for l in srun hydra mpirun; do
	with all X=old CK_CHECK=1 UCX_TLS=tcp CK_PES=9 PMIX_RANK=5 PMIX_MCA_a=b "$ckrun" --launcher $l --hosts a \
		--bind socket --verbose --env X=new --env UCX_TLS --tag-output prog
	fact "$l: --env, --bind, --verbose reach the nodes; another launcher's variables do not" \
		variables "pes=1 bind=socket verbose=1 x=new fd=- rank=- mca=b log=stderr"
	fact "$l: --verbose tells the line, as a shell takes it" \
		[ "$(sed -n 's/^ckrun: runs //p' "$dir/err")" = "$(head -1 "$dir/out")" ]
	case $l in
	srun) fact "srun: --tag-output" grep -q -- " --label prog" "$dir/out" ;;
	hydra) fact "hydra: --tag-output" grep -qF -- " -prepend-pattern '[%r] ' prog" "$dir/out" ;;
	mpirun) fact "mpirun: --tag-output, and the names of variables to hand on, each once" grep -q -- \
		"--tag-output -x CK_CONTROL -x CK_PES -x UCX_LOG_FILE -x UCX_DEBUG_SIGNO -x CK_BIND -x CK_VERBOSE -x X -x UCX_TLS -x CK_CHECK prog$" \
		"$dir/out" ;;
	esac
done

# ---- how the launcher's end becomes ours ------------------------------------------------
with all CODE=7 "$ckrun" --hosts a prog
fact "the launcher's exit code" eval '[ $rc = 7 ] && grep -q "^ckrun: mpiexec.hydra (pid [0-9]*) ended with exit code 7" "$dir/err"'
with all SLOW=1 "$ckrun" --hosts a --timeout 0.3 prog
fact "--timeout: 124" eval '[ $rc = 124 ] && grep -q "^ckrun: the job ran longer than --timeout 0.3 s" "$dir/err"'
PATH=$dir/all USR1=1 "$ckrun" --hosts a prog >"$dir/out" 2>"$dir/err" </dev/null &
until grep -qs ready "$dir/out"; do sleep 0.02; done
kill -USR1 $!
wait $!
rc=$?
fact "signals are passed on" eval '[ $rc = 0 ] && grep -qx "got USR1" "$dir/out"'
with all "$ckrun" --hosts a --env CK_SHARE=0 prog
fact "no folder for UCX's files here" eval '[ $rc = 0 ] && ! grep -q CK_UCX_DIR "$dir/out"'
run "$ckrun" -n 2 --env X=5 --env Y sh -c 'echo $X'
fact "--env of a variable that is not set" usage "--env Y: it is not set"
run "$ckrun" -n 2 --env X=5 sh -c 'echo $X'
fact "--env on this host" eval '[ $rc = 0 ] && [ "$(sort -u "$dir/out")" = 5 ]'

# ---- hostfiles --------------------------------------------------------------------------
printf '# the hosts\n\na:4 # four\n  b slots=8\r\n\tc:1' >"$dir/hosts"
with all "$ckrun" --hostfile "$dir/hosts" -n 13 prog
fact "a hostfile: comments, blanks, both ways of numbers, no last newline" line 'mpiexec.hydra -hosts a:4,b:8,c:1 -n 13 prog'
printf 'a\nb\n' >"$dir/hosts"
with all "$ckrun" --hostfile "$dir/hosts" -n 3 prog
fact "a hostfile without numbers" line 'mpiexec.hydra -hosts a:2,b:1 -n 3 prog'
bad_file() { # what, text, pattern behind "FILE:"
	printf '%b' "$2" >"$dir/hosts"
	with all "$ckrun" --hostfile "$dir/hosts" prog
	fact "a hostfile with $1" usage "$dir/hosts:$3"
}
bad_file "a word too many" 'a\nb slots=2 x\n' "2: 'x' is not understood; a line is"
bad_file "another program's option" 'a\n\nb max_slots=2\n' "3: 'max_slots=2' is not understood; a line is HOST, HOST:N or"
bad_file "no number behind slots" 'a slots=\n' "1: 'slots=' is not understood"
bad_file "no number behind the colon" 'a:2\nb:x\n' "2: 'b:x' needs a number of slots"
bad_file "two numbers" 'a:2 slots=2\n' "1: 'a:2' has two numbers"
bad_file "a number for some hosts only" 'a:2\nb\n' "2: 'b' has no number of slots, but 'a' has one"
bad_file "a host twice" 'a\nb\na\n' "3: host 'a' is listed twice"
bad_file "an option instead of a host" '-x\n' "1: '-x' is not the name of a host"
bad_file "no host" '# nothing\n' " it names no host"
with all "$ckrun" --hostfile "$dir/nothing" prog
fact "a hostfile that is not there" usage "$dir/nothing: No such file"
with all "$ckrun" --hostfile "$dir" prog
fact "a hostfile that is a folder" usage "$dir: Is a directory"

# ---- lists and other refusals -----------------------------------------------------------
bad() { # pattern, arguments
	local pattern=$1
	shift
	with all "$ckrun" "$@" prog
	fact "refused: ckrun $*" usage "$pattern"
}
bad "--hosts: '' is not the name of a host" --hosts a,
bad "--hosts: '' is not the name of a host" --hosts ,a
bad "--hosts: 'a b' is not the name of a host" --hosts "a b"
bad "--hosts: 'a;b' is not the name of a host" --hosts "a;b"
bad "--hosts: host 'a' is listed twice" --hosts a,b,a
bad "--hosts: 'a:0' needs a number of slots" --hosts a:0
bad "--hosts: 'a:9999999999' needs a number of slots" --hosts a:9999999999
bad "--hosts: 'fe80::1' is an IPv6 address without a name here, and .*: give the host one" --hosts fe80::1
bad "--hosts: '\[fe80::1\]:2' is an IPv6 address without a name here" --hosts "a:2,[fe80::1]:2"
bad "--hosts: '\[::1' is an IPv6 address" --hosts "[::1"
bad "--hosts: '\[::1\]2' is an IPv6 address" --hosts "[::1]2"
bad "--hosts: 'localhost:0' needs a number of slots" --hosts "[::1]:0"
bad "--hosts: host 'localhost' is listed twice" --hosts localhost,::1
bad "option '--hosts' needs a value" --hosts ""
bad "--hosts and --hostfile both name hosts" --hosts a --hostfile b
bad "--hosts b contradicts the a given before" --hosts a --hosts b
bad "--local contradicts --hosts" --local --hosts a
bad "--launcher needs srun, hydra or mpirun, not 'ssh'" --launcher ssh --hosts a
bad "--launcher hydra needs hosts" --launcher hydra
bad "on several hosts all nodes must have the same number of PEs: -n 5 is not a multiple of --ppn 2" --hosts a,b -n 5 --ppn 2
bad "--checkpoint-exit needs --launcher srun or mpirun: SIGUSR2 ends mpiexec.hydra" --hosts a,b --checkpoint-exit --restart-if-any ck
bad "3 nodes of 4 PEs do not fit: the 2 hosts have slots for 2" --hosts a:7,b:4 -n 12 --ppn 4
bad "--env needs NAME=VALUE or NAME, not '=x'" --env =x
bad "--env needs NAME=VALUE or NAME, not '2x=1'" --env 2x=1
bad "--env CK_PES=2: ckrun sets CK_PES by itself" --env CK_PES=2
bad "--env PMI_FD=2: ckrun sets PMI_FD by itself" --env PMI_FD=2
with none "$ckrun" --hosts a prog
fact "no launcher: refused" usage "a job on several hosts needs srun, mpiexec.hydra (MPICH) or mpirun (Open MPI)"
with only-mpirun "$ckrun" --launcher hydra --hosts a prog
fact "a launcher that is not there: refused" usage "--launcher hydra: there is no mpiexec.hydra on PATH"
with none SLURM_JOB_ID=1 SLURM_JOB_NUM_NODES=2 "$ckrun" prog
fact "a job of Slurm without srun: refused" usage "this is a job of Slurm, but there is no srun on PATH"
with all SLURM_JOB_ID=1 SLURM_JOB_NUM_NODES=2 "$ckrun" --launcher hydra prog
fact "hydra in a job of Slurm, without hosts: refused" usage "--launcher hydra: in a job of Slurm it needs --hosts"

# ---- allocations ------------------------------------------------------------------------
slurm="SLURM_JOB_ID=1 SLURM_JOB_NUM_NODES=3"
own='srun --mpi=pmi2 --kill-on-bad-exit=1 --export=ALL --cpu-bind=none'
with all $slurm "$ckrun" -n 8 --ppn 2 prog
fact "a job of Slurm: srun knows its hosts" line "$own --nodes=3 --ntasks=4 --ntasks-per-node=2 --cpus-per-task=2 --distribution=block prog"
with all $slurm "$ckrun" prog
fact "the same, one PE" line "$own --nodes=1 --ntasks=1 --ntasks-per-node=1 --cpus-per-task=1 --distribution=block prog"
with all $slurm SLURM_STEP_ID=4294967290 "$ckrun" -n 3 prog
fact "the shell of salloc is a step, too" line "$own --nodes=3 --ntasks=3 --ntasks-per-node=1 --cpus-per-task=1 --distribution=block prog"
printf 'a\na\nb\nb\nb\n' >"$dir/nodes"
with all PBS_NODEFILE="$dir/nodes" "$ckrun" -n 5 prog
fact "PBS_NODEFILE: a host for each place" line 'mpiexec.hydra -hosts a:2,b:3 -n 5 prog'
with all LSB_HOSTS="a a b a " "$ckrun" -n 4 --ppn 2 prog
fact "LSB_HOSTS fills a host after the other" usage "2 nodes of 2 PEs do not fit: the 2 hosts have slots for 1"
with all LSB_HOSTS="a a b b" "$ckrun" -n 4 --ppn 2 prog
fact "LSB_HOSTS" line 'mpiexec.hydra -hosts a:1,b:1 -n 2 prog'
with all PBS_NODEFILE="$dir/nothing" "$ckrun" prog
fact "a PBS_NODEFILE that is not there" usage "$dir/nothing: No such file"
with all $slurm "$ckrun" --hosts n1 prog
fact "named hosts of an allocation" line "$own --nodes=1 --ntasks=1 --ntasks-per-node=1 --cpus-per-task=1 --distribution=block --nodelist=n1 prog"
local_job() { [ $rc = 0 ] && [ "$(cat "$dir/out")" = "here" ]; }
here() { run env PATH="$dir/all:$PATH" "$@" sh -c 'echo here'; }
here $slurm "$ckrun" --local
fact "--local in an allocation" local_job
here $slurm "$ckrun" ++local
fact "++local, too" local_job
here SLURM_JOB_ID=1 SLURM_JOB_NUM_NODES=1 "$ckrun"
fact "a job of Slurm on one host is for ckrun itself" local_job
here $slurm SLURM_STEP_ID=0 "$ckrun"
fact "a process that srun has started stays on its host" local_job
here PBS_NODEFILE="$dir/nodes" PMIX_RANK=0 "$ckrun"
fact "a process that mpirun has started, too" local_job
printf 'a\na\n' >"$dir/nodes"
here PBS_NODEFILE="$dir/nodes" "$ckrun"
fact "a PBS job on one host is for ckrun itself" local_job

# ---- real ones on this host --------------------------------------------------------------
if command -v mpiexec.hydra >/dev/null; then
	real hydra localhost --launcher hydra
else
	skip "hydra, real" "MPICH is not installed"
fi
if ! command -v mpirun.openmpi >/dev/null; then
	skip "mpirun, real" "Open MPI is not installed"
elif ! pkg-config --exists pmix; then
	skip "mpirun, real" "Chard was built without PMIx (libpmix-dev)"
else
	real mpirun localhost:4 --launcher mpirun
fi
"$top/tests/rig/slurm.sh" "$0" "$build" in-slurm
rc=$?
[ $rc = 0 ] || [ $rc = 77 ] || failed=$((failed + 1))
echo "$facts facts, $failed failed"
[ $failed = 0 ]
