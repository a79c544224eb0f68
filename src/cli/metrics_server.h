/* Serves one document by HTTP, `GET /metrics`, for profwrap-metrics (metrics_main.c). libmicrohttpd
 * speaks the protocol in a thread of its own; the caller's thread makes the documents, one for all
 * clients that wait for it. A slow client delays no other one: there may be many connections, and
 * each is ended after some seconds. Tool code; reads no files and asks no collectors. */
#ifndef PW_CLI_METRICS_SERVER_H
#define PW_CLI_METRICS_SERVER_H

#include <stddef.h>

struct pw_metrics_server;

/* Who connects to a listening socket gets the document; with a `token` only who shows it, without
 * one only the caller's own user. Closes the socket at the end. 0 or -errno. */
int pw_metrics_server_start(int fd, const char *token, struct pw_metrics_server **out);

/* Ends connections that have lasted too long. 1 when somebody waits for a document. */
int pw_metrics_server_poll(struct pw_metrics_server *server);

/* Answers those who wait. The server owns the text, which malloc() gave; NULL: there is none now.
 */
void pw_metrics_server_publish(struct pw_metrics_server *server, char *text, size_t length);

void pw_metrics_server_stop(struct pw_metrics_server *server);

#endif
