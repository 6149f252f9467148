/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_watch.h: the table by which the machine calls what watches the other hosts of a job:
 * heartbeats and guarded ports (hosts/). It comes from rooms.list, so both can be left out.
 */
#ifndef HOST_WATCH_H
#define HOST_WATCH_H

struct cmi;
struct pulse_name;

/** Members may be NULL. All but connected run on the main thread. */
struct host_watch {
	/** The job is known. */
	void (*open)(struct cmi *m);
	/** The data that other nodes need of ours, which is zeroed; what node `node` published. */
	void (*describe)(const struct cmi *m, struct pulse_name *name_p);
	void (*learn)(struct cmi *m, int node, const struct pulse_name *name);
	/** All is learnt; and the last fence of the start is over. */
	void (*start)(struct cmi *m);
	void (*started)(struct cmi *m);
	/** Any thread, one at a time. Ask the other hosts what is seen there (cmi_look); and the last
	 * answer, as cmi_seen. */
	void (*look)(struct cmi *m);
	uint64_t (*seen)(struct cmi *m, int node, char *to);
	/** All nodes have passed the last fence. */
	void (*close)(struct cmi *m);
	/** Any thread. There is a connection to that node now. `lanes` is UCX's text about it, which names
	 * the devices. */
	void (*connected)(struct cmi *m, int node, const char *lanes);
};

extern const struct host_watch pulse_host_watch, guard_host_watch;

/** Call one member of all that m->host_watches lists. */
#define HOST_WATCHES(m, member, ...)                                              \
	do {                                                                      \
		for (const struct host_watch *const *hw = (m)->host_watches; *hw; hw++) \
			if ((*hw)->member)                                        \
				(*hw)->member(__VA_ARGS__);                       \
	} while (0)

#endif
