/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmi_note.h: a node notes how its job ends, in a file or to its host's keeper. ckrun needs that
 * where another launcher starts the nodes: from the launcher's exit code it cannot tell a node that
 * was killed from a program that ends with a code of its own. What a program decides is noted; a
 * node that is killed cannot note anything.
 *
 * CK_NOTES=FOLDER/N is the N-th start of a job. The first node that comes makes FOLDER/N.came, and
 * node 0 makes FOLDER/N.met when all have met: a launcher may not end when nodes have died before.
 * The first node that ends the job makes FOLDER/N, with one line:
 *
 *	KIND NUMBER NODE HOST MS      MS: milliseconds since the nodes have met
 *
 *	exit CODE       CkExit
 *	abort CODE      CkAbort, the watchdog, a call of exit: the program would do it again
 *	fault SIGNAL    a fault of the program
 *	lost NODE       no sign of life from that node; HOST is its host
 *
 * CK_NOTES=@NAME/N does the same without files: this host's keeper (image_keeper.h) listens at the
 * abstract Unix socket "@NAME.notes" and gets the packets "N came", "N met" and
 * "N KIND NUMBER NODE HOST MS".
 *
 * Nothing else is noted before the nodes have met, and nothing without CK_NOTES.
 */
#ifndef CMI_NOTE_H
#define CMI_NOTE_H

enum cmi_note { CMI_NOTE_EXIT, CMI_NOTE_ABORT, CMI_NOTE_FAULT, CMI_NOTE_LOST };

/** Main thread, once for each process, before it joins the job: read CK_NOTES, and note that we
 * have come. */
void cmi_note_open(void);

/** All nodes have met; this is number `node`. */
void cmi_note_met(int node);

/** Note the end, if no node has done so before. `host` NULL: ours. Any thread;
 * async-signal-safe. */
void cmi_note_end(enum cmi_note kind, int number, const char *host);

/** What names the job in the lock of a folder of checkpoints: the same for all starts of a job, so
 * that one does not wait for an earlier one, which is dead. "": nothing does. */
const char *cmi_note_job(void);

#endif
