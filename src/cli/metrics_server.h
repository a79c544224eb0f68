/* Serves one document by HTTP, `GET /metrics`, for profwrap-metrics (metrics_main.c). libmicrohttpd
 * speaks the protocol in a thread of its own; the caller's thread makes each document once for all
 * clients that wait at that moment. A slow client does not delay others: there may be many
 * connections, and each is closed after some seconds. Tool code; reads no files and asks no
 * collectors. */
#ifndef PW_CLI_METRICS_SERVER_H
#define PW_CLI_METRICS_SERVER_H

#include <stddef.h>

struct pw_metrics_server;

/* Serves the document at a listening socket, which the server closes at the end. With a `token`,
 * only clients that send it get the document; without, only the caller's own user. Returns 0 or
 * -errno. */
int pw_metrics_server_start(int fd, const char *token, struct pw_metrics_server **out);

/* Closes connections that have lasted too long. Returns 1 when a client waits for a document. */
int pw_metrics_server_poll(struct pw_metrics_server *server);

/* Sends the document to all waiting clients. `text` is from malloc() and belongs to the server from
 * now on; NULL: no document is available. */
void pw_metrics_server_publish(struct pw_metrics_server *server, char *text, size_t length);

void pw_metrics_server_stop(struct pw_metrics_server *server);

#endif
