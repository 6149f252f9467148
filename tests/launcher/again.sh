#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# again.sh BUILD: ckrun --replace on several hosts: what nodes note of their end, and what ckrun does when the launcher
# ends, which is a script here. Jobs by real launchers are tests/rig/again.py's. FAIL_FAST=1 ends at the first fact that
# does not hold.
. "$(dirname "$0")/facts.sh"
build=$(cd "$1" && pwd) || exit 2
ckrun=$build/bin/ckrun programs=$build/tests/programs
unset "${!PMI@}" "${!OMPI@}" "${!CK_@}" "${!SLURM@}" "${!LSB_@}" PBS_NODEFILE
cd "$dir" || exit 1

# ---- the notes of a node ------------------------------------------------------------------
notes() { # program...: what it notes
	rm -rf notes
	mkdir notes
	CK_NOTES=notes/1 outcome timeout -k 1 30 "$@" </dev/null
	noted=$(cat notes/1 2>/dev/null)
}
has_met() { [ -e notes/1.met ]; }
is_noted() { [[ $noted =~ ^$1\ 0\ $(hostname)\ [0-9]+$ ]] && has_met; }
notes "$programs/ends" exit 0
fact "CkExit's code is noted" is_noted "exit 7"
notes "$programs/broadcast"
fact "CkExit without one, too" is_noted "exit 0"
notes "$programs/ends" abort 0
fact "CkAbort is noted" is_noted "abort 1"
notes "$programs/ends" crash 0
fact "a fault is noted" is_noted "fault 11"
notes env CK_WATCHDOG=1 "$programs/ends" sleep 0
fact "the watchdog is noted" is_noted "(abort|exit) 125"
notes "$programs/leaves" exit 0 3
fact "exit in a handler is noted" is_noted "abort 3"
rm -rf notes
mkdir notes
CK_WATCHDOG=0 CK_NOTES=notes/1 "$programs/ends" sleep >out 2>err </dev/null &
until grep -qs '^pid' out; do sleep 0.02; done
{ kill -9 $!; wait $!; } 2>/dev/null
noted=$(cat notes/1 2>/dev/null)
fact "a node that is killed notes nothing" eval '[ -z "$noted" ] && has_met'
notes env CK_BOOT_TIMEOUT=x "$programs/ends" exit 0
fact "nor does one that has not met the others, but that it has come" [ "$(ls notes)" = 1.came ]
: >notes/2
CK_NOTES=notes/2 outcome "$programs/ends" exit 0
fact "the first note counts" [ -e notes/2.met -a ! -s notes/2 ]

# The same to a keeper.
tells() { # program...: what its node tells the keeper
	noted=$(python3 - "$@" <<'END'
import os, socket, subprocess, sys
name = f'chard-test-{os.getpid()}'
keeper = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
keeper.bind(f'\0{name}.notes')
keeper.listen()
subprocess.run(sys.argv[1:], env=os.environ | {'CK_NOTES': f'@{name}/3'}, stdin=subprocess.DEVNULL,
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=30)
node = keeper.accept()[0]
while told := node.recv(1000):
    print(told.decode().strip(), end=';')
END
	)
}
is_told() { [[ $noted =~ ^3\ came\;3\ met\;3\ $1\ 0\ $(hostname)\ [0-9]+\;$ ]]; }
tells "$programs/ends" exit 0
fact "CkExit is told to the keeper" is_told "exit 7"
tells "$programs/ends" crash 0
fact "so is a fault" is_told "fault 11"
tells "$programs/leaves" exit 0 3
fact "so is exit in a handler, once" is_told "abort 3"
is_refused() { [ $rc = 1 ] && [ "$(wc -l <err)" = 1 ] && grep -q "$1=@chard-test-nobody.* is refused" err; }
CK_NOTES=@chard-test-nobody/1 outcome "$programs/ends" exit 0
fact "without a keeper there the node does not start" is_refused CK_NOTES
CK_IMAGES=@chard-test-nobody outcome "$programs/ends" exit 0
fact "nor without one for images" is_refused CK_IMAGES

# ---- the launcher ---------------------------------------------------------------------------
# In its n-th start it does what the file do.n says, in a shell; without one it ends well.
mkdir bin
cat >bin/mpiexec.hydra <<'END'
#!/bin/bash
cd "${0%/*}/.." || exit 99
if [ "${*: -1}" = --keeper ]; then
	echo "${0##*/} ${*:1:$#-2}" >>keepers
	[ ! -e no-keeper ] || . ./no-keeper
	echo $$ >>keeper-pids
	exec "${@: -2}"
