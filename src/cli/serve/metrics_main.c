/* profwrap-metrics DIR WHERE TOKENFILE: the program that `profwrap ctl metrics --serve` executes,
 * and the only one that is linked with an HTTP library. WHERE "" means a Unix socket in DIR;
 * TOKENFILE "" means a file in DIR, which is created. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/serve/httpguard.h"
#include "core/log.h"
#include "core/options.h"
#include "core/remedy.h"
#include "core/safefile.h"
#include "rank/ring/tick.h"
#include "report/live/livealarm.h"
#include "run/ctl.h"

#define SECOND ((int64_t)1000000000)
/* Age up to which a document is sent again, because collectors answer only once a second. */
#define FRESH_NS (1 * SECOND)

enum { NAME = 256, NAMES = 2 };

struct server {
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
static unsigned find_fault(const struct server *server, struct MHD_Connection *connection,
                           const char *url, const char *method)
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
static enum MHD_Result answer(struct server *server, struct MHD_Connection *connection,
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
    struct server *server = arg;
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

static void find_names(struct server *server)
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

static int server_start(int fd, const char *token, struct server **out)
{
    struct server *server = calloc(1, sizeof(*server));
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

static int server_poll(struct server *server)
{
    pw_http_clients_end_old(&server->clients);
    pthread_mutex_lock(&server->lock);
    int waits = server->nwaiting > 0;
    pthread_mutex_unlock(&server->lock);
    return waits;
}

static void server_publish(struct server *server, char *text, size_t length)
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

static void server_stop(struct server *server)
{
    pthread_mutex_lock(&server->lock);
    server->has_ended = true;
    pthread_mutex_unlock(&server->lock);
    server_publish(server, NULL, 0);
    MHD_stop_daemon(server->daemon);
    free(server);
}

/* The address at which a job's metrics are served: a Unix socket for the owner, or a TCP port for
 * clients that have a token. */

enum { PW_METRICS_TOKEN = 256 };

struct pw_metrics_place {
    int fd, is_tcp;
    char where[PATH_MAX + 8]; /* the address as it is printed */
    char path[PATH_MAX];      /* path of a Unix socket, removed at the end; else "" */
};

enum { BACKLOG = 128, LEAST_TOKEN = 16, MOST_NAME = 80 };

/* Parses "PORT", "ADDR:PORT" or "[ADDR]:PORT". Both must be numbers: names are not looked up. */
static int resolve(const char *at, struct addrinfo **out)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                   .ai_socktype = SOCK_STREAM};
    char address[64] = "127.0.0.1";
    const char *colon = strrchr(at, ':'), *port = colon ? colon + 1 : at;
    size_t length = colon ? (size_t)(colon - at) : 0;
    if (colon && at[0] == '[' && length > 2 && colon[-1] == ']') {
        at++;
        length -= 2;
    } else if (colon && memchr(at, ':', length)) {
        return -EINVAL; /* ambiguous: an IPv6 address without brackets */
    }
    if (colon && (!length || length >= sizeof(address)))
        return -EINVAL;
    if (colon)
        snprintf(address, sizeof(address), "%.*s", (int)length, at);
    if (!*port || strspn(port, "0123456789") != strlen(port) || strlen(port) > 5 ||
        atoi(port) > 65535)
        return -EINVAL;
    return getaddrinfo(address, port, &hints, out) ? -EINVAL : 0;
}

static void name_place(struct pw_metrics_place *place)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    char host[64], port[8];
    if (getsockname(place->fd, (struct sockaddr *)&address, &length) ||
        getnameinfo((struct sockaddr *)&address, length, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV))
        return;
    int is_6 = address.ss_family == AF_INET6;
    snprintf(place->where, sizeof(place->where), "http://%s%s%s:%s/metrics", is_6 ? "[" : "", host,
             is_6 ? "]" : "", port);
}

