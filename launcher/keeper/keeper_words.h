/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_words.h: what ckrun and its keepers say to each other, and keepers among themselves, by
 * TCP. All are the same program, so structures go as they lie in memory.
 *
 *	whoever is called   CHALLENGE  a random number
 *	whoever calls       HELLO      proves with it that it knows the job's key, and gives a number
 *	whoever is called   WELCOME    proves the same
 *
 * If CK_WIRE has seal, CHALLENGE and HELLO bring public keys, too, and all that follows is sealed
 * (keeper_seal.c).
 *
 *	ckrun -> keeper     STOP       kill the nodes. Answer: STOPPED, with what is here
 *	                    START      nodes may come; where the images are. Answer: READY
 *	                    NEIGHBOUR  another one holds your images from now on. No answer
 *	keeper -> ckrun     CAME, MET, NOTE  of a node (cmi_note.h)
 *	                    SAY        a line for the user
 *	                    WARN       the same, of what somebody has done on the network
 *
 *	keeper -> keeper    FETCH      give me this image. Answer: its size and its bytes
 *	                    PUT        hold this image, whose bytes follow. Answer when all are there;
 *	                               then one word whether they hold, and an answer again
 *
 * A keeper ends when ckrun's connection does.
 */
#ifndef KEEPER_WORDS_H
#define KEEPER_WORDS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "../../runtime/image/image_keeper.h"
#include "../../runtime/machine/filter/seal.h"
#include "../../runtime/machine/tools/cmi_mac.h"

/** What ckrun gives its keepers, all in one variable: NAME KEY WIRE PORT HOST ADDRESS... WIRE is
 * one of the words below. */
#define KEEPER_VARIABLE "CK_KEEPER"
/** ckrun's first argument where it is to be a keeper. */
#define KEEPER_OPTION "--keeper"
#define KEEPER_SEALED "sealed"
#define KEEPER_PLAIN "plain"

enum {
	KEEPER_NAME = 256,       /* of a host */
	KEEPER_ADDRESSES = 32,   /* of ckrun's host */
	KEEPER_SILENT_S = 8,     /* a host that answers nothing for so long is lost */
	KEEPER_PEER_S = 20,      /* a keeper that moves no byte of an image for so long */
	KEEPER_FRAME = 64 << 10, /* bytes that are sealed together, at most */
};

/** What shows that somebody is of the job, and what its connections are sealed with. */
struct keeper_secret {
	struct cmi_key128 key;   /* the job's; as text it has 32 digits */
	bool seals;              /* CK_WIRE has seal */
	bool has_file;           /* CK_WIRE_KEY is set */
	uint8_t file_key[SEAL_KEY]; /* its hash */
};

/** One direction of a sealed connection. */
struct keeper_way {
	struct seal *seal;
	uint64_t number;         /* of its next frame */
	unsigned char frame[KEEPER_FRAME + SEAL_TAG];
};

/** A connection. One thread sends at a time, and one takes. */
struct keeper_link {
	int fd;                  /* -1: there is none */
	struct keeper_way *in, *out; /* NULL: not sealed, or not yet */
	bool spoiled;            /* a frame has come that does not open */
};

/** Keys are 0 where nothing is sealed. */
struct keeper_challenge {
	uint64_t nonce[2];
	uint8_t public_key[SEAL_KEY];
	uint32_t has_aes, unused;
};

/** What whoever is called remembers of it. */
struct keeper_greeting {
	struct keeper_challenge challenge;
	uint8_t secret_key[SEAL_KEY];
};

/** Who calls. */
struct keeper_hello {
	uint64_t nonce[2];
	uint8_t public_key[SEAL_KEY];
	char host[KEEPER_NAME];  /* as it calls itself */
	char name[KEEPER_NAME];  /* as its launcher calls it */
	uint32_t port;           /* where other keepers reach it */
	uint32_t idle;           /* another keeper of the job serves this host */
	uint32_t has_aes, unused;
	uint64_t mac;            /* of the challenge and all before */
};

struct keeper_welcome {
	uint64_t mac;            /* of the challenge and the whole HELLO */
};

enum keeper_word {
	KEEPER_STOP = 1, KEEPER_START, KEEPER_NEIGHBOUR, KEEPER_STOPPED, KEEPER_READY, KEEPER_CAME,
	KEEPER_MET, KEEPER_NOTE, KEEPER_SAY, KEEPER_WARN,
};

/** One of these words; STOPPED is followed by keeper_state, START by keeper_start. */
struct keeper_say {
	uint32_t word;
	uint32_t start;          /* CAME, MET, NOTE */
	int32_t neighbour;       /* NEIGHBOUR: as keeper_start.mirror */
	char text[IMAGE_KEEPER_TEXT]; /* NOTE, SAY, WARN; ends with 0 */
};

/** image_since. */
struct keeper_since {
	uint64_t up_ns, died_ns, lost_ns, down_ns;
};

/** What is known of a checkpoint. */
struct keeper_info {
	uint64_t sequence;       /* 0: nothing */
	struct image_info info;
};

enum { KEEPER_INFOS = 2 * IMAGE_SLOTS }; /* of the page, and of the mirrors */

