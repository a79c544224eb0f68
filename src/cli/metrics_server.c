/* Answers HTTP requests by means of libmicrohttpd; see metrics_server.h. */
#include "cli/metrics_server.h"

#include <arpa/inet.h>
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

#include "rank/ring/tick.h"

#define SECOND ((int64_t)1000000000)
/* The longest life of a connection; shorter when many are open. */
#define LIFE_NS (10 * SECOND)
#define LIFE_IN_A_CROWD_NS (1 * SECOND)
/* Age up to which a document is sent again, because collectors answer only once a second. */
#define FRESH_NS (1 * SECOND)

enum { MOST_CLIENTS = 256, CROWD = 128, REQUEST_BYTES = 16384, NAME = 256 };

struct client {
    bool is_used, is_waiting;
    int fd;
    int64_t since_ns;
};

struct pw_metrics_server {
    struct MHD_Daemon *daemon;
    const char *token;   /* NULL: a Unix socket */
    char names[2][NAME]; /* host names of this machine */
    pthread_mutex_t clients_lock;
    struct client clients[MOST_CLIENTS];
    pthread_mutex_t lock; /* protects the following fields; taken before the library's own lock */
    struct MHD_Connection *waiting[MOST_CLIENTS];
    int nwaiting;
    bool has_ended;
    char *text;
    size_t length;
    int64_t made_ns;
};

/* ---- connections ---- */

static void note_connection(void *arg, struct MHD_Connection *connection, void **context,
                            enum MHD_ConnectionNotificationCode what)
{
    struct pw_metrics_server *server = arg;
    pthread_mutex_lock(&server->clients_lock);
    struct client *client = *context;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED && client)
        client->is_used = false;
    for (int i = 0; what == MHD_CONNECTION_NOTIFY_STARTED && i < MOST_CLIENTS; i++) {
        client = &server->clients[i];
        if (client->is_used)
            continue;
        *client = (struct client){
            .is_used = true,
            .fd =
                MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
            .since_ns = pw_local_ns(),
        };
        *context = client;
        break;
    }
    pthread_mutex_unlock(&server->clients_lock);
}

static void set_waiting(struct pw_metrics_server *server, struct MHD_Connection *connection,
                        bool waits)
{
    struct client *client =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    if (!client)
        return;
    pthread_mutex_lock(&server->clients_lock);
    client->is_waiting = waits;
    client->since_ns = pw_local_ns();
    pthread_mutex_unlock(&server->clients_lock);
}

/* Shuts down old connections. The library then calls our callback and closes them. */
static void end_old(struct pw_metrics_server *server)
{
    const int64_t now = pw_local_ns();
    int used = 0;
    pthread_mutex_lock(&server->clients_lock);
    for (int i = 0; i < MOST_CLIENTS; i++)
        used += server->clients[i].is_used;
    const int64_t life = used > CROWD ? LIFE_IN_A_CROWD_NS : LIFE_NS;
    for (int i = 0; i < MOST_CLIENTS; i++) {
        const struct client *client = &server->clients[i];
        if (client->is_used && !client->is_waiting && now - client->since_ns > life)
            shutdown(client->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&server->clients_lock);
}

/* ---- requests ---- */

/* Compares in constant time, so that the time does not reveal the token. */
static bool is_equal(const char *a, const char *b)
{
    size_t n = strlen(a);
    unsigned char different = strlen(b) != n;
    for (size_t i = 0; i < n; i++)
        different |= (unsigned char)(a[i] ^ b[different ? 0 : i]);
    return !different;
}

static bool shows_token(const char *token, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    return authorization && strncasecmp(authorization, scheme, sizeof(scheme) - 1) == 0 &&
           is_equal(token, authorization + sizeof(scheme) - 1);
}

/* Whether the client of a Unix socket runs as our own user or as root. */
static bool is_own_user(struct MHD_Connection *connection)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

/* Whether the Host header is an IP address, or a name of this machine. Other names are refused, to
 * protect against DNS rebinding: a web site gives its own name the address of this machine, and its
 * page then makes the browser ask us, with the site's name in this header. */
static bool is_our_name(const struct pw_metrics_server *server, const char *host)
{
    char name[NAME];
    struct in6_addr address;
    const char *colon = strrchr(host, ':');
    bool is_6 = host[0] == '[';
    const char *end = is_6 ? strchr(host, ']') : colon ? colon : host + strlen(host);
    size_t n = end && end > host ? (size_t)(end - host) - is_6 : 0;
    if (!n || n >= sizeof(name))
        return false;
    memcpy(name, host + is_6, n);
    name[n] = '\0';
    if (is_6)
        return inet_pton(AF_INET6, name, &address) == 1;
    return inet_pton(AF_INET, name, &address) == 1 || strcasecmp(name, "localhost") == 0 ||
           strcasecmp(name, server->names[0]) == 0 || strcasecmp(name, server->names[1]) == 0;
}

/* Returns the HTTP status of a refusal, or 0. */
static unsigned find_fault(const struct pw_metrics_server *server,
                           struct MHD_Connection *connection, const char *url, const char *method)
{
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    if (!host)
        return MHD_HTTP_BAD_REQUEST;
    if (server->token && !is_our_name(server, host)) /* browsers cannot connect to a Unix socket */
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

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, const char *type,
                             const char *text, size_t length)
{
    /* The cast is safe: the function only copies the text. */
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET");
    if (status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status)
{
    char text[96];
    int n = snprintf(text, sizeof(text), "%u %s\n", status, MHD_get_reason_phrase_for(status));
    return reply(connection, status, "text/plain; charset=utf-8", text, (size_t)n);
}

/* Sends the document, or suspends the connection until there is one. The caller has the lock. */
static enum MHD_Result answer(struct pw_metrics_server *server, struct MHD_Connection *connection,
                              bool has_waited)
{
    if (server->text && (has_waited || pw_local_ns() - server->made_ns < FRESH_NS))
        return reply(connection, MHD_HTTP_OK,
                     "application/openmetrics-text; version=1.0.0; charset=utf-8", server->text,
                     server->length);
    if (has_waited || server->has_ended || server->nwaiting == MOST_CLIENTS)
        return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE);
    set_waiting(server, connection, true);
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
        return refuse(connection, fault);
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
    if (gethostname(server->names[0], NAME - 1))
        return;
    if (getaddrinfo(server->names[0], NULL, &hints, &found) == 0) {
        if (found->ai_canonname)
            snprintf(server->names[1], NAME, "%s", found->ai_canonname);
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
    pthread_mutex_init(&server->clients_lock, NULL);
    if (token)
        find_names(server);
    server->daemon = MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, take_request,
        server, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_CONNECTION, note_connection, server,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CLIENTS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)REQUEST_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(LIFE_NS / SECOND),
        MHD_OPTION_END);
    if (!server->daemon) {
        free(server);
        return -EIO;
    }
    *out = server;
    return 0;
}

int pw_metrics_server_poll(struct pw_metrics_server *server)
{
    end_old(server);
    pthread_mutex_lock(&server->lock);
    int waits = server->nwaiting > 0;
    pthread_mutex_unlock(&server->lock);
    return waits;
}

void pw_metrics_server_publish(struct pw_metrics_server *server, char *text, size_t length)
{
    struct MHD_Connection *waiting[MOST_CLIENTS];
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
        set_waiting(server, waiting[i], false);
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
