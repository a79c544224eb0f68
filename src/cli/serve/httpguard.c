/* Limits of connections, comparisons and answers of HTTP; see httpguard.h. */
#include "cli/serve/httpguard.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "rank/ring/tick.h"

#define SECOND ((int64_t)1000000000)

enum { CROWD = PW_HTTP_CLIENTS / 2, LIFE_IN_A_CROWD_S = 1, NAME = 256 };

/* ---- connections ---- */

void pw_http_clients_init(struct pw_http_clients *clients)
{
    memset(clients, 0, sizeof(*clients));
    pthread_mutex_init(&clients->lock, NULL);
}

int pw_http_descriptor(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

void pw_http_clients_note(void *arg, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct pw_http_clients *clients = arg;
    pthread_mutex_lock(&clients->lock);
    struct pw_http_client *client = *context;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED && client)
        client->is_used = false;
    for (int i = 0; what == MHD_CONNECTION_NOTIFY_STARTED && i < PW_HTTP_CLIENTS; i++) {
        client = &clients->clients[i];
        if (client->is_used)
            continue;
        *client = (struct pw_http_client){
            .is_used = true, .fd = pw_http_descriptor(connection), .since_ns = pw_local_ns()};
        *context = client;
        break;
    }
    pthread_mutex_unlock(&clients->lock);
}

void pw_http_clients_accept(struct pw_http_clients *clients, struct MHD_Connection *connection,
                            bool is_accepted)
{
    struct pw_http_client *client =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    if (!client)
        return;
    pthread_mutex_lock(&clients->lock);
    client->is_accepted = is_accepted;
    client->since_ns = pw_local_ns();
    pthread_mutex_unlock(&clients->lock);
}

void pw_http_clients_end_old(struct pw_http_clients *clients)
{
    const int64_t now = pw_local_ns();
    int used = 0;
    pthread_mutex_lock(&clients->lock);
    for (int i = 0; i < PW_HTTP_CLIENTS; i++)
        used += clients->clients[i].is_used;
    const int64_t life = SECOND * (used > CROWD ? LIFE_IN_A_CROWD_S : PW_HTTP_LIFE_S);
    for (int i = 0; i < PW_HTTP_CLIENTS; i++) {
        const struct pw_http_client *client = &clients->clients[i];
        if (client->is_used && !client->is_accepted && now - client->since_ns > life)
            shutdown(client->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&clients->lock);
}

/* ---- requests ---- */

bool pw_http_is_equal(const char *a, const char *b)
{
    size_t n = strlen(a);
    unsigned char different = strlen(b) != n;
    for (size_t i = 0; i < n; i++)
        different |= (unsigned char)(a[i] ^ b[different ? 0 : i]);
    return !different;
}

static bool is_address(const char *name, bool is_6)
{
    struct in6_addr address;
    return inet_pton(is_6 ? AF_INET6 : AF_INET, name, &address) == 1;
}

bool pw_http_is_host(const char *host, const char *const *names, size_t count)
{
    char name[NAME];
    const char *colon = strrchr(host, ':');
    bool is_6 = host[0] == '[';
    const char *end = is_6 ? strchr(host, ']') : colon ? colon : host + strlen(host);
    size_t n = end && end > host ? (size_t)(end - host) - is_6 : 0;
    if (!n || n >= sizeof(name))
        return false;
    memcpy(name, host + is_6, n);
    name[n] = '\0';
    if (is_6 || is_address(name, false))
        return is_address(name, is_6);
    bool is_ours = strcasecmp(name, "localhost") == 0;
    for (size_t i = 0; i < count; i++)
        is_ours = is_ours || strcasecmp(name, names[i]) == 0;
    return is_ours;
}

/* ---- answers ---- */

void pw_http_add_headers(struct MHD_Response *response, const char *type)
{
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
}

enum MHD_Result pw_http_reply(struct MHD_Connection *connection, unsigned status, const char *type,
                              const char *text, size_t length)
{
    /* The cast is safe: the function only copies the text. */
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    pw_http_add_headers(response, type);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET");
    if (status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

enum MHD_Result pw_http_refuse(struct MHD_Connection *connection, unsigned status, const char *why)
{
    char text[512];
    const char *colon = why ? ": " : "";
    snprintf(text, sizeof(text), "%u %s%s%.400s\n", status, MHD_get_reason_phrase_for(status),
             colon, why ? why : "");
    return pw_http_reply(connection, status, "text/plain; charset=utf-8", text, strlen(text));
}
