# SPDX-License-Identifier: Apache-2.0
# tables.awk: awk -F, -f bench/tables.awk summary.csv: our medians in the columns of the papers that
# Chard comes from, so that they can be laid beside each other. A table whose figures were not
# measured is left out.

# columns: "HEADING=NAME" or "HEADING=NAME*FACTOR", with blanks between. A row for each parameter that
# one of them has.
function table(title, what, columns,
		c, r, n, i, spec, part, half, head, name, factor, rows, row, seen, t) {
	n = split(columns, spec, " ")
	rows = 0
	for (c = 1; c <= n; c++) {
		split(spec[c], part, "=")
		head[c] = part[1]
		factor[c] = split(part[2], half, "*") == 2 ? half[2] : 1
		name[c] = half[1]
		for (i = 1; i <= n_at[name[c]]; i++)
			if (!(at_of[name[c], i] in seen)) {
				seen[at_of[name[c], i]] = 1
				row[++rows] = at_of[name[c], i]
			}
	}
	if (!rows)
		return
	for (i = 2; i <= rows; i++)
		for (r = i; r > 1 && row[r - 1] + 0 > row[r] + 0; r--) {
			t = row[r]; row[r] = row[r - 1]; row[r - 1] = t
		}
	printf "%s\n\n%10s", title, what
	for (c = 1; c <= n; c++)
		printf " %12s", head[c]
	print ""
	for (r = 1; r <= rows; r++) {
		printf "%10s", row[r] == 0 && what == "" ? "" : row[r]
		for (c = 1; c <= n; c++)
			if ((name[c], row[r]) in value)
				printf " %12.4g", value[name[c], row[r]] * factor[c]
			else
				printf " %12s", "-"
		print ""
	}
	print ""
}

function logp(path, where) {
	table("LogP of " path "s between " where ", us (Split-C over VIA, Table 6-1: L 45, o_s 3, o_r 5, g 50)",
		"bytes", "L=logp-" path "-L-" where " o_s=logp-" path "-o_send-" where \
		" o_r=logp-" path "-o_recv-" where " g=logp-" path "-g-" where)
}

FNR > 1 {
	if (!(($2, $3) in value))
		at_of[$2, ++n_at[$2]] = $3
	value[$2, $3] = $4
}
END {
	table("Latency one way, us, between processes (Charm++ on VMI, Figures 6.1-6.4, right: Converse is our Cmi, Charm++ our Ck)",
		"bytes", "Cmi=cmi-rtt-nodes*.5 Ck=chare-rtt-nodes*.5 " \
		"OpenMPI=rtt-openmpi*.5 MPICH=rtt-mpich*.5")
	table("Bandwidth, 10^6 bytes/s, between processes (Figures 6.1-6.4, left)",
		"bytes", "Cmi=cmi-bandwidth-nodes Ck=chare-bandwidth-nodes " \
		"channel=channel-bandwidth-nodes OpenMPI=bandwidth-openmpi MPICH=bandwidth-mpich")
	table("Latency one way, us, between threads", "bytes",
		"Cmi=cmi-rtt-threads*.5 Ck=chare-rtt-threads*.5")
	table("Bandwidth, 10^6 bytes/s, between threads", "bytes",
		"Cmi=cmi-bandwidth-threads Ck=chare-bandwidth-threads " \
		"channel=channel-bandwidth-threads")
	table("Messages per second, 10^6, between processes", "bytes",
		"Cmi=cmi-rate-nodes Ck=chare-rate-nodes channel=channel-rate-nodes " \
		"OpenMPI=rate-openmpi MPICH=rate-mpich")
	table("Method invocation, ns (ARMI, Table II)", "",
		"direct=call-direct pointer=call-pointer entry=local-hop queued=local-call")
	table("The same, instructions", "",
		"direct=call-direct-instructions pointer=call-pointer-instructions " \
		"entry=local-instructions queued=local-call-instructions")
	table("Ping-pong of messages, us (ARMI, Table III, where the payload is empty)", "bytes",
		"explicit=floor-threads threads=message-threads OpenMPI=mpi-openmpi " \
		"MPICH=mpi-mpich processes=message-nodes")
	table("k pings, one pong, us per ping (ARMI, Figures 8 and 9, without aggregation)", "k",
		"threads=kpings-each-threads*.001 processes=kpings-each-nodes*.001 " \
		"OpenMPI=kpings-each-openmpi*.001 MPICH=kpings-each-mpich*.001")
	table("The same with aggregation, between processes, ns per ping", "k",
		"plain=kpings-each-nodes 1=kpings-a1-each-nodes 2=kpings-a2-each-nodes " \
		"4=kpings-a4-each-nodes 8=kpings-a8-each-nodes 16=kpings-a16-each-nodes " \
		"32=kpings-a32-each-nodes 64=kpings-a64-each-nodes 128=kpings-a128-each-nodes " \
		"256=kpings-a256-each-nodes 512=kpings-a512-each-nodes 1024=kpings-a1024-each-nodes " \
		"2048=kpings-a2048-each-nodes by-hand-OpenMPI=kpings-a512-each-openmpi " \
		"by-hand-MPICH=kpings-a512-each-mpich memory=kpings-bare512-each-threads")
	table("The same through UCX", "k",
		"plain=kpings-each-nodes-ucx 1=kpings-a1-each-nodes-ucx 2=kpings-a2-each-nodes-ucx " \
		"4=kpings-a4-each-nodes-ucx 8=kpings-a8-each-nodes-ucx 16=kpings-a16-each-nodes-ucx " \
		"32=kpings-a32-each-nodes-ucx 64=kpings-a64-each-nodes-ucx " \
		"128=kpings-a128-each-nodes-ucx 256=kpings-a256-each-nodes-ucx " \
		"512=kpings-a512-each-nodes-ucx 1024=kpings-a1024-each-nodes-ucx " \
		"2048=kpings-a2048-each-nodes-ucx")
	table("Barrier on 2 PEs, us (ARMI, Figures 10-12)", "",
		"threads=barrier-group-threads processes=barrier-group-nodes " \
		"OpenMPI=barrier-group-openmpi MPICH=barrier-group-mpich quiescence=quiescence-idle-nodes")
	logp("message", "nodes")
	logp("channel", "nodes")
	logp("message", "threads")
	logp("channel", "threads")
	table("Round trip, us (CkDirect, Table 1)", "bytes",
		"message=message-nodes CkDirect=channel-nodes OpenMPI=mpi-openmpi MPICH=mpi-mpich " \
		"OpenMPI-put=mpi-openmpi-put MPICH-put=mpi-mpich-put")
}
