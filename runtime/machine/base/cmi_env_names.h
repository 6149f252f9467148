/* SPDX-License-Identifier: Apache-2.0 */
/* cmi_env_names.h: the names of the environment variables, for names that are misspelt. */
#ifndef CMI_ENV_NAMES_H
#define CMI_ENV_NAMES_H

/** Print a line for each variable whose name begins with CK_ and that nothing reads; with the
 * name that is probably meant. */
void cmi_env_say_unknown(void);

#endif
