/* Listens, reads a request, answers; see scrape.h. Written here because a library for it brings
 * TLS, which every `profwrap run` would load at its start. */
#include "cli/scrape.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "rank/ring/tick.h"

#define MILLISECOND ((int64_t)1000000)
/* For the whole request, and for the whole answer. */
#define REQUEST_NS (2000 * MILLISECOND)
#define ANSWER_NS (5000 * MILLISECOND)
#define LINGER_NS (200 * MILLISECOND)

enum { MOST_REQUEST = 8192, MOST_LINGER = 1 << 16, IDLE_MS = 1000, BACKLOG = 8 };

/* ---- listening ---- */

/* "PORT", "ADDR:PORT" or "[ADDR]:PORT", both as numbers: no name is looked up. */
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
        return -EINVAL; /* which of them ends the address? */
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

static void name_place(struct pw_scrape *scrape)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    char host[64], port[8];
    if (getsockname(scrape->fd, (struct sockaddr *)&address, &length) ||
        getnameinfo((struct sockaddr *)&address, length, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV))
        return;
    int is_6 = address.ss_family == AF_INET6;
    snprintf(scrape->where, sizeof(scrape->where), "http://%s%s%s:%s/metrics", is_6 ? "[" : "",
             host, is_6 ? "]" : "", port);
}