/** An image that is complete. */
struct keeper_image {
	uint64_t sequence, job;
	uint32_t node;
	uint32_t mirrored;       /* it is another host's */
};

/** STOPPED: what is here. Then come the images. */
struct keeper_state {
	uint64_t now_ns;         /* of this host, as all its times */
	struct keeper_since since;
	struct keeper_info info[KEEPER_INFOS];
	uint32_t left;           /* nodes that could not be killed */
	uint32_t n_images;
};

/** START: how the job goes on. Then come n_peers addresses, and n_nodes places. */
struct keeper_start {
	uint64_t now_ns;         /* of ckrun's host, as all times here */
	struct keeper_since since;
	struct keeper_info from; /* sequence 0: from the beginning */
	uint64_t restarts;
	uint32_t n_peers, n_nodes;
	uint32_t me;             /* the receiver, among the peers */
	int32_t mirror;          /* the peer that holds its images, too; -1: nobody */
};

/** Where the image of a node is. */
struct keeper_place {
	uint32_t peer, mirrored;
};

enum { KEEPER_FETCH = 1, KEEPER_PUT };

/** keeper -> keeper. */
struct keeper_ask {
	uint32_t word, node;
	uint64_t sequence, bytes;
	uint32_t mirrored;       /* FETCH */
	uint32_t committed;      /* PUT: info is valid */
	uint64_t now_ns;         /* of the sender's host, as info's time */
	struct image_info info;
};

struct keeper_reply {
	uint32_t ok;
	uint64_t bytes;          /* FETCH */
	char why[IMAGE_KEEPER_TEXT];
};

/* ---- keeper_seal.c ------------------------------------------------------------------------- */

/** What becomes of a frame that does not open, for a line that says whose it is. */
extern const char keeper_not_opened[];

/** Add to the job's key what CK_WIRE_KEY says, if connections are sealed. What is wrong with
 * CK_WIRE or CK_WIRE_KEY ends the process with a line. */
void keeper_secret_open(struct keeper_secret *s, struct cmi_key128 key, bool seals);
/** A pair of keys for one greeting. */
void keeper_seal_keys(const struct keeper_secret *s, uint8_t public_key[SEAL_KEY],
		      uint8_t secret_key[SEAL_KEY], uint32_t *has_aes);
/** Both have greeted each other: from now on the connection is sealed, if those of the job are.
 * False: the other public key is none. */
bool keeper_seal(struct keeper_link *l, const struct keeper_secret *s, bool calls,
		 const struct keeper_challenge *c, const struct keeper_hello *hello,
		 const uint8_t secret_key[SEAL_KEY]);
/** Forget its keys. */
void keeper_seal_end(struct keeper_link *l);
/** At most KEEPER_FRAME bytes that lie at `from`, which may be l->out->frame, become a frame in
 * l->out->frame. Returns its size. */
size_t keeper_seal_frame(struct keeper_link *l, const void *from, size_t n);
/** The frame of n plain bytes that has come lies in l->in->frame. False: it does not open. */
bool keeper_open_frame(struct keeper_link *l, void *to, size_t n);

/* ---- keeper_net.c -------------------------------------------------------------------------- */

/** A socket on which anybody may call, with any address of this host. -1 with errno. */
int keeper_listen(uint16_t *port);
/** Call. -1 with errno; ETIMEDOUT after timeout_ms. */
int keeper_call(const struct sockaddr_storage *to, int timeout_ms);
/** A connection whose other end is lost breaks. */
void keeper_watch(int fd);
/** A connection on which nothing moves for so long breaks, too. 0: it does not. */
void keeper_bound(int fd, int seconds);
/** The end of a connection. */
void keeper_close(struct keeper_link *l);

/* A frame has no length that somebody could change: what is sent by one call is taken by one call
 * of the same size, and both cut it alike. */

/** All of it. False: the connection is broken, or (l->spoiled) what came does not open. */
bool keeper_send(struct keeper_link *l, const void *data, size_t n);
bool keeper_send_file(struct keeper_link *l, int from, uint64_t at, uint64_t n);
bool keeper_take(struct keeper_link *l, void *data, size_t n);
/** Take n bytes, at most KEEPER_FRAME, if all are there. 0: they are not; -1: as false. */
int keeper_take_now(struct keeper_link *l, void *data, size_t n);

/** Whoever calls: prove oneself, and check the other end. Sets what proves it in HELLO. False with
 * errno EPERM: the other end, or we, saw no proof. */
bool keeper_greet(struct keeper_link *l, const struct keeper_secret *s, struct keeper_hello *hello);
/** Whoever is called. */
bool keeper_challenge(struct keeper_link *l, const struct keeper_secret *s,
		      struct keeper_greeting *g);
bool keeper_welcome(struct keeper_link *l, const struct keeper_secret *s,
		    const struct keeper_greeting *g, const struct keeper_hello *hello);

/** CLOCK_MONOTONIC. */
uint64_t keeper_now_ns(void);
/** A time of another host's clock, which shows `theirs` where ours shows `ours`. 0 stays 0. */
uint64_t keeper_time(uint64_t at_ns, uint64_t theirs, uint64_t ours);
/** All times of it. */
struct keeper_since keeper_since_here(struct keeper_since s, uint64_t theirs, uint64_t ours);

#endif
