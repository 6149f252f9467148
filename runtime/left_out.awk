# SPDX-License-Identifier: Apache-2.0
#
# left_out.awk: reads the sources of rooms that are left out of the library, and prints a file in C by which the linker
# names the room when a program calls a function of it: GNU ld says what stands in the section .gnu.warning.F where F is
# referred to. What only ckci's output calls, CkGen_..., has none: it says so of stubs, too, that nothing calls.

function room_of(file)
{
	sub(/^runtime\//, "", file)
	sub(/\/[^\/]*$/, "", file)
	return file
}

# A definition begins in the first column, and is no prototype.
/^[A-Za-z_].*[ *](Ck|Csd|Cth|Cmi|Ccd|pup_)[A-Za-z0-9]*\(/ && !/;$/ && !/^static/ {
	name = $0
	sub(/\(.*/, "", name)
	sub(/.*[ *]/, "", name)
	room = room_of(FILENAME)
	print "__asm__(\".section .gnu.warning." name ",\\\"\\\",@progbits\\n\\t.string \\\"" name \
		" is of the room " room ", which this library has been built without\\\"\");"
}