fi
n=$(($(cat starts 2>/dev/null) + 1))
echo $n >starts
echo "start $n: ${0##*/} $* from ${CK_RESTART-nothing}"
echo "$CK_NOTES" >>names
tell() { python3 "$calls" note "$*"; }
came() { if [[ $CK_NOTES = @* ]]; then tell came; else : >"$CK_NOTES.came"; fi; }
met() { if [[ $CK_NOTES = @* ]]; then tell met; else : >"$CK_NOTES.met"; fi; }
note() { met; if [[ $CK_NOTES = @* ]]; then tell "$*"; else echo "$*" >"$CK_NOTES"; fi; }
save() { mkdir -p "ck/ck-00000$1"; : >"ck/ck-00000$1/MANIFEST"; }
[ ! -e "do.$n" ] || . "./do.$n"
exit 0
END
chmod +x bin/mpiexec.hydra
export calls="$here/keeper_calls.py" ckrun programs
ln -s mpiexec.hydra bin/srun
job() { # what the starts do... -- ckrun's arguments, with --replace $replace
	local n=0
	rm -rf do.* starts names ck keepers keeper-pids
	[ -z "$before" ] || eval "$before"
	while [ "$1" != -- ]; do
		echo "$1" >"do.$((n += 1))"
		shift
	done
	shift
	outcome env PATH="$dir/bin:$PATH" CK_CHECKPOINT="$dir/ck,1m" timeout -k 1 30 "$ckrun" --replace "${replace:-2}" "$@" prog </dev/null
}
nothing_left() { [ -z "$(ls -A ck | grep '^\.')" ]; }
starts() { [ "$rc" = "$1" ] && [ "$(cat starts)" = "$2" ] && nothing_left; }
says() { [ "$(grep -Ec "^ckrun: .*$1" err)" = 1 ]; }
line() { grep -qx "start $1: $2" out; } # number, the rest
where="--hosts a,b"
hydra='mpiexec.hydra -hosts a:1 -n 1 prog'

before=
job 'met; exit 137' -- $where
fact "a launcher that fails has lost a node" eval 'starts 0 2 && says "a node has died .hydra ended with exit code 137.; starting again from the beginning .1 of 2."'
fact "its line is run again" line 2 "$hydra from nothing"
fact "each start has a note of its own" [ "$(sort -u names | wc -l)" = 2 ]
job 'exit 1' -- $where
fact "not if the nodes have not met" starts 1 1
job 'met; exit 137' 'exit 1' -- $where
fact "after a death they may fail to meet" starts 0 3
job 'met; exit 9' 'met; exit 9' 'met; exit 9' -- $where
fact "deaths are counted" eval 'starts 9 3 && says "the job is ended"'
for kind in "exit 7" "exit 0" "abort 1" "abort 125"; do
	job "note $kind 0 a 10; exit 137" -- $where
	fact "what the program decides is no death: $kind" starts 137 1
done
job 'met; : >"$CK_NOTES"; exit 9' -- $where
fact "a note that is not whole is none" starts 0 2
job 'note fault 11 1 b 10; exit 1' 'note fault 11 1 b 10; exit 1' -- $where
fact "a fault that comes back at once is given up" \
	eval 'starts 139 2 && says "node 1 on b ended by signal 11 .*, again at once, and nothing was saved in between"'
job 'note fault 11 1 b 10; exit 1' 'note fault 6 0 a 5000; exit 1' -- $where
fact "one that comes later is not" eval 'starts 0 3 && says "node 0 on a ended by signal 6"'
job 'note fault 11 1 b 10; exit 1' 'save 1; note fault 11 0 a 10; exit 1' -- $where
fact "nor one after a checkpoint" starts 0 3
job 'met; kill -9 $$' -- $where
fact "a launcher that is killed itself ends the job" starts 137 1
job 'met; exit 137' 'kill -PIPE $$' -- $where
fact "but not one that writes to a node that has died while it joined" \
	eval 'starts 0 3 && says "a node has died .hydra was killed by signal 13.; starting again from the beginning .2 of 2."'
job 'kill -PIPE $$' -- $where
fact "unless the nodes have never met" starts 141 1
late='echo "exit 0 0 a 10" >"$(head -n 1 names)"; : >"${CK_NOTES%/*}/3.met"'
job 'met; exit 137' "$late" -- $where
fact "notes that come late are removed, too" starts 0 2
job 'met; sleep 100' -- $where --timeout 0.3
fact "--timeout ends it" starts 124 1

