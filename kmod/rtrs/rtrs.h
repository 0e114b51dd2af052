/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What users of the transport see of it: plain C, so that the exported symbols carry versions.
 * Functions return 0 or a negative errno. Nothing else of rtrs is visible to its users, but the
 * pure headers below rtrs/wire and rtrs/pure.
 */
#ifndef RTRS_RTRS_H
#define RTRS_RTRS_H

#include <linux/scatterlist.h>
#include <linux/socket.h>
#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct io_comp_batch;

/* ---- addresses (rtrs-core) ---- */

/* Longest text of one address with its prefix, and of a pair "src@dst", terminator included. */
#define RTRS_ADDR_TEXT 64
#define RTRS_PAIR_TEXT (2 * RTRS_ADDR_TEXT)

struct rtrs_addr_pair {
	struct sockaddr_storage src; /* valid if has_src */
	struct sockaddr_storage dst;
	bool has_src;
};

/*
 * "[src(,|@)]dst" as in protocol A.2; `len` bytes, no terminator needed. The port goes into dst.
 * -EINVAL, -EPROTONOSUPPORT. May sleep.
 */
int rtrs_addr_parse_pair(const char *text, size_t len, u16 port, struct rtrs_addr_pair *pair);
/* "ip:..." or "gid:..."; returns the length, without the terminator that is always there. */
size_t rtrs_addr_print(const struct sockaddr_storage *addr, char *buf, size_t size);
/* "src@dst" */
size_t rtrs_addr_print_pair(const struct sockaddr_storage *src, const struct sockaddr_storage *dst,
			    char *buf, size_t size);

/* One address, or all whose first bits are the same; of IPv4 as ::ffff:a.b.c.d. */
struct rtrs_addr_rule {
	u8 address[16];
	u32 bits; /* that have to agree, 0 to 128 */
};

/* "[ip:|gid:]<address>[/<bits>]"; `len` bytes, no terminator needed. -EINVAL. Any context. */
int rtrs_addr_parse_rule(const char *text, size_t len, struct rtrs_addr_rule *rule);

/* ---- client ---- */

struct rtrs_clt;

enum rtrs_dir {
	RTRS_READ,  /* data moves to the client */
	RTRS_WRITE, /* data moves to the server */
};

enum rtrs_clt_event {
	RTRS_CLT_DISCONNECTED, /* the last path has gone; no request succeeds until */
	RTRS_CLT_RECONNECTED,  /* a path is there again */
};

/* Settings of a session, which its files of these names in sysfs take and show. */
enum rtrs_clt_setting {
	RTRS_CLT_MP_POLICY,
	RTRS_CLT_MAX_RECONNECT_ATTEMPTS,
	RTRS_CLT_REQUEST_TIMEOUT,
	RTRS_CLT_HEARTBEAT_INTERVAL_MS,
	RTRS_CLT_HEARTBEAT_MISSED_MAX,
	RTRS_CLT_NR_CONNECTIONS, /* fixed when the session opens; 0: one for each queue */
	RTRS_CLT_RECONNECT_DELAY,
	RTRS_CLT_TOS,
	RTRS_CLT_QUEUE_DEPTH,
	RTRS_CLT_SETTINGS,
};

/* By enum rtrs_clt_setting, as one would write it into the file; null for what is not said. */
struct rtrs_clt_settings {
	const char *text[RTRS_CLT_SETTINGS];
};

struct rtrs_clt_params {
	const char *name;
	const struct rtrs_addr_pair *paths;
	unsigned int nr_paths;	      /* 1..128 */
	u16 port;		      /* for paths that are added later */
	unsigned int reconnect_delay; /* seconds; where the settings say nothing */
	int max_reconnects;	      /* -1: for ever; where the settings say nothing */
	unsigned int nr_queues;	      /* whose numbers requests say; 0: one for each possible CPU */
	unsigned int nr_poll_queues;
	struct rtrs_clt_settings settings; /* what the session has from its first path on */
	/*
	 * Whether both sides have to prove who they are (protocol J.3): "off", "optional" or
	 * "required"; null: required with a key, else as the module's parameter says. And by which
	 * key, null for none.
	 */
	const char *auth;
	const char *key;
	void *priv;
	/*
	 * Process context, serialised; must not wait for a request of this session. Called from
	 * the moment that rtrs_clt_open() has set *session, shortly before it returns 0, until
	 * rtrs_clt_close() is called: the end of the session itself is no event.
	 */
	void (*link_event)(void *priv, enum rtrs_clt_event event);
	/*
	 * Whether the session is still wanted; asked when rtrs_clt_abandon_all() can find it. May
	 * be null. Process context.
	 */
	bool (*wanted)(void *priv);
};

/*
 * Slots [0, first_io_slot) are given out by rtrs_clt_get_permit(); slots [first_io_slot,
 * queue_depth) are the user's own, who submits on each at most one request at a time. Fixed for
 * the life of the session.
 */
