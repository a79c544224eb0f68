/* Requests and answers as files; see inquiry.h. */
#include "rank/live/inquiry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rank/ring/tick.h"

/* After this time the asking process must have died, because it waits for answers only a few
 * seconds. */
#define ABANDONED_NS (10 * (int64_t)1000000000)

enum { PATH = 4200, MAX_ANSWER = 16 << 20 };

/* The text of a request: nonce, wants_stacks, is_hang, kind; then the change's id, starts, cause
 * and step; then wants_steps and steps_after, which collectors of an older version do not read. */
#define REQUEST_FORMAT "profwrap-request %s %d %d %d %" PRIu32 " %d %d %" PRId64 " %d %" PRId64 "\n"
#define REQUEST_SCAN \
    "profwrap-request %32[0-9a-f] %d %d %d %" SCNu32 " %d %d %" SCNd64 " %d %" SCNd64 "\n"
enum { REQUEST_SIZE = 192 };

static void request_path(const char *dir, char path[PATH])
{
    snprintf(path, PATH, "%s/.ctl-request", dir);
}

/* Opens a regular file if it belongs to our user. Returns a descriptor; -EPERM when it belongs to
 * another user, or another -errno. */
static int open_own(const char *path, off_t *size)
{
    struct stat st;
    /* O_NONBLOCK: a pipe of that name must not block us. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno == ELOOP ? -EPERM : -errno;
    int err = fstat(fd, &st) ? -errno : 0;
    if (!err && (!S_ISREG(st.st_mode) || st.st_uid != geteuid()))
        err = -EPERM;
    if (err) {
        close(fd);
        return err;
    }
    *size = st.st_size;
    return fd;
}

static int write_new(const char *path, const char *text, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    int err = 0;
    for (size_t at = 0; at < length && !err;) {
        ssize_t n = write(fd, text + at, length - at);
        err = n < 0 && errno != EINTR ? -errno : 0;
        at += n > 0 ? (size_t)n : 0;
    }
    if (close(fd) && !err)
        err = -errno;
    if (err)
        unlink(path);
    return err;
}

/* ---- requests ---- */

/* Returns 0, -ENOENT, -EPERM, or -EINVAL. */
static int read_request(const char *path, struct pw_request *out)
{
    off_t size;
    char text[REQUEST_SIZE + 1];
    int fd = open_own(path, &size);
    if (fd < 0)
        return fd;
    ssize_t n = read(fd, text, REQUEST_SIZE);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    struct pw_request request = {0};
    int kind, cause;
    if (sscanf(text, REQUEST_SCAN, request.nonce, &request.wants_stacks, &request.is_hang, &kind,
               &request.change.id, &request.change.starts, &cause, &request.change.step,
               &request.wants_steps, &request.steps_after) < 8 ||
        kind < 0 || kind >= PW_REQUEST_KINDS || cause < 0 || cause > PW_OPENED_SIGNAL)
        return -EINVAL;
    request.kind = (enum pw_request_kind)kind;
    request.change.cause = (enum pw_opened)cause;
    *out = request;
    return 0;
}

int pw_inquiry_find(const char *dir, struct pw_request *request)
{
    char path[PATH];
    request_path(dir, path);
    return read_request(path, request) == 0;
}

static int make_nonce(char nonce[PW_NONCE_SIZE])
{
    uint64_t random[2];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -EIO;
    snprintf(nonce, PW_NONCE_SIZE, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
    return 0;
}

/* Writes a temporary file and then links it to `path`, so that no collector reads half a
 * request. */
static int make_request(const struct pw_inquiry *inquiry, const char *path)
{
    const struct pw_request *request = &inquiry->request;
    char part[PATH + 40], text[REQUEST_SIZE];
    snprintf(part, sizeof(part), "%s.%s", path, request->nonce);
    const struct pw_change_wanted *change = &request->change;
    int n = snprintf(text, sizeof(text), REQUEST_FORMAT, request->nonce, request->wants_stacks,
                     request->is_hang, (int)request->kind, change->id, change->starts,
                     (int)change->cause, change->step, request->wants_steps, request->steps_after);
    int err = write_new(part, text, (size_t)n);
    if (!err && link(part, path))
        err = -errno;
    unlink(part);
    return err;
}

/* Called when there is a file at `path`. Removes it when it is no valid request of our user, or has
 * been there too long. Returns -EBUSY: try again; -EPERM when the file cannot be removed. */
static int clear_way(struct pw_inquiry *inquiry, const char *path)
{
    struct pw_request other;
    int err = read_request(path, &other);
    if (err == -ENOENT)
        return -EBUSY; /* it is gone: the caller tries again */
    if (err)
        return unlink(path) == 0 ? -EBUSY : -EPERM;
    int64_t now = pw_local_ns();
    if (strcmp(other.nonce, inquiry->other) != 0) {
        memcpy(inquiry->other, other.nonce, sizeof(inquiry->other));
        inquiry->other_since_ns = now;
    } else if (now - inquiry->other_since_ns > ABANDONED_NS) {
        unlink(path);
    }
    return -EBUSY;
}

void pw_inquiry_init(struct pw_inquiry *inquiry, const char *dir)
{
    memset(inquiry, 0, sizeof(*inquiry));
    snprintf(inquiry->dir, sizeof(inquiry->dir), "%s", dir);
}

int pw_inquiry_begin(struct pw_inquiry *inquiry, const struct pw_request *wanted)
{
    char path[PATH];
    request_path(inquiry->dir, path);
    inquiry->request = *wanted;
    int err = make_nonce(inquiry->request.nonce);
    err = err ? err : make_request(inquiry, path);
    return err == -EEXIST ? clear_way(inquiry, path) : err;
}

/* ---- answers ---- */

int pw_inquiry_answer(const char *dir, const struct pw_request *request, const struct pw_live *live)
{
    char path[PATH], part[PATH + 8];
    snprintf(path, sizeof(path), "%s/.status-%05d", dir, live->rank);
    snprintf(part, sizeof(part), "%s.part", path);
    json_t *object = pw_live_to_json(live, request->nonce);
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    unlink(part); /* left by an earlier collector of this rank */
    int err = text ? write_new(part, text, strlen(text)) : -ENOMEM;
    if (!err && rename(part, path)) {
        err = -errno;
        unlink(part);
    }
    free(text);
    json_decref(object);
    return err;
}

void pw_inquiry_forget(const char *dir, int rank)
{
    char path[PATH];
    snprintf(path, sizeof(path), "%s/.status-%05d", dir, rank);
    unlink(path);
}

static int keep_answer(struct pw_inquiry *inquiry, const json_t *object)
{
    if (inquiry->n == inquiry->capacity) {
        size_t capacity = inquiry->capacity ? 2 * inquiry->capacity : 16;
        struct pw_live *lives = realloc(inquiry->lives, capacity * sizeof(*lives));
        if (!lives)
            return -ENOMEM;
        inquiry->lives = lives;
        inquiry->capacity = capacity;
    }
    int err = pw_live_from_json(object, inquiry->request.nonce, &inquiry->lives[inquiry->n]);
    inquiry->n += err == 0;
    return err;
}

/* Reads an answer and removes its file, so that it is read only once. */
static void take_answer(struct pw_inquiry *inquiry, const char *name)
{
    char path[PATH + 256];
    off_t size = 0;
    snprintf(path, sizeof(path), "%s/%s", inquiry->dir, name);
    int fd = open_own(path, &size);
    if (fd < 0)
        return;
    json_t *object = size <= MAX_ANSWER ? json_loadfd(fd, 0, NULL) : NULL;
    close(fd);
    if (object)
        keep_answer(inquiry, object);
    json_decref(object);
    unlink(path);
}

/* Returns the number in "PREFIXnnnnnSUFFIX", or -1. */
static int32_t rank_in(const char *name, const char *prefix, const char *suffix)
{
    size_t before = strlen(prefix), digits;
    if (strncmp(name, prefix, before) != 0)
        return -1;
    digits = strspn(name + before, "0123456789");
    if (digits < 5 || digits > 8 || strcmp(name + before + digits, suffix) != 0)
        return -1;
    return (int32_t)strtol(name + before, NULL, 10);
}

static int by_value(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

int pw_inquiry_running(const char *dir, int32_t **ranks)
{
    DIR *stream = opendir(dir);
    int32_t *list = NULL;
    int n = 0, capacity = 0;
    if (!stream)
        return -errno;
    for (struct dirent *e = readdir(stream); e; e = readdir(stream)) {
        int32_t rank = rank_in(e->d_name, "rank-", ".h5.part");
        if (rank < 0)
            continue;
        if (n == capacity) {
            capacity = capacity ? 2 * capacity : 64;
            int32_t *grown = realloc(list, (size_t)capacity * sizeof(*list));
            if (!grown)
                break;
            list = grown;
        }
        list[n++] = rank;
    }
    closedir(stream);
    if (n)
        qsort(list, (size_t)n, sizeof(*list), by_value);
    *ranks = list;
    return n;
}

static void take_answers(struct pw_inquiry *inquiry)
{
    DIR *stream = opendir(inquiry->dir);
    if (!stream)
        return;
    for (struct dirent *e = readdir(stream); e; e = readdir(stream))
        if (rank_in(e->d_name, ".status-", "") >= 0)
            take_answer(inquiry, e->d_name);
    closedir(stream);
}

static int by_rank(const void *a, const void *b)
{
    const struct pw_live *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static void sort_answers(struct pw_inquiry *inquiry)
{
    if (inquiry->n)
        qsort(inquiry->lives, inquiry->n, sizeof(*inquiry->lives), by_rank);
}

size_t pw_inquiry_poll(struct pw_inquiry *inquiry)
{
    int32_t *ranks = NULL;
    take_answers(inquiry);
    sort_answers(inquiry);
    int running = pw_inquiry_running(inquiry->dir, &ranks);
    size_t left = 0, at = 0;
    for (int i = 0; i < running; i++) {
        while (at < inquiry->n && inquiry->lives[at].rank < ranks[i])
            at++;
        left += at == inquiry->n || inquiry->lives[at].rank != ranks[i];
    }
    free(ranks);
    return left;
}

void pw_inquiry_end(struct pw_inquiry *inquiry)
{
    char path[PATH];
    struct pw_request request;
    request_path(inquiry->dir, path);
    if (read_request(path, &request) == 0 && strcmp(request.nonce, inquiry->request.nonce) == 0)
        unlink(path);
    take_answers(inquiry);
    sort_answers(inquiry);
}

void pw_inquiry_fini(struct pw_inquiry *inquiry)
{
    for (size_t i = 0; i < inquiry->n; i++)
        pw_live_fini(&inquiry->lives[i]);
    free(inquiry->lives);
    inquiry->lives = NULL;
    inquiry->n = inquiry->capacity = 0;
}
