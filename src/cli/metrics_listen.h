/* Where a running job's metrics are served: a Unix socket for their owner, or a TCP port for who
 * has a token. */
#ifndef PW_CLI_METRICS_LISTEN_H
#define PW_CLI_METRICS_LISTEN_H

#include <limits.h>
#include <stddef.h>

enum { PW_METRICS_TOKEN = 256 };

struct pw_metrics_place {
    int fd, is_tcp;
    char where[PATH_MAX + 8]; /* as a person is told it */
    char path[PATH_MAX];      /* of a Unix socket: to be removed; "" of others */
};

/* Listens at unix:PATH or [ADDR:]PORT (without ADDR: 127.0.0.1). 0; -EINVAL when `at` is no such
 * text, or another -errno; then `problem` says why. */
int pw_metrics_listen(const char *at, struct pw_metrics_place *out, char *problem, size_t size);

/* Removes a Unix socket's name. The descriptor is the server's, which closes it. */
void pw_metrics_unlisten(struct pw_metrics_place *place);

/* Reads the token: the first line of a file that only its owner, the caller, can read. With `makes`
 * a file that is not there is made, with a random one. 0, or -errno with `problem` set. */
int pw_metrics_token(const char *path, int makes, char token[PW_METRICS_TOKEN], char *problem,
                     size_t size);

#endif