struct rtrs_clt_attrs {
	u32 queue_depth;
	u32 first_io_slot;
	u32 max_io_size;  /* bytes of data in one request */
	u32 max_segments; /* scatterlist entries of one request */
	/* Connections that interrupt: so many queues of the user's have one of their own. */
	u32 nr_connections;
	/* What it proves, and wants of its server; "" for no key. Valid as long as the session. */
	const char *auth;
	const char *key;
};

/*
 * Connects all paths; sleeps up to the connect timeout per connection. -EINVAL for a bad name,
 * number of paths, policy or setting, -EEXIST if the name is in use, or what connecting met: of
 * proofs, -ENOKEY where there is no key as named, -EKEYREJECTED where one side did not believe the
 * other, -EPROTONOSUPPORT where one requires proofs that the other does not give.
 */
int rtrs_clt_open(const struct rtrs_clt_params *params, struct rtrs_clt **session);
/*
 * Ends all requests (their done() is called), closes all paths, frees the session. All permits
 * must have been put, or be put by the done() calls. Sleeps.
 */
void rtrs_clt_close(struct rtrs_clt *session);
/*
 * For a user that is about to go: ends all paths of all sessions for good, without events, and
 * without waiting. Their requests end with -ECONNABORTED. An rtrs_clt_open() that is under way,
 * or begins later, fails, if wanted() says no from before this call on. Every open session still
 * has to be closed. Sleeps.
 */
void rtrs_clt_abandon_all(void);
void rtrs_clt_query(struct rtrs_clt *session, struct rtrs_clt_attrs *attrs);
/*
 * Whether all that is said is something that the files would take, and what an open session has at
 * present; null for the first of the two alone. 0 or -EINVAL. Does not sleep.
 */
int rtrs_clt_check_settings(struct rtrs_clt *session, const struct rtrs_clt_settings *settings);

/* A slot for a message without a block request. `wait` sleeps, killable: -EINTR; else -EBUSY. */
int rtrs_clt_get_permit(struct rtrs_clt *session, bool wait, u32 *slot);
void rtrs_clt_put_permit(struct rtrs_clt *session, u32 slot); /* any context */

/* Longest user message. */
#define RTRS_MAX_USER_MSG 512

struct rtrs_clt_request {
	enum rtrs_dir dir;
	/*
	 * Goes over the service connection, and ends with its path, with -ECONNABORTED: then the
	 * server has begun with it, or never will, if it knows fences (protocol J.1).
	 */
	bool admin;
	/* 0: goes over a connection that interrupts; n: poll queue n - 1, for rtrs_clt_poll() */
	unsigned int poll_queue;
	/* Which connection that interrupts, taken modulo their number; the CPU's, say. */
	unsigned int queue;
	/*
	 * Others follow at once, to be posted with this one: it may be kept until rtrs_clt_commit()
	 * for the same poll_queue and queue. A request without `more` is not kept, and may take
	 * others along, not certainly all.
	 */
	bool more;
	/* Who sends it, a disk, say: where requests wait for each other, users take turns. */
	u32 user;
	u32 slot;
	const void *msg; /* user message, copied */
	size_t msg_len;
	/*
	 * data_len bytes; the list is mapped for DMA in place and stays with the transport, like
	 * the pages, until done(). nr_sg 0 for no data. All entries but the first begin, and all
	 * but the last end, on a multiple of 4096 bytes (a virt_boundary of 4095 of the block
	 * layer), for devices that can register no list with gaps.
	 */
	struct scatterlist *sg;
	unsigned int nr_sg;
	u32 data_len;
	void *priv;
	/*
	 * Exactly once for each request that was accepted: 0, the server's errno, or what became
	 * of the path. Softirq, or process context while a path is torn down. The slot is free
	 * when it is called. `batch` may be null; else requests of the block layer can be added to
	 * it, which end together with others that have been answered, very soon. `now`: a look at
	 * ktime_get_ns() for all that end together.
	 */
	void (*done)(void *priv, int status, struct io_comp_batch *batch, u64 now);
};

/*
 * Does not sleep. 0: done() will be called. Else it will not: -ECONNABORTED no path is connected,
 * -EMSGSIZE message or data too large, -EAGAIN send queue full: try later, others from mapping.
 */
int rtrs_clt_submit(struct rtrs_clt *session, const struct rtrs_clt_request *request);

/*
 * The answer to a request is taken for lost: the path that has it, if it has not ended, starts
 * again, and done() is called. `slot` and `priv` are those of the request. Does not sleep.
 */
void rtrs_clt_give_up(struct rtrs_clt *session, u32 slot, const void *priv);

/* Posts what was kept for others that follow. Does not sleep. */
void rtrs_clt_commit(struct rtrs_clt *session, unsigned int poll_queue, unsigned int queue);

