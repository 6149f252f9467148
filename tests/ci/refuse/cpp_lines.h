/* SPDX-License-Identifier: Apache-2.0 */
/* Read by cpp_lines.ci. */
message M { int n; int *p; };
