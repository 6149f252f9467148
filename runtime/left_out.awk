# SPDX-License-Identifier: Apache-2.0
#
# left_out.awk: reads the sources of rooms that are left out of the library, and prints a file in C by which the linker
# names the room when a program calls a function of it.
#
#   awk -v rooms="FOLDER ..." -f left_out.awk SOURCE ...             for libchard.a
#   awk -v rooms="FOLDER ..." -v shared=1 -f left_out.awk SOURCE ...  for libchard.so
#
# The rooms are all that are left out; a source lies in one of them, or in a folder of one.
#
# In libchard.a each of these functions is defined, and calls one of the room's name that nobody defines. So the error
# comes only where a function is called: a stub of ckci's that nothing calls goes with its section. libchard.so may
# refer to nothing that is not there. It has a section .gnu.warning.F for a function F, which GNU ld prints where F is
# referred to; none for what only ckci's output calls, CkGen_..., since ld would say so of stubs that nothing calls.

BEGIN { n_rooms = split(rooms, left) }

# The innermost room that has the file.
function room_of(file,    i, found)
{
	for (i = 1; i <= n_rooms; i++)
		if (index(file, left[i] "/") == 1 && length(left[i]) > length(found))
			found = left[i]
	sub(/^runtime\//, "", found)
	return found
}

function print_call(name, room)
{
	gsub(/\//, "_", room)
	room = "chard_has_been_built_without_the_room_" room
	print "void " room "(void);\nvoid " name "(void);\nvoid " name "(void) { " room "(); }"
}

function print_warning(name, room)
{
	print "__asm__(\".section .gnu.warning." name ",\\\"\\\",@progbits\\n\\t.string \\\"" name \
		" is of the room " room ", which this library has been built without\\\"\");"
}

# A definition begins in the first column, and is no prototype.
/^[A-Za-z_].*[ *](Ck|Csd|Cth|Cmi|Ccd|pup_)[A-Za-z0-9_]*\(/ && !/;$/ && !/^static/ {
	if (!shared && room_of(FILENAME) != room_of(ARGV[1])) # of a room within it, which has a file of its own
		next
	name = $0
	sub(/\(.*/, "", name)
	sub(/.*[ *]/, "", name)
	if (!shared)
		print_call(name, room_of(FILENAME))
	else if (name !~ /^CkGen_/)
		print_warning(name, room_of(FILENAME))
}