/*
 * Polls one poll queue, counted from 0, of all paths; the number of completions found. `batch` is
 * for done(); null if there is none.
 */
int rtrs_clt_poll(struct rtrs_clt *session, unsigned int queue, struct io_comp_batch *batch);

/* ---- server ---- */

struct rtrs_srv;      /* the listening server: one per system */
struct rtrs_srv_sess; /* a client's session */
struct rtrs_srv_op;   /* one request of a client; one object per slot and session */

/* Paths of one session that are up at the same time, with those that are on their way down. */
#define RTRS_SRV_MAX_PATHS 192

struct rtrs_srv_request {
	struct rtrs_srv_op *op;
	void *area; /* op_size bytes of the user's, one area per slot, kept between requests */
	enum rtrs_dir dir;
	bool service; /* came over the connection of heartbeats and fences */
	void *data;   /* in the chunk: the peer can change it at any time */
	/* The first of the pages that data lies in, from its beginning on, one behind the other. */
	struct page *pages;
	u32 data_len;	 /* write: bytes received; read: room for the answer */
	u32 answer_max;	 /* read: bytes that the peer has room for, 0 if it wants none */
	const void *msg; /* private copy, valid until the answer */
	u32 msg_len;
};

struct rtrs_srv_ops {
	size_t op_size;
	/*
	 * First path of a session is up: *priv is handed to the other two. Process context, may
	 * sleep. An errno refuses the client.
	 */
	int (*session_up)(struct rtrs_srv_sess *sess, void **priv);
	/*
	 * A path of the session is up, the first one included, and where its client is; may be
	 * null. Context as session_up(). An errno refuses the path.
	 */
	int (*path_up)(void *priv, const struct sockaddr_storage *client);
	/*
	 * A path that was up is closing: no request is handed over any more that came over it, and
	 * nobody waits for the answers to those that were (rtrs_srv_op_dead()). What the user only
	 * holds back, he answers now. May be null. Process context; does not wait for I/O: until it
	 * returns, the client cannot go on. Calls of one session are serialised, with session_up(),
	 * path_up(), path_down() and session_down().
	 */
	void (*path_closing)(void *priv);
	/*
	 * A path that was up has gone; follows path_closing(). Before session_down() if it was the
	 * last one. Requests that came over it may still wait for their answers. May be null.
	 * Process context, may sleep.
	 */
	void (*path_down)(void *priv, const struct sockaddr_storage *client);
	/*
	 * The last path has gone; no request is handed over any more, and `priv` is not used any
	 * more. Requests that the user has not answered yet may be left: their operations, with
	 * area and data, stay until he answers them. Process context, may sleep, but waits neither
	 * for I/O nor for a flush: session_up() may be called for the same client as soon as
	 * this has returned, and what still ends of the old session then is to be waited for
	 * where it is in the way, at the device.
	 */
	void (*session_down)(void *priv);
	/*
	 * A checked request. Work-queue context, but it blocks other requests: do not wait for
	 * I/O or take locks that are held for long. Ends with rtrs_srv_respond(), from here or
	 * later, exactly once whatever becomes of the session.
	 */
	void (*request)(void *priv, const struct rtrs_srv_request *request);
};

/* -EEXIST if a server is open already, -EADDRINUSE, ... Works without any RDMA device. Sleeps. */
int rtrs_srv_open(const struct rtrs_srv_ops *ops, u16 port, struct rtrs_srv **server);
/*
 * Closes all sessions (session_down() for each), waits until every request has been answered, and
 * stops listening. Sleeps, as long as a disk hangs.
 */
void rtrs_srv_close(struct rtrs_srv *server);
/*
 * Answers an operation. `status` is 0 or a negative errno; `produced` is how many bytes of data a
 * read with status 0 has put into the chunk: no more than answer_max travel. Any context.
 */
void rtrs_srv_respond(struct rtrs_srv_op *op, int status, u32 produced);
/*
 * Whether nobody waits for the answer any more, as the path of that request is closing. Until the
 * operation is answered. Any context.
 */
bool rtrs_srv_op_dead(const struct rtrs_srv_op *op);
/* Valid from session_up() to the end of session_down(). */
const char *rtrs_srv_sess_name(const struct rtrs_srv_sess *sess);
/* The name of the key that the session's client has proven (protocol J.3); "" if it has none. */
const char *rtrs_srv_sess_key(const struct rtrs_srv_sess *sess);
u32 rtrs_srv_sess_queue_depth(const struct rtrs_srv_sess *sess);
u32 rtrs_srv_max_io_size(const struct rtrs_srv *server);
/*
 * -EACCES if this server requires proofs, and `session`, whose client has proven `key`, is that
 * client's word all the same: neither the name of the key, nor in its list. Sleeps.
 */
int rtrs_srv_check_name(const char *key, const char *session);

#ifdef __cplusplus
}
#endif
#endif