static int listen_at(struct pw_scrape *scrape, const struct sockaddr *address, socklen_t length)
{
    const int yes = 1;
    scrape->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (scrape->fd < 0)
        return -errno;
    if (address->sa_family != AF_UNIX)
        setsockopt(scrape->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    return bind(scrape->fd, address, length) || listen(scrape->fd, BACKLOG) ? -errno : 0;
}

static int listen_inet(struct pw_scrape *scrape, const char *at)
{
    struct addrinfo *found;
    int err = resolve(at, &found);
    if (err)
        return err;
    err = listen_at(scrape, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    if (!err)
        name_place(scrape);
    return err;
}

/* Whether a socket lies there at which nobody listens any more. */
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

static int listen_unix(struct pw_scrape *scrape, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!path[0] || strlen(path) >= sizeof(address.sun_path))
        return -EINVAL;
    memcpy(address.sun_path, path, strlen(path));
    if (is_dead(&address))
        unlink(path);
    mode_t before = umask(0177); /* the owner's, as the rank files are */
    int err = listen_at(scrape, (struct sockaddr *)&address, sizeof(address));
    umask(before);
    if (err)
        return err;
    snprintf(scrape->path, sizeof(scrape->path), "%s", path);
    snprintf(scrape->where, sizeof(scrape->where), "unix:%s", path);
    return 0;
}

int pw_scrape_open(const char *at, const sigset_t *ends, struct pw_scrape *out, char *problem,
                   size_t size)
{
    struct pw_scrape scrape = {.fd = -1, .signal_fd = -1};
    int err =
        strncmp(at, "unix:", 5) == 0 ? listen_unix(&scrape, at + 5) : listen_inet(&scrape, at);
    if (!err) {
        scrape.signal_fd = signalfd(-1, ends, SFD_CLOEXEC | SFD_NONBLOCK);
        err = scrape.signal_fd < 0 ? -errno : 0;
    }
    if (err == -EINVAL)
        snprintf(problem, size,
                 "--listen takes PORT (of 127.0.0.1), ADDR:PORT with an address in numbers, "
                 "[ADDR]:PORT, or unix:PATH of at most 107 bytes");
    else if (err)
        snprintf(problem, size, "cannot listen at %s: %s", at, strerror(-err));
    if (err)
        pw_scrape_close(&scrape);
    else
        *out = scrape;
    return err;
}

void pw_scrape_close(struct pw_scrape *scrape)
{
    if (scrape->path[0])
        unlink(scrape->path);
    if (scrape->fd >= 0)
        close(scrape->fd);
    if (scrape->signal_fd >= 0)
        close(scrape->signal_fd);
}

/* ---- one request ---- */

/* Until the socket is ready; 0, -EINTR after a signal, -ETIMEDOUT. */
static int await(const struct pw_scrape *scrape, int fd, short what, int64_t until_ns)
{
    struct pollfd fds[] = {{.fd = fd, .events = what}, {.fd = scrape->signal_fd, .events = POLLIN}};
    int64_t left = until_ns - pw_local_ns();
    int n = left > 0 ? poll(fds, 2, (int)(left / MILLISECOND) + 1) : 0;
    if (n < 0 || fds[1].revents)
        return -EINTR;
    return n == 0 ? -ETIMEDOUT : 0;
}

/* Reads to the empty line. 0, -EMSGSIZE when it is too far, or why it did not come. */
static int read_request(const struct pw_scrape *scrape, int fd, char text[MOST_REQUEST + 1])
{
    const int64_t until = pw_local_ns() + REQUEST_NS;
    size_t used = 0;
    text[0] = '\0';
    while (!strstr(text, "\r\n\r\n")) {
        if (used == MOST_REQUEST)
            return -EMSGSIZE;
        int err = await(scrape, fd, POLLIN, until);
        if (err)
            return err;
        ssize_t n = recv(fd, text + used, MOST_REQUEST - used, 0);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            return -ECONNRESET;
        used += n > 0 ? (size_t)n : 0;
        text[used] = '\0';
        if (strlen(text) != used)
            return -EBADMSG; /* a NUL has no place in it */
    }
    return 0;
}

static int send_all(const struct pw_scrape *scrape, int fd, const char *text, size_t length)
{
    const int64_t until = pw_local_ns() + ANSWER_NS;
    for (size_t at = 0; at < length;) {
        int err = await(scrape, fd, POLLOUT, until);
        if (err)
            return err;
        ssize_t n = send(fd, text + at, length - at, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN)
            return -errno;
        at += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int answer(const struct pw_scrape *scrape, int fd, const char *status, const char *type,
                  const char *text, size_t length)
{
    char head[256];
    int n = snprintf(head, sizeof(head),
                     "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
                     "Connection: close\r\n\r\n",
                     status, type, length, strncmp(status, "405", 3) ? "" : "Allow: GET\r\n");
    int err = send_all(scrape, fd, head, (size_t)n);
    return err ? err : send_all(scrape, fd, text, length);
}

static int refuse(const struct pw_scrape *scrape, int fd, const char *status)
{
    char text[96];
    int n = snprintf(text, sizeof(text), "%s\n", status);
    return answer(scrape, fd, status, "text/plain; charset=utf-8", text, (size_t)n);
}

/* NULL when it asks for the document. */
static const char *find_fault(const char *request, int err)
{
    static const char wanted[] = "GET /metrics";
    if (err == -EMSGSIZE)
        return "431 Request Header Fields Too Large";
    if (err == -ETIMEDOUT)
        return "408 Request Timeout";
    size_t word = strcspn(request, " \r\n");
    const char *version = strstr(request, " HTTP/1.");
    if (err || !version || version > request + strcspn(request, "\r\n"))
        return "400 Bad Request";
    if (word != 3 || strncmp(request, "GET", 3) != 0)
        return "405 Method Not Allowed";
    char after = strncmp(request, wanted, sizeof(wanted) - 1) ? 'x' : request[sizeof(wanted) - 1];
    return after == ' ' || after == '?' ? NULL : "404 Not Found";
}

/* What is still unread would make the kernel reset the connection, and the answer with it. */
static void linger(const struct pw_scrape *scrape, int fd)
{
    const int64_t until = pw_local_ns() + LINGER_NS;
    char buffer[1024];
    ssize_t n = 1;
    shutdown(fd, SHUT_WR);
    for (size_t seen = 0; n > 0 && seen < MOST_LINGER; seen += (size_t)n)
        n = await(scrape, fd, POLLIN, until) ? 0 : recv(fd, buffer, sizeof(buffer), 0);
}

/* 0, or -ENODATA when there is nothing more to serve: a client that goes wrong is no matter. */
static int serve_client(const struct pw_scrape *scrape, int fd, pw_scrape_make *make, void *arg)
{
    char request[MOST_REQUEST + 1];
    int ends = 0, err = read_request(scrape, fd, request);
    if (err == -EINTR || err == -ECONNRESET)
        return 0;
    const char *fault = find_fault(request, err);
    if (fault) {
        refuse(scrape, fd, fault);
    } else {
        size_t length = 0;
        char *text = make(arg, &length, &ends);
        if (text)
            answer(scrape, fd, "200 OK",
                   "application/openmetrics-text; version=1.0.0; charset=utf-8", text, length);
        else
            refuse(scrape, fd, "503 Service Unavailable");
        free(text);
    }
    linger(scrape, fd);
    return ends ? -ENODATA : 0;
}

int pw_scrape_serve(struct pw_scrape *scrape, pw_scrape_make *make, void *arg)
{
    int err = await(scrape, scrape->fd, POLLIN, pw_local_ns() + IDLE_MS * MILLISECOND);
    if (err)
        return err == -ETIMEDOUT ? 0 : err;
    int fd = accept4(scrape->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return errno == EMFILE || errno == ENFILE ? -errno : 0; /* else its client has gone */
    err = serve_client(scrape, fd, make, arg);
    close(fd);
    return err;
}
