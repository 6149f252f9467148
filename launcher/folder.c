/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.c: the job's folder. It has the job's socket (control.c), and UCX's shared-memory files in
 * jobs whose nodes use UCX within their host.
 *
 * UCX makes a file, fills it, and then removes its name. A node that is killed in between leaves
 * the file behind. So the files of a job have a folder of their own, which is removed with the job.
 * A process of ours, the sweeper, waits for any end of ckrun, and removes the folder. Afterwards no
 * file can be made in it any more.
 *
 * Its name has ckrun's process id, so that others find it. Usually the nodes exchange everything in
 * nameless memory, and UCX is not opened; then the socket is all that is there.
 */
#include "launch.h"
#include "reach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES_PER_PE = 4 << 20, BYTES_OF_SOCKET = 1 << 12, TRIES = 1000, TRY_US = 1000 };

/** Whether the nodes may use UCX within their host: they are told to, or they may be unable to map
 * each other's memory, for lack of address space or because of a limit on file size. */
static bool is_wanted(void)
{
	static const char *const names[] = { "CK_SHARE", "CK_MACHINE", "UCX_TLS" };
	static const int limits[] = { RLIMIT_AS, RLIMIT_FSIZE };
	struct rlimit limit;

	if (getenv("UCX_POSIX_DIR"))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (getenv(names[i]))
			return true;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (!getrlimit(limits[i], &limit) && limit.rlim_cur != RLIM_INFINITY)
			return true;
	return false;
}

static bool has_room(const char *place, double bytes)
{
	struct statvfs fs;
	return !statvfs(place, &fs) &&
	       (double)fs.f_bavail * (double)fs.f_frsize >= bytes;
}

/** Make the folder in the first writable directory with enough space; "" when there is none. */
static void make_folder(struct launch_job *job, pid_t ckrun)
{
	const double bytes = job->for_ucx ? (double)job->o.n_pes * BYTES_PER_PE : BYTES_OF_SOCKET;
	char *path = job->folder;

	for (int i = 0; i < LAUNCH_PLACES; i++) {
		const char *place = launch_folder_place(i);

		if (!place || !has_room(place, bytes))
			continue;
		int n = snprintf(path, sizeof(job->folder), "%s/ckrun.%d.XXXXXX", place, (int)ckrun);
		if (n < (int)sizeof(job->folder) && mkdtemp(path))
			return;
	}
	path[0] = '\0';
}

static void remove_files(const char *folder)
{
	DIR *d = opendir(folder);
	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d));)
		unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
}

/* A node that is being killed may still make a file between two of our system calls. */
void launch_folder_delete(const char *folder)
{
	for (int i = 0; i < TRIES && rmdir(folder) && errno != ENOENT; i++) {
		remove_files(folder);
		if (i > 0)
			usleep(TRY_US);
	}
}

/** The sweeper makes the folder itself, so that it is never known to ckrun alone. It has its own
 * process group, which the job's signals do not reach, and no descriptors of others. */
_Noreturn static void sweep(struct launch_job *job, pid_t ckrun, int ckrun_fd)
{
	char byte;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, "ckrun-sweeper");
	dup2(ckrun_fd, STDIN_FILENO);
	close_range(STDIN_FILENO + 1, ~0U, 0);
	make_folder(job, ckrun);
	if (!job->folder[0])
		_exit(0);
	if (send(STDIN_FILENO, job->folder, sizeof(job->folder), 0) > 0)
		while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
			;
	launch_folder_delete(job->folder);
	_exit(0);
}

void launch_folder_make(struct launch_job *job)
{
	const pid_t ckrun = getpid();
	int fds[2];

	job->sweeper_fd = -1;
	job->for_ucx = is_wanted();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return;
	job->sweeper = fork();
	if (job->sweeper == 0)
		sweep(job, ckrun, fds[1]);
	close(fds[1]);
	job->sweeper_fd = fds[0];
	if (recv(fds[0], job->folder, sizeof(job->folder), MSG_WAITALL) != sizeof(job->folder))
		job->folder[0] = '\0';
}

void launch_folder_remove(struct launch_job *job)
{
	if (job->sweeper_fd >= 0)
		close(job->sweeper_fd);
	if (job->sweeper > 0)
		waitpid(job->sweeper, NULL, 0);
	if (job->folder[0])
		launch_folder_delete(job->folder); /* if the sweeper has been killed */
}