# ---- checkpoints --------------------------------------------------------------------------
job 'save 1; save 2; met; exit 9' -- $where
fact "from the newest checkpoint, by its own name" eval 'line 2 "$hydra from $dir/ck/ck-000002" && says "from checkpoint 2 .1 of 2."'
before='mkdir -p ck/ck-000004; : >ck/ck-000004/MANIFEST'
job 'met; exit 9' 'save 5; met; exit 9' -- $where
fact "not from one that another job has left there" line 2 "$hydra from nothing"
fact "but from one that is newer" line 3 "$hydra from $dir/ck/ck-000005"
job 'met; exit 9' -- $where --restart "$dir/ck"
fact "--restart's is that of the next start, too" eval 'line 1 "$hydra from $dir/ck/ck-000004" && line 2 "$hydra from $dir/ck/ck-000004"'
before=
refused() { [ "$rc" = "$1" ] && says "$2" && [ ! -e starts ]; }
job -- $where --env CK_CHECKPOINT= --restart-if-any "$dir/ck"
fact "--restart-if-any names the folder, too" starts 0 1
job -- $where --env CK_CHECKPOINT="$dir/no/folder,1m"
fact "a folder that cannot be made is refused" refused 1 "cannot make a folder in $dir/no/folder: No such file"

# ---- checkpoints in memory ------------------------------------------------------------------
# Both hosts are this one: one keeper serves the other, too.
nothing_left() {
	local name=$(sed -n '1s|@\(.*\)/1|\1|p' names 2>/dev/null)
	[ -z "$(ls -A ck 2>/dev/null | grep '^\.')" ] && { [ -z "$name" ] || ! grep -qzs "^CK_KEEPER=$name " /proc/[0-9]*/environ; }
}
kept() { job "$@" --env CK_CHECKPOINT=memory,10s; }
kept 'met' -- $where
fact "each host has a keeper" eval 'starts 0 1 && [ "$(sort keepers)" = "mpiexec.hydra -hosts a -n 1
mpiexec.hydra -hosts b -n 1" ]'
fact "nodes find it by a random name" grep -Eqx '@ckrun-[0-9a-f]{32}/1' names
kept 'met; exit 137' -- $where
fact "a death is seen" eval 'starts 0 2 && says "a node has died .hydra ended with exit code 137.; starting again from the beginning .1 of 2."'
fact "each start has a number" grep -Eqx '@ckrun-[0-9a-f]{32}/2' names
fact "and the same keepers" [ "$(wc -l <keepers)" = 2 ]
kept 'exit 1' -- $where
fact "not if the nodes have not met" starts 1 1
kept 'note exit 7 0 a 10; exit 137' -- $where
fact "nor if the program decides" starts 137 1
kept 'note fault 11 1 b 10; exit 1' 'note fault 11 1 b 10; exit 1' -- $where
fact "the first note counts" eval 'starts 139 2 && says "node 1 on b ended by signal 11 .*, again at once"'
job 'met; exit 9' -- $where --env CK_CHECKPOINT=
fact "the program may save itself" starts 0 2
# The keepers are stopped meanwhile, so they find the call and ckrun's word at the same time.
for attempt in 1 2 3 4 5; do
	job 'kill -STOP $(cat keeper-pids); met; (sleep 0.2; kill -CONT $(cat keeper-pids)) & exit 9' -- $where --env CK_CHECKPOINT=
	fact "what a dead node has noted is heard, $attempt" starts 0 2
done
kept 'python3 "$calls" calls' -- $where
cat >expected <<'END'
node: ok 3
image: the job does not start from an image of node 0 in memory 0
mirror: there is no image of checkpoint 7 to mirror 0
no node: the keeper of this host expects no such node now 0
no word: None 0
version: None 0
rubbish: True
no note: True
stranger: True
again: ok 3
END
fact "a keeper hears nodes, and nobody else" eval 'starts 0 1 && grep -v "^start" out | diff expected - >&2'
(umask 77 && head -c 32 /dev/urandom >key)
kept 'python3 "$calls" calls' -- $where --env CK_WIRE=seal --env CK_WIRE_KEY="$dir/key"
fact "nor does one whose connections are sealed" eval 'starts 0 1 && grep -v "^start" out | diff expected - >&2'
for wire in none lz4 seal lz4,seal; do
	kept 'python3 "$calls" sealed' -- $where --env CK_WIRE=$wire
	[[ $wire = *seal ]] && sealed=True || sealed=False
	fact "it tells nodes whether it seals: $wire" grep -qx "sealed: $sealed" out
