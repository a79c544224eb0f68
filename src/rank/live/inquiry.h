/* Asking the collectors of a running job how their ranks are, through files in its output
 * directory, which all of its hosts share:
 *
 *     .ctl-request       who asks: a nonce, and what is wanted
 *     .status-NNNNN      a rank's answer, JSON
 *
 * Used by run/ask.c, and by each collector's watch (run_watch.c). Nothing listens anywhere. A
 * request is made exclusively, so that of several who ask one does; collectors and who asks look
 * only at files of their own user. */
#ifndef PW_RANK_LIVE_INQUIRY_H
#define PW_RANK_LIVE_INQUIRY_H

#include "rank/live/livefile.h"
#include "rank/live/start_stop.h"

enum pw_request_kind {
    PW_REQUEST_STATUS,
    PW_REQUEST_PREPARE, /* an order; see rank/live/start_stop.h */
    PW_REQUEST_COMMIT,
    PW_REQUEST_WITHDRAW,
    PW_REQUEST_SNAPSHOT, /* journals are to hold what happened before the step that is answered */
    PW_REQUEST_KINDS
};

struct pw_request {
    char nonce[PW_NONCE_SIZE];
    enum pw_request_kind kind;
    struct pw_order_wanted order;
    int wants_stacks;
    int is_hang; /* asked by a watchdog: what hangs now is being reported */
};

struct pw_inquiry {
    char dir[4096];
    struct pw_request request;
    char other[PW_NONCE_SIZE]; /* another's request that was in the way, and since when */
    int64_t other_since_ns;
    struct pw_live *lives; /* the answers, in the order in which they came */
    size_t n, capacity;
};

/* ---- who asks ---- */

void pw_inquiry_init(struct pw_inquiry *inquiry, const char *dir);

/* Asks; the nonce is made here. 0; -EBUSY while another is being answered: try again; -EPERM when
 * another user's file is in the way; -errno. A request that stays for long is of somebody who has
 * died: it is removed. */
int pw_inquiry_begin(struct pw_inquiry *inquiry, const struct pw_request *wanted);

/* Takes the answers that have come. The number of running ranks that have not answered. */
size_t pw_inquiry_poll(struct pw_inquiry *inquiry);

/* Sorts the answers by rank, and removes the request and what is left of answers. */
void pw_inquiry_end(struct pw_inquiry *inquiry);

/* Frees the answers. */
void pw_inquiry_fini(struct pw_inquiry *inquiry);

/* The ranks that run in DIR, by the names of their files; sorted, in *ranks (to be freed). Their
 * number, or -errno. */
int pw_inquiry_running(const char *dir, int32_t **ranks);

/* ---- who answers ---- */

/* 1 and the request when there is one of the caller's own user; else 0. */
int pw_inquiry_find(const char *dir, struct pw_request *request);

/* Writes the answer. 0 or -errno. */
int pw_inquiry_answer(const char *dir, const struct pw_request *request,
                      const struct pw_live *live);

/* Removes a rank's answer that no asker has taken. */
void pw_inquiry_forget(const char *dir, int rank);

#endif