static int listen_at(struct pw_metrics_place *place, const struct sockaddr *address,
                     socklen_t length)
{
    const int yes = 1;
    place->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (place->fd < 0)
        return -errno;
    if (address->sa_family != AF_UNIX)
        setsockopt(place->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    return bind(place->fd, address, length) || listen(place->fd, BACKLOG) ? -errno : 0;
}

static int listen_inet(struct pw_metrics_place *place, const char *at)
{
    struct addrinfo *found;
    int err = resolve(at, &found);
    if (err)
        return err;
    err = listen_at(place, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    if (!err)
        name_place(place);
    return err;
}

/* Whether the path is a socket at which no process listens any more. */
static int is_dead(const struct sockaddr_un *address)
{
    struct stat st;
    if (lstat(address->sun_path, &st) || !S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
        return 0;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int refused = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) &&
                  errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return refused;
}

/* Makes the socket's address. It has room for 107 bytes, so for a longer path the directory is
 * opened (*dir) and the address uses its descriptor. */
static int name_address(const char *path, struct sockaddr_un *address, int *dir)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    *dir = -1;
    if (path[0] && strlen(path) < sizeof(address->sun_path)) {
        memcpy(address->sun_path, path, strlen(path));
        return 0;
    }
    if (!slash || !slash[1] || strlen(slash + 1) > MOST_NAME || length >= sizeof(folder))
        return -EINVAL;
    snprintf(folder, sizeof(folder), "%.*s", (int)length, path);
    *dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*dir < 0)
        return -errno;
    snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%.*s", *dir, MOST_NAME,
             slash + 1);
    return 0;
}

static int listen_unix(struct pw_metrics_place *place, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int dir, err = name_address(path, &address, &dir);
    if (err)
        return err;
    if (is_dead(&address))
        unlink(path);
    mode_t before = umask(0177); /* only the owner may connect */
    err = listen_at(place, (struct sockaddr *)&address, sizeof(address));
    umask(before);
    if (dir >= 0)
        close(dir);
    if (err)
        return err;
    snprintf(place->path, sizeof(place->path), "%s", path);
    snprintf(place->where, sizeof(place->where), "unix:%s", path);
    return 0;
}

/* Listens at unix:PATH or [ADDR:]PORT (without ADDR: 127.0.0.1). Returns 0; -EINVAL when `at` has
 * another form, or another -errno. On failure `problem` is set. */
static int pw_metrics_listen(const char *at, struct pw_metrics_place *out, char *problem,
                             size_t size)
{
    struct pw_metrics_place place = {.fd = -1, .is_tcp = strncmp(at, "unix:", 5) != 0};
    int err = place.is_tcp ? listen_inet(&place, at) : listen_unix(&place, at + 5);
    if (err == -EINVAL)
        snprintf(problem, size,
                 "--listen takes unix:PATH with a name of at most 80 bytes, PORT (of 127.0.0.1), "
                 "ADDR:PORT with an address in numbers, or [ADDR]:PORT");
    else if (err)
        snprintf(problem, size, "cannot listen at %s: %s", at, pw_remedy(err));
    if (err && place.fd >= 0)
        close(place.fd);
    if (!err)
        *out = place;
    return err;
}

/* Removes a Unix socket's name. The server closes the descriptor. */
static void pw_metrics_unlisten(struct pw_metrics_place *place)
{
    if (place->path[0])
        unlink(place->path);
}

/* ---- the token ---- */

static int make_token(const char *path)
{
    uint64_t random[4];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -EIO;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST ? 0 : -errno;
    int n = dprintf(fd, "%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "\n", random[0],
                    random[1], random[2], random[3]);
    int err = n < 0 ? -errno : 0;
    if (close(fd) && !err)
        err = -errno;
    if (err)
        unlink(path);
    return err;
}

/* Returns 0; -EPERM when other users can read the file, -EBADMSG when it has no token, or another
 * -errno. */
static int read_token(const char *path, char token[PW_METRICS_TOKEN])
{
    struct stat status;
    int fd = pw_open_regular(path, 0);
    if (fd < 0)
        return fd;
    int err = fstat(fd, &status) ? -errno : 0;
    if (!err && (status.st_uid != geteuid() || status.st_mode & 077))
        err = -EPERM;
    ssize_t n = err ? 0 : read(fd, token, PW_METRICS_TOKEN - 1);
    token[n > 0 ? n : 0] = '\0';
    close(fd);
    token[strcspn(token, "\n")] = '\0';
    for (const char *c = token; *c && !err; c++)
        err = *c > ' ' && *c < 0x7f ? 0 : -EBADMSG;
    return err ? err : strlen(token) < LEAST_TOKEN ? -EBADMSG : 0;
}

/* Reads the token: the first line of a file that the caller owns and only the owner can read. With
 * `makes`, creates a missing file with a random token. Returns 0, or -errno with `problem` set. */
static int pw_metrics_token(const char *path, int makes, char token[PW_METRICS_TOKEN],
                            char *problem, size_t size)
{
    int err = makes ? make_token(path) : 0;
    err = err ? err : read_token(path, token);
    const char *why = pw_remedy(err);
    if (err == -EPERM)
        why = "it must be yours and have mode 0600";
    if (err == -EBADMSG)
        why = "its first line must be a token of 16 to 255 visible ASCII characters";
    if (err)
        snprintf(problem, size, "no token in %s: %s", path, why);
    return err;
}

