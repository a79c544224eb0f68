/* A server of one document by HTTP, for what collects metrics: `GET /metrics`, one request at a
 * time, a bounded one, and nobody may take long. It reads nothing but the request line. */
#ifndef PW_CLI_SCRAPE_H
#define PW_CLI_SCRAPE_H

#include <signal.h>
#include <stddef.h>

struct pw_scrape {
    int fd, signal_fd;
    char where[160]; /* as a person is told it */
    char path[108];  /* of a Unix socket: to be removed; "" of others */
};

/* The document, to be freed, and its length; NULL: there is none now, *ends is set when there will
 * be none any more. */
typedef char *pw_scrape_make(void *arg, size_t *length, int *ends);

/* Listens at [ADDR:]PORT (without ADDR: 127.0.0.1) or unix:PATH. Signals in `ends` must be blocked:
 * they end the waiting. 0; -EINVAL when `at` is no such text, or another -errno; then `problem`
 * says why. */
int pw_scrape_open(const char *at, const sigset_t *ends, struct pw_scrape *out, char *problem,
                   size_t size);

/* Waits for a request for at most a second, and answers it. 0; -EINTR after a signal, -ENODATA when
 * there are no more documents, -errno. */
int pw_scrape_serve(struct pw_scrape *scrape, pw_scrape_make *make, void *arg);

void pw_scrape_close(struct pw_scrape *scrape);

#endif
