/* Requests to the collectors of a running job, and their answers, as files in the output directory,
 * which all hosts of the job share:
 *
 *     .ctl-request the request: a nonce, and what is wanted
 *     .status-NNNNN      a rank's answer, JSON
 *
 * Used by run/ctl.c, and by each collector's watch (run_watch.c). No port is opened. There is one
 * request at a time: creating the file fails while another request exists. Both sides read only
 * files of their own user. */
#ifndef PW_RANK_LIVE_INQUIRY_H
#define PW_RANK_LIVE_INQUIRY_H

#include "rank/live/livefile.h"
#include "rank/live/start_stop.h"

enum pw_request_kind {
    PW_REQUEST_STATUS,
    PW_REQUEST_PREPARE, /* a change; see rank/live/start_stop.h */
    PW_REQUEST_COMMIT,
    PW_REQUEST_WITHDRAW,
    PW_REQUEST_SNAPSHOT, /* flush the journals up to the step that the answer names */
    PW_REQUEST_ORDER,    /* the order of collectives; flushes the journals, too */
    PW_REQUEST_QUEUES,   /* from a watchdog: whether operations on GPUs wait for ranks that have not
                          * called them */
    PW_REQUEST_KINDS
};

struct pw_request {
    char nonce[PW_NONCE_SIZE];
    enum pw_request_kind kind;
    struct pw_change_wanted change;
    int wants_stacks;
    int is_hang;         /* from a watchdog, which reports the present hang */
    int wants_steps;     /* the last steps ... */
    int64_t steps_after; /* ... after this one */
};

struct pw_inquiry {
    char dir[4096];
    struct pw_request request;
    char other[PW_NONCE_SIZE]; /* nonce of another request that was there, and since when */
    int64_t other_since_ns;
    struct pw_live *lives; /* the answers, in the order in which they came */
    size_t n, capacity;
};

/* ---- for the process that asks ---- */

void pw_inquiry_init(struct pw_inquiry *inquiry, const char *dir);

/* Writes the request and makes its nonce. Returns 0; -EBUSY while there is another request: try
 * again; -EPERM when a file of another user has that name and cannot be removed; or another -errno.
 * A request that is too old is removed, because its process must have died. */
int pw_inquiry_begin(struct pw_inquiry *inquiry, const struct pw_request *wanted);

/* Reads the answers that have come. Returns the number of running ranks that have not answered. */
size_t pw_inquiry_poll(struct pw_inquiry *inquiry);

/* Sorts the answers by rank, and removes the request and the remaining answer files. */
void pw_inquiry_end(struct pw_inquiry *inquiry);

/* Frees the answers. */
void pw_inquiry_fini(struct pw_inquiry *inquiry);

/* Finds the ranks that run in `dir`, by the names of their files. *ranks is sorted; the caller
 * frees it with free(). Returns the number of these ranks, or -errno. */
int pw_inquiry_running(const char *dir, int32_t **ranks);

/* ---- for the collector, which answers ---- */

/* Returns 1 and sets *request when there is a request of the caller's user; else 0. */
int pw_inquiry_find(const char *dir, struct pw_request *request);

/* Writes the answer. 0 or -errno. */
int pw_inquiry_answer(const char *dir, const struct pw_request *request,
                      const struct pw_live *live);

/* Removes a rank's answer that was not read. */
void pw_inquiry_forget(const char *dir, int rank);

#endif
