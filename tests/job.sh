# SPDX-License-Identifier: Apache-2.0
#
# job.sh: a job that goes on while a test looks at it. For scripts that source this; $ckrun is the launcher, and $dir
# a folder for what the job prints, in the files out and err.

# A zombie counts as gone: not every pid 1 reaps at once.
alive() { grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status"; }

# Sets job. The files are emptied before it is there, so that no line in them is an older job's.
job_start() { # what ckrun is told
	: >"$dir/out"
	: >"$dir/err"
	"$ckrun" --verbose "$@" >>"$dir/out" 2>>"$dir/err" &
	job=$!
}
# Wait until it has printed something.
job_prints() { # seconds at most
	for _ in $(seq $(($1 * 50))); do
		[ -s "$dir/out" ] && break
		sleep 0.02
	done
}
job_pids() { # pattern of the node's number
	sed -n "s/^ckrun: node $1 (.*pid \([0-9]*\)) started.*/\1/p" "$dir/err"
}
