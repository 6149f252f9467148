# SPDX-License-Identifier: Apache-2.0
# median.awk: the median of list[1..n], which it sorts. Part of the awk programs here.

function median(list, n,    i, j, t) {
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
			t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
		}
	return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
