/* What a program includes before elsewhere.decl.h. */
#include "messages.decl.h"

enum { WEIGHTS = 5 };
#define TEXT_BYTES 256
