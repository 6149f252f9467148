/* SPDX-License-Identifier: Apache-2.0 */
/* Read by cpp.ci. */
message Part { int n; double v[]; };
