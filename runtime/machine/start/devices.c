/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devices.c: see devices.h. Two kinds of devices are left out. First, one whose address another
 * host has, too: the bridges of Docker and libvirt look like that on every host. Second, one
 * without hardware in whose network no other host is (flannel's, or a bridge that only this host
 * has), if another device shares a network with every other host; where hosts are reached through
 * routers it might be the path.
 *
 * UCX_NET_DEVICES can only name the devices to be used, including those for RDMA (UCX 1.13). So
 * where there are RDMA devices, nothing is chosen.
 */
#include "devices.h"

#include <dirent.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/cmi_alloc.h"
#include "../tools/cmi_hash.h"
#include "../base/say.h"

/* ---- this host ------------------------------------------------------------------------- */

/** The bytes of an IP address or mask; *n_p: how many. */
static const unsigned char *address_bytes(const struct sockaddr *s, size_t *n_p)
{
	if (s->sa_family == AF_INET) {
		*n_p = sizeof(struct in_addr);
		return (const unsigned char *)&((const struct sockaddr_in *)(const void *)s)->sin_addr;
	}
	*n_p = sizeof(struct in6_addr);
	return (const unsigned char *)&((const struct sockaddr_in6 *)(const void *)s)->sin6_addr;
}

static bool device_usable(const struct ifaddrs *a, int family)
{
	const unsigned needed = IFF_UP | IFF_RUNNING;

	if (!a->ifa_addr || !a->ifa_netmask || a->ifa_addr->sa_family != family)
		return false;
	if ((a->ifa_flags & needed) != needed || a->ifa_flags & IFF_LOOPBACK)
		return false;
	return family == AF_INET ||
	       !IN6_IS_ADDR_LINKLOCAL(
		       &((const struct sockaddr_in6 *)(const void *)a->ifa_addr)->sin6_addr);
}

static bool has_device(const struct devices *d, const char *device)
{
	for (int i = 0; i < d->n; i++)
		if (!strcmp(d->at[i].device, device))
			return true;
	return false;
}

static void add_device(struct devices *d, const struct ifaddrs *a)
{
	size_t n;
	const unsigned char *address = address_bytes(a->ifa_addr, &n),
			    *mask = address_bytes(a->ifa_netmask, &n);
	uint64_t network = cmi_hash(CMI_HASH_START, mask, n);
	char path[64];

	if (d->n == DEVICES_MOST) {
		d->more = true;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const unsigned char byte = address[i] & mask[i];

		network = cmi_hash(network, &byte, 1);
	}
	d->name.at[d->n].address = cmi_hash(CMI_HASH_START, address, n);
	d->name.at[d->n].network = network;
	snprintf(path, sizeof path, "/sys/class/net/%s/device", a->ifa_name);
	d->at[d->n].soft = access(path, F_OK) != 0;
	snprintf(d->at[d->n].device, IFNAMSIZ, "%s", a->ifa_name);
	d->n++;
}

static uint64_t host_of_devices(void)
{
	uint64_t h = CMI_HASH_START;
	char text[64];
	struct stat st;
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (f && fgets(text, sizeof text, f))
		h = cmi_hash(h, text, strlen(text));
	if (f)
		fclose(f);
	return stat("/proc/self/ns/net", &st) ? h : cmi_hash(h, &st.st_ino, sizeof st.st_ino);
}

/* One address for each device: IPv4 if it has one, as UCX takes it. */
void devices_look(struct devices *d)
{
	static const int families[] = {AF_INET, AF_INET6};
	struct ifaddrs *all;

	memset(d, 0, sizeof *d);
	d->name.host = host_of_devices();
	if (getifaddrs(&all))
		return;
	for (int f = 0; f < 2; f++)
		for (const struct ifaddrs *a = all; a; a = a->ifa_next)
			if (device_usable(a, families[f]) && !has_device(d, a->ifa_name))
				add_device(d, a);
	freeifaddrs(all);
}

/* ---- the others ------------------------------------------------------------------------- */

void devices_compare(struct devices *d, const struct devices_name *other)
{
	if (other->host == d->name.host)
		return;
	d->n_others++;
	for (int i = 0; i < d->n; i++) {
		bool neighbour = false;

		for (int k = 0; k < DEVICES_MOST; k++) {
			const bool same = other->at[k].address == d->name.at[i].address;

			d->at[i].elsewhere |= same;
			neighbour |= !same && other->at[k].network == d->name.at[i].network;
		}
		d->at[i].n_near += neighbour;
	}
}

/* ---- the choice ------------------------------------------------------------------------- */

static bool has_rdma(void)
{
	DIR *folder = opendir("/sys/class/infiniband");
	bool any = false;

	for (const struct dirent *e; folder && (e = readdir(folder));)
		any |= e->d_name[0] != '.';
	if (folder)
		closedir(folder);
	return any;
}

/** Whether one device leads to all other hosts. */
static bool one_is_enough(const struct devices *d)
{
	for (int i = 0; i < d->n; i++)
		if (!d->at[i].elsewhere && d->at[i].n_near == d->n_others)
			return true;
	return false;
}

static void add_word(char *list, const char *between, const char *word)
{
	if (*list)
		strcat(list, between);
	strcat(list, word);
}

void devices_choose(const struct devices *d, const char *said)
{
	char kept[DEVICES_MOST * (IFNAMSIZ + 2)] = "", out[sizeof kept] = "";
	const bool enough = one_is_enough(d);

	if (d->n_others == 0 || d->more || getenv("UCX_NET_DEVICES") || has_rdma())
		return;
	for (int i = 0; i < d->n; i++)
		if (d->at[i].elsewhere || (!d->at[i].n_near && d->at[i].soft && enough))
			add_word(out, ", ", d->at[i].device);
		else
			add_word(kept, ",", d->at[i].device);
	if (!*kept || !*out)
		return;
	if (setenv("UCX_NET_DEVICES", kept, 0))
		cmi_no_memory(sizeof kept, "UCX's settings");
	if (said)
		machine_say(
			"host %s leaves out %s: no path to the job's other hosts (UCX_NET_DEVICES=%s)",
			said, out, kept);
}