#define LOOK_NS ((int64_t)1000000000)

static int is_running(const char *dir)
{
    int32_t *ranks = NULL;
    int n = pw_inquiry_running(dir, &ranks);
    free(ranks);
    return n > 0;
}

/* Returns the document, which the caller frees; NULL with *err set. */
static char *make(const char *dir, struct pw_livealarms *alarms, const sigset_t *ends,
                  size_t *length, int *err)
{
    const struct pw_request request = {.wants_steps = 1,
                                       .steps_after = pw_livealarms_after(alarms)};
    struct pw_inquiry inquiry;
    char *text = NULL;
    pw_inquiry_init(&inquiry, dir);
    *err = pw_ctl_gather(&inquiry, &request, ends);
    if (!*err && pw_livealarms_take(alarms, inquiry.lives, inquiry.n, time(NULL)) < 0)
        *err = -ENOMEM;
    FILE *out = *err ? NULL : open_memstream(&text, length);
    if (out) {
        *err = pw_metrics_print(&inquiry, alarms, out);
        if (fclose(out) || *err) {
            free(text);
            text = NULL;
        }
    }
    pw_inquiry_fini(&inquiry);
    return text;
}

/* Serves until the job has ended or a signal comes. Asks the ranks also when nobody waits, since a
 * rank is known to be slow only after many steps. */
static void serve(struct server *server, const char *dir, struct pw_livealarms *alarms,
                  const sigset_t *ends)
{
    int64_t looked_ns = 0;
    int err = 0;
    while (err != -EINTR && !pw_ctl_pause(ends)) {
        const int is_due = pw_local_ns() - looked_ns > LOOK_NS;
        if (is_due && !is_running(dir))
            break;
        if (server_poll(server) || is_due) {
            size_t length = 0;
            char *text = make(dir, alarms, ends, &length, &err);
            server_publish(server, text, length);
            looked_ns = pw_local_ns();
        }
    }
}

/* Returns NULL after an error was printed. */
static struct pw_livealarms *create_alarms(void)
{
    struct pw_options options;
    double rate;
    pw_options_init(&options);
    if (pw_option_per_day(&options, PW_OPT_FALSE_ALARMS, &rate)) {
        pw_error("%s", options.problem);
        return NULL;
    }
    struct pw_livealarms *alarms = pw_livealarms_create(rate);
    if (!alarms)
        pw_error("cannot serve metrics: %s", pw_remedy(ENOMEM));
    return alarms;
}

/* Returns 0, or the exit status after an error was printed. */
static int open_place(const char *dir, const char *at, struct pw_metrics_place *place)
{
    char own[PATH_MAX], problem[PATH_MAX + 256];
    snprintf(own, sizeof(own), "unix:%.4000s/metrics.sock", dir);
    int err = pw_metrics_listen(at[0] ? at : own, place, problem, sizeof(problem));
    if (err)
        pw_error("%s", problem);
    return err == -EINVAL ? 2 : err != 0;
}

static int open_token(const char *dir, const char *file, char token[PW_METRICS_TOKEN],
                      char path[PATH_MAX])
{
    char problem[PATH_MAX + 256];
    snprintf(path, PATH_MAX, "%.4000s%s", file[0] ? file : dir, file[0] ? "" : "/metrics.token");
    int err = pw_metrics_token(path, !file[0], token, problem, sizeof(problem));
    if (err)
        pw_error("%s", problem);
    return err != 0;
}

int main(int argc, char **argv)
{
    struct pw_metrics_place place;
    struct server *server;
    char token[PW_METRICS_TOKEN], token_path[PATH_MAX];
    sigset_t ends;
    if (argc != 4) {
        pw_error("this is a part of profwrap: profwrap ctl metrics --serve DIR");
        return 2;
    }
    const char *dir = argv[1];
    pw_ctl_block_signals(&ends);
    struct pw_livealarms *alarms = create_alarms();
    if (!alarms)
        return 2;
    int status = open_place(dir, argv[2], &place);
    if (status)
        return status;
    status = place.is_tcp ? open_token(dir, argv[3], token, token_path) : 0;
    int err = status ? 0 : server_start(place.fd, place.is_tcp ? token : NULL, &server);
    if (err)
        pw_error("cannot serve metrics at %s: %s", place.where, pw_remedy(err));
    if (!status && !err) {
        printf("%s\n", place.where);
        if (place.is_tcp)
            printf("token in %s\n", token_path);
        fflush(stdout);
        serve(server, dir, alarms, &ends);
        server_stop(server);
    }
    pw_metrics_unlisten(&place);
    return status || err;
}
