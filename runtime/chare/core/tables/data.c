/* SPDX-License-Identifier: Apache-2.0 */
/* data.c: see data.h. */
#include "data.h"

static const struct { const char *name; size_t bytes; } data_types[] = {
	[CK_NOTYPE] = { "nothing", 0 },
	[CK_BYTE] = { "bytes", 1 },
	[CK_CHAR] = { "char", sizeof(char) },
	[CK_SHORT] = { "short", sizeof(short) },
	[CK_INT] = { "int", sizeof(int) },
	[CK_LONG] = { "long", sizeof(long) },
	[CK_LONGLONG] = { "long long", sizeof(long long) },
	[CK_UCHAR] = { "unsigned char", sizeof(char) },
	[CK_USHORT] = { "unsigned short", sizeof(short) },
	[CK_UINT] = { "unsigned", sizeof(unsigned) },
	[CK_ULONG] = { "unsigned long", sizeof(long) },
	[CK_ULONGLONG] = { "unsigned long long", sizeof(long long) },
	[CK_FLOAT] = { "float", sizeof(float) },
	[CK_DOUBLE] = { "double", sizeof(double) },
	[CK_BOOL] = { "bool", sizeof(bool) },
	[CK_STATISTICS] = { "statistics", sizeof(CkReductionStatistics) },
	[CK_SET] = { "a set", 0 },
	[CK_TUPLE] = { "a tuple", 0 },
	[CK_ARRAYID] = { "array ids", sizeof(CkArrayID) },
};

size_t data_type_bytes(CkDataType type)
{
	return (unsigned)type <= CK_ARRAYID ? data_types[type].bytes : 0;
}

const char *data_type_name(CkDataType type)
{
	return (unsigned)type <= CK_ARRAYID ? data_types[type].name : "an unknown type";
}

bool data_as(CkReductionMsg *m, CkDataType type)
{
	size_t each = data_type_bytes(type);

	if (m->type == CK_BYTE && type != CK_BYTE && each && m->bytes % each == 0) {
		m->count = m->bytes / each;
		m->type = type;
	}
	return m->type == type;
}
