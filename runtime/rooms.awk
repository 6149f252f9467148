# SPDX-License-Identifier: Apache-2.0
#
# rooms.awk: reads the lists of rooms (rooms.list in the folder of each layer), for make.
#
#   awk -v without="NAME ..." -f rooms.awk LIST ...             which folders are left out
#   awk -v left_out="FOLDER ..." -v tables=1 -f rooms.awk LIST  a header with the layer's tables
#
# A line of a list is a room, from the bottom of the layer to its top:
#
#   spine ROOM [LINE ...]                       always there
#   room  ROOM [calls ROOM ...] [: LINE ...]    may be left out, and is when one that it calls is
#
# ROOM is a folder in the list's own, or in runtime/. LINE is TABLE(WORDS), without blanks: it becomes X(WORDS) in the
# macro TABLE(X) of the header, so what stands in a table of the layer is what has been built.

BEGIN { is_chosen["all"] = 0; n_names = split(without, names); n_gone = split(left_out, gone) }

/^#/ || !NF { next }

{
	layer = FILENAME
	sub(/\/[^\/]*$/, "", layer)
	room = layer "/" $2
	order[++n_rooms] = room
	may_go[room] = $1 == "room"
	for (i = 3; i <= NF; i++)
		if ($i ~ /\(/)
			add_line(room, $i)
		else if ($i != "calls" && $i != ":")
			calls[room] = calls[room] " " $i
}

function add_line(room, text,    table, words)
{
	table = words = text
	sub(/\(.*/, "", table)
	sub(/^[^(]*/, "", words)
	if (!(table in lines))
		tables_known[++n_tables] = table
	lines[table] = lines[table] (is_left_out(room) ? "" : " \\\n\tX" words)
}

function is_left_out(room,    i)
{
	for (i = 1; i <= n_gone; i++)
		if (gone[i] == room)
			return 1
	return 0
}

# The room that `name` is in a list of `layer`'s, or anywhere: balance, chare/balance, runtime/chare/balance.
function is_named(room, name)
{
	return room == name || substr(room, length(room) - length(name)) == "/" name
}

function leave_out(room)
{
	if (is_out[room])
		return 0
	is_out[room] = 1
	return 1
}

# A room whose name is part of what is left out: a folder within it goes along.
function goes_along(room,    n, i, called, other)
{
	for (other in is_out)
		if (is_out[other] && index(room, other "/") == 1)
			return 1
	n = split(calls[room], called)
	for (i = 1; i <= n; i++)
		for (other in is_out)
			if (is_out[other] && is_named(other, called[i]))
				return 1
	return 0
}

function choose(name,    i, found)
{
	for (i = 1; i <= n_rooms; i++)
		if (may_go[order[i]] && (name == "all" || is_named(order[i], name)))
			found = 1 + leave_out(order[i])
	if (!found) {
		printf "WITHOUT=%s: there is no such room that can be left out\n", name >"/dev/stderr"
		exit failed = 1
	}
}

function print_left_out(    i, more)
{
	for (i = 1; i <= n_names; i++)
		choose(names[i])
	do {
		more = 0
		for (i = 1; i <= n_rooms; i++)
			if (may_go[order[i]] && goes_along(order[i]))
				more += leave_out(order[i])
	} while (more)
	for (i = 1; i <= n_rooms; i++)
		if (is_out[order[i]])
			print order[i]
}

function print_tables(    i)
{
	print "/* Made by make of " FILENAME ": what stands in the tables of the layer. */"
	for (i = 1; i <= n_tables; i++)
		print "#define " tables_known[i] "(X)" lines[tables_known[i]]
}

END {
	if (!failed && tables)
		print_tables()
	else if (!failed)
		print_left_out()
	exit failed
}
