/* Answers HTTP requests by means of libmicrohttpd; see metrics_server.h. */
#include "cli/metrics_server.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/httpguard.h"
#include "rank/ring/tick.h"

#define SECOND ((int64_t)1000000000)
/* Age up to which a document is sent again, because collectors answer only once a second. */
#define FRESH_NS (1 * SECOND)

enum { NAME = 256, NAMES = 2 };

struct pw_metrics_server {
    struct MHD_Daemon *daemon;
    const char *token; /* NULL: a Unix socket */
    char host[NAME], canonical[NAME];
    const char *names[NAMES]; /* the same: host names of this machine */
    struct pw_http_clients clients;
    pthread_mutex_t lock; /* protects the following fields; taken before the library's own lock */
    struct MHD_Connection *waiting[PW_HTTP_CLIENTS];
    int nwaiting;
    bool has_ended;
    char *text;
    size_t length;
    int64_t made_ns;
};

/* ---- requests ---- */

static bool shows_token(const char *token, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    return authorization && strncasecmp(authorization, scheme, sizeof(scheme) - 1) == 0 &&
           pw_http_is_equal(token, authorization + sizeof(scheme) - 1);
}

/* Whether the client of a Unix socket runs as our own user or as root. */
static bool is_own_user(struct MHD_Connection *connection)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(pw_http_descriptor(connection), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

/* Returns the HTTP status of a refusal, or 0. */
static unsigned find_fault(const struct pw_metrics_server *server,
                           struct MHD_Connection *connection, const char *url, const char *method)
{
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    if (!host)
        return MHD_HTTP_BAD_REQUEST;
    if (server->token && /* browsers cannot connect to a Unix socket */
        !pw_http_is_host(host, server->names, NAMES))
        return MHD_HTTP_MISDIRECTED_REQUEST;
    if (server->token &&
        !shows_token(server->token, MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                                                MHD_HTTP_HEADER_AUTHORIZATION)))
        return MHD_HTTP_UNAUTHORIZED;
    if (!server->token && !is_own_user(connection))
        return MHD_HTTP_FORBIDDEN;
    if (strcmp(method, "GET") != 0)
        return MHD_HTTP_METHOD_NOT_ALLOWED;
    return strcmp(url, "/metrics") == 0 ? 0 : MHD_HTTP_NOT_FOUND;
}

/* Sends the document, or suspends the connection until there is one. The caller has the lock. */
static enum MHD_Result answer(struct pw_metrics_server *server, struct MHD_Connection *connection,
                              bool has_waited)
{
    if (server->text && (has_waited || pw_local_ns() - server->made_ns < FRESH_NS))
        return pw_http_reply(connection, MHD_HTTP_OK,
                             "application/openmetrics-text; version=1.0.0; charset=utf-8",
                             server->text, server->length);
    if (has_waited || server->has_ended || server->nwaiting == PW_HTTP_CLIENTS)
        return pw_http_refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE, NULL);
    pw_http_clients_accept(&server->clients, connection, true);
    server->waiting[server->nwaiting++] = connection;
    MHD_suspend_connection(connection);
    return MHD_YES;
}

static enum MHD_Result take_request(void *arg, struct MHD_Connection *connection, const char *url,
                                    const char *method, const char *version, const char *upload,
                                    size_t *upload_size, void **context)
{
    static char waited;
    struct pw_metrics_server *server = arg;
    (void)version, (void)upload, (void)upload_size;
    bool has_waited = *context == &waited;
    unsigned fault = has_waited ? 0 : find_fault(server, connection, url, method);
    if (fault)
        return pw_http_refuse(connection, fault, NULL);
    *context = &waited;
    pthread_mutex_lock(&server->lock);
    enum MHD_Result result = answer(server, connection, has_waited);
    pthread_mutex_unlock(&server->lock);
    return result;
}

/* ---- the server ---- */

static void find_names(struct pw_metrics_server *server)
{
    const struct addrinfo hints = {.ai_flags = AI_CANONNAME, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    server->names[0] = server->host;
    server->names[1] = server->canonical;
    if (gethostname(server->host, NAME - 1))
        return;
    if (getaddrinfo(server->host, NULL, &hints, &found) == 0) {
        if (found->ai_canonname)
            snprintf(server->canonical, NAME, "%s", found->ai_canonname);
        freeaddrinfo(found);
    }
}

int pw_metrics_server_start(int fd, const char *token, struct pw_metrics_server **out)
{
    struct pw_metrics_server *server = calloc(1, sizeof(*server));
    if (!server)
        return -ENOMEM;
    server->token = token;
    pthread_mutex_init(&server->lock, NULL);
    pw_http_clients_init(&server->clients);
    if (token)
        find_names(server);
    server->daemon = MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, take_request,
        server, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_CONNECTION, pw_http_clients_note,
        &server->clients, MHD_OPTION_CONNECTION_LIMIT, (unsigned)PW_HTTP_CLIENTS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)PW_HTTP_REQUEST_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)PW_HTTP_LIFE_S, MHD_OPTION_END);
    if (!server->daemon) {
        free(server);
        return -EIO;
    }
    *out = server;
    return 0;
}

int pw_metrics_server_poll(struct pw_metrics_server *server)
{
    pw_http_clients_end_old(&server->clients);
    pthread_mutex_lock(&server->lock);
    int waits = server->nwaiting > 0;
    pthread_mutex_unlock(&server->lock);
    return waits;
}

void pw_metrics_server_publish(struct pw_metrics_server *server, char *text, size_t length)
{
    struct MHD_Connection *waiting[PW_HTTP_CLIENTS];
    pthread_mutex_lock(&server->lock);
    int n = server->nwaiting;
    memcpy(waiting, server->waiting, (size_t)n * sizeof(waiting[0]));
    server->nwaiting = 0;
    free(server->text);
    server->text = text;
    server->length = length;
    server->made_ns = pw_local_ns();
    pthread_mutex_unlock(&server->lock);
    for (int i = 0; i < n; i++) {
        pw_http_clients_accept(&server->clients, waiting[i], false);
        MHD_resume_connection(waiting[i]);
    }
}

void pw_metrics_server_stop(struct pw_metrics_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->has_ended = true;
    pthread_mutex_unlock(&server->lock);
    pw_metrics_server_publish(server, NULL, 0);
    MHD_stop_daemon(server->daemon);
    free(server);
}
