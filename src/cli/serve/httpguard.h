/* What the HTTP servers of profwrap do against hostile and slow clients, around libmicrohttpd. Used
 * by metrics_main.c and serve_requests.c. Tool code; reads no files. */
#ifndef PW_CLI_HTTPGUARD_H
#define PW_CLI_HTTPGUARD_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits of clients at a time, of bytes that a request's line and headers may have, and of seconds
 * that a connection may last without a request that was accepted. */
enum { PW_HTTP_CLIENTS = 256, PW_HTTP_REQUEST_BYTES = 16384, PW_HTTP_LIFE_S = 10 };

struct pw_http_client {
    bool is_used, is_accepted;
    int fd;
    int64_t since_ns;
};

/* The connections that are open. Any thread may call the functions that take it. */
struct pw_http_clients {
    pthread_mutex_t lock;
    struct pw_http_client clients[PW_HTTP_CLIENTS];
};

void pw_http_clients_init(struct pw_http_clients *clients);

/* For MHD_OPTION_NOTIFY_CONNECTION, with the clients as its argument. */
void pw_http_clients_note(void *clients, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode what);

/* From now on the connection may last as long as it likes; with `is_accepted` false, its life
 * begins now. */
void pw_http_clients_accept(struct pw_http_clients *clients, struct MHD_Connection *connection,
                            bool is_accepted);

/* Shuts down connections that have lasted too long; earlier when many are open. The library then
 * closes them. To be called about once a second. */
void pw_http_clients_end_old(struct pw_http_clients *clients);

int pw_http_descriptor(struct MHD_Connection *connection);

/* Compares in constant time, so that the time does not reveal the secret `a`. */
bool pw_http_is_equal(const char *a, const char *b);

/* Whether a Host header is an IP address, "localhost" or one of `names`, with any port. Servers
 * refuse other names, to protect against DNS rebinding: a web site gives its own name the address
 * of this machine, and its page then makes the browser ask us, with the site's name in this
 * header. */
bool pw_http_is_host(const char *host, const char *const *names, size_t count);

/* Adds the headers that every answer has. */
void pw_http_add_headers(struct MHD_Response *response, const char *type);

/* Sends a copy of the text. */
enum MHD_Result pw_http_reply(struct MHD_Connection *connection, unsigned status, const char *type,
                              const char *text, size_t length);

/* Sends the status in words, and `why`, a sentence; NULL: none. */
enum MHD_Result pw_http_refuse(struct MHD_Connection *connection, unsigned status, const char *why);

#endif
