/* SPDX-License-Identifier: Apache-2.0 */
/* reach.h: finds the control socket of a job (control.c); for ckrun and ckctl. */
#ifndef LAUNCH_REACH_H
#define LAUNCH_REACH_H

/** The directories in which a job's folder may be, in the order in which they are tried. Some may
 * be NULL. */
enum { LAUNCH_PLACES = 3 };
const char *launch_folder_place(int i);

/** Connect to "FOLDER/control", or to the path itself if it is no folder. -1 with errno: nobody
 * listens. */
int reach_path(const char *path);
/** Connect to a job: the process id of its ckrun, its folder, or the socket. -1 with errno. */
int reach_job(const char *job);

#endif
