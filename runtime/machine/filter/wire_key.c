/* SPDX-License-Identifier: Apache-2.0 */
/* wire_key.c: see wire_key.h. */
#include "wire_key.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/cmi_env.h"

enum { FILE_LEAST = 32, FILE_MOST = 4096 };

bool wire_seals(void)
{
	static const char word[] = "seal";
	const char *at = cmi_env_text("CK_WIRE");

	for (; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == strlen(word) && !strncmp(at, word, strlen(word)))
			return true;
	return false;
}

bool wire_key_read(uint8_t key[SEAL_KEY])
{
	const char *path = cmi_env_text("CK_WIRE_KEY");
	uint8_t bytes[FILE_MOST];
	struct stat st;
	ssize_t n;
	int fd;

	if (!path)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st))
		cmi_env_refuse("CK_WIRE_KEY", path,
			       "a file that can be read on every host of the job");
	if (!S_ISREG(st.st_mode) || st.st_mode & (S_IRWXG | S_IRWXO))
		cmi_env_refuse("CK_WIRE_KEY", path,
			       "a file that only its owner can read or write (chmod 600)");
	n = read(fd, bytes, sizeof bytes);
	close(fd);
	if (n < FILE_LEAST)
		cmi_env_refuse("CK_WIRE_KEY", path,
			       "a file of 32 or more random bytes (head -c 32 /dev/urandom >FILE)");
	seal_hash(key, SEAL_KEY, bytes, (size_t)n, NULL);
	seal_wipe(bytes, sizeof bytes);
	return true;
}