done
kept '"$ckrun" --local -n 2 env "CK_IMAGES=$CK_IMAGES" CK_SHARE=0 CK_WIRE=seal "$programs/ends" exit 0; exit' -- -n 2 $where
fact "they want to know it" grep -q "^chard: CK_WIRE has seal on node [01], but not where ckrun was started" err
chmod 644 key
kept -- $where --env CK_WIRE=lz4,seal --env CK_WIRE_KEY="$dir/key"
fact "it needs a key that others cannot read" eval '[ $rc = 1 ] && [ ! -e keepers ] &&
	grep -qx "chard: CK_WIRE_KEY=$dir/key is refused: it must be a file that only its owner can read or write (chmod 600)" err'
kept -- $where --env CK_WIRE=lz4 --env CK_WIRE_KEY="$dir/key"
fact "and none without a seal" starts 0 1
echo 'echo "ssh: no way" >&2; exit 3' >no-keeper
kept -- $where
fact "without a keeper nothing starts" refused 1 "no keeper of images has come from host [ab], and hydra has ended: ssh: no way; the job is ended"
rm no-keeper
kept -- $where --launcher srun
fact "srun needs an allocation" refused 2 "needs an allocation of Slurm"
kept -- $where --replace-hung 1
fact "nobody looks for hung nodes" refused 2 "--replace-hung watches the nodes of one host"

# ---- nodes that do not meet -------------------------------------------------------------------
unmet="the nodes have not met within 2 s, and hydra has not ended"
replace=9 job 'met; exit 9' 'came; exec sleep 100' 'exit 1' 'came; exec sleep 100' -- $where --env CK_BOOT_TIMEOUT=1
fact "a launcher that does not end is ended" says "$unmet; starting again from the beginning .2 of 9."
fact "three failures in a row end the job" eval 'starts 1 4 && says "$unmet; the job is ended"'
kept 'came; exec sleep 100' -- $where --env CK_BOOT_TIMEOUT=1
fact "so does the first one, with keepers" eval 'starts 1 1 && says "$unmet; the job is ended"'
job 'sleep 2.4; came; met; sleep 2.7' -- $where --env CK_BOOT_TIMEOUT=1
fact "not if nobody has come, nor if they have met" starts 0 1

# ---- lost hosts ---------------------------------------------------------------------------
where="--hosts a:1,b.x:1,c:1 -n 2"
job 'note lost 1 0 b 10; exit 1' -- $where
fact "a lost host is left out, whatever its domain" eval 'line 2 "mpiexec.hydra -hosts a:1,c:1 -n 2 prog from nothing" &&
	says "node 1 is lost, and with it its host b; starting again without it, from the beginning .1 of 2.$"'
job 'note lost 1 0 b 10; exit 1' 'note lost 1 0 c 10; exit 1' -- $where
fact "if the others have no room the job ends" eval 'starts 1 2 && says "host c is lost, and the others have no room for its nodes"'
job 'note lost 1 0 d 10; exit 1' -- $where
fact "so it does if nobody knows the host" starts 1 1
job 'note lost 1 0 b 10; exit 1' -- --hosts a,b,c -n 3
fact "hosts without numbers of slots have room" line 2 "mpiexec.hydra -hosts a:2,c:1 -n 3 prog from nothing"
job 'note lost 1 0 b 10; trap "exit 0" TERM; while :; do sleep 0.1; done' -- $where
fact "a launcher that waits for a lost host is ended" starts 0 2
job 'note lost 1 0 b 10; trap "" TERM; exec sleep 100' -- $where
fact "and killed, if it does not end" starts 0 2
srun='srun --mpi=pmi2 --kill-on-bad-exit=1 --export=ALL --cpu-bind=none --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=1 --distribution=block'
job 'note lost 1 0 b 10; exit 1' -- $where --launcher srun
fact "srun, by names" line 2 "$srun --nodelist=a,c --overlap --exclude=b prog from nothing"
in_slurm() { SLURM_JOB_ID=1 SLURM_JOB_NUM_NODES=$1 job "${@:2}"; }
in_slurm 4 'note lost 1 0 b 10; exit 1' 'note lost 1 0 c 10; exit 1' -- -n 2
fact "srun in its allocation" line 3 "$srun --overlap --exclude=b,c prog from nothing"
in_slurm 2 'note lost 1 0 b 10; exit 1' -- -n 2
fact "which must have another host" starts 1 1
echo "$facts facts, $failed failed"
exit $((failed > 0))
