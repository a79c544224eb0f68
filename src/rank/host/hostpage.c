/* The page that a host's collectors share; see hostpage.h. */
#include "rank/host/hostpage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/hash.h"

#define MAGIC UINT32_C(0x70776833) /* changes with the layout */

#define PREFIX "/profwrap-host-"

/* The bytes of the file on which processes hold locks. */
enum lock_place { LOCK_USE, LOCK_LEAD };

enum { WORD_BITS = 64 };

static int words_of(int size)
{
    return (size + WORD_BITS - 1) / WORD_BITS;
}

static size_t bytes_of(int size)
{
    return sizeof(struct pw_hostpage_shared) + (size_t)words_of(size) * sizeof(uint64_t);
}

/* Takes or changes a lock of this opening of the file (F_RDLCK, F_WRLCK), without waiting. */
static bool lock(int fd, enum lock_place place, short type)
{
    struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = place, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &l) == 0;
}

/* The name is the same for all ranks of a job on a host, also when they have the directory under
 * different paths. */
static int make_name(const char *dir, uint64_t domain, char *name, size_t size)
{
    struct stat st;
    if (stat(dir, &st))
        return -errno;
    uint64_t hash = pw_hash_mix(pw_hash_mix(pw_hash_mix(domain, st.st_dev), st.st_ino), geteuid());
    snprintf(name, size, PREFIX "%016llx%016llx", (unsigned long long)hash,
             (unsigned long long)pw_hash_mix(hash, MAGIC));
    return 0;
}

static int open_file(const char *name)
{
    struct stat st;
    int fd = shm_open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) || st.st_uid != geteuid() || (st.st_mode & 077) || !S_ISREG(st.st_mode)) {
        close(fd);
        return -EPERM;
    }
    return fd;
}

/* Whether `name` still is the file that is open as `fd`. */
static bool is_named(int fd, const char *name)
{
    struct stat open_st, named_st;
    char path[80];
    snprintf(path, sizeof(path), "/dev/shm%s", name);
    return fstat(fd, &open_st) == 0 && lstat(path, &named_st) == 0 &&
           open_st.st_ino == named_st.st_ino && open_st.st_dev == named_st.st_dev;
}

/* Gives the file memory and fills it with zeros. It is not made shorter than `bytes` meanwhile,
 * because a guard whose collector was just killed may read it. */
static int make_empty(int fd, size_t bytes)
{
    static const char zeros[4096];
    int err = ftruncate(fd, (off_t)bytes) ? -errno : -posix_fallocate(fd, 0, (off_t)bytes);
    for (size_t at = 0; !err && at < bytes; at += sizeof(zeros)) {
        const size_t n = bytes - at < sizeof(zeros) ? bytes - at : sizeof(zeros);
        err = pwrite(fd, zeros, n, (off_t)at) == (ssize_t)n ? 0 : -EIO;
    }
    return err;
}

/* Gets the lock of a user. The first user empties the file. Returns 0 or -errno; -EBUSY: try again.
 */
static int begin_use(int fd, size_t bytes)
{
    if (!lock(fd, LOCK_USE, F_WRLCK))
        return lock(fd, LOCK_USE, F_RDLCK) ? 0 : -EBUSY;
    int err = make_empty(fd, bytes);
    return err ? err : lock(fd, LOCK_USE, F_RDLCK) ? 0 : -EBUSY;
}

static struct pw_hostpage_shared *map(int fd, size_t bytes, int size)
{
    struct stat st;
    if (fstat(fd, &st) || (size_t)st.st_size != bytes)
        return NULL; /* of another version of profwrap, or of a job of another size */
    struct pw_hostpage_shared *shared =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED)
        return NULL;
    /* All users write the same values. */
    shared->magic = MAGIC;
    shared->size = (uint32_t)size;
    return shared;
}

static bool open_shared(struct pw_hostpage *page, const char *dir, uint64_t domain, int size)
{
    enum { TRIES = 20, PAUSE_NS = 1000000 };
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    if (make_name(dir, domain, page->name, sizeof(page->name)))
        return false;
    for (int i = 0; i < TRIES; i++) {
        int fd = open_file(page->name);
        if (fd < 0)
            return false;
        int err = begin_use(fd, page->bytes);
        if (!err && is_named(fd, page->name))
            page->shared = map(fd, page->bytes, size);
        page->fd = fd;
        if (page->shared || (err && err != -EBUSY))
            break;
        close(fd); /* the last user has just removed the file, or the first is emptying it */
        page->fd = -1;
        nanosleep(&pause, NULL);
    }
    if (!page->shared && page->fd >= 0)
        close(page->fd);
    return page->shared != NULL;
}

int pw_hostpage_open(struct pw_hostpage *page, const char *dir, uint64_t domain, int size)
{
    *page = (struct pw_hostpage){
        .fd = -1, .bytes = bytes_of(size), .pid = getpid(), .opener = getpid()};
    if (open_shared(page, dir, domain, size))
        return 0;
    page->name[0] = '\0';
    page->fd = -1;
    void *own = mmap(NULL, page->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (own == MAP_FAILED)
        return -ENOMEM;
    page->shared = own;
    page->shared->size = (uint32_t)size;
    return 0;
}

/* A child of the process that opened the page opens the file anew, because locks belong to an
 * opening of a file. It also maps the new opening, because a mapping keeps the opening that it was
 * made from, with its locks, after that was closed. The lock of the process that opened the page is
 * given up: that process may be killed at the end, when it is the only user. */
static void adopt(struct pw_hostpage *page)
{
    const pid_t pid = getpid();
    if (page->pid == pid)
        return;
    page->pid = pid;
    page->is_leader = false;
    int fd = is_named(page->fd, page->name) ? open_file(page->name) : -1;
    if (fd < 0)
        return;
    if (is_named(fd, page->name) && lock(fd, LOCK_USE, F_RDLCK) &&
        mmap(page->shared, page->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) !=
            MAP_FAILED) {
        lock(page->fd, LOCK_USE, F_UNLCK);
        close(page->fd);
        page->fd = fd;
    } else {
        close(fd);
    }
}

bool pw_hostpage_lead(struct pw_hostpage *page)
{
    if (!page->shared || !page->name[0])
        return page->shared != NULL;
    adopt(page);
    if (page->pid == page->opener)
        lock(page->fd, LOCK_USE, F_RDLCK); /* a child has given it up, and may have been killed */
    page->is_leader = page->is_leader || lock(page->fd, LOCK_LEAD, F_WRLCK);
    return page->is_leader;
}

void pw_hostpage_resign(struct pw_hostpage *page)
{
    if (page->is_leader)
        lock(page->fd, LOCK_LEAD, F_UNLCK);
    page->is_leader = false;
}

/* ---- bits ---- */

bool pw_hostpage_set_registered(struct pw_hostpage *page, int rank)
{
    return pw_hostpage_add_registered(page, rank / WORD_BITS, UINT64_C(1) << rank % WORD_BITS) > 0;
}

int pw_hostpage_words(const struct pw_hostpage *page)
{
    return words_of((int)page->shared->size);
}

uint64_t pw_hostpage_registered(const struct pw_hostpage *page, int i)
{
    return atomic_load(&page->shared->bits[i]);
}

int pw_hostpage_add_registered(struct pw_hostpage *page, int i, uint64_t bits)
{
    int n = __builtin_popcountll(bits & ~atomic_fetch_or(&page->shared->bits[i], bits));
    if (n)
        atomic_fetch_add(&page->shared->registered, (uint32_t)n);
    return n;
}

/* ---- the leader's notice ---- */

void pw_hostpage_put(struct pw_hostpage *page, const void *notice, size_t bytes, int64_t now_ns)
{
    struct pw_hostpage_shared *s = page->shared;
    uint64_t words[PW_HOSTPAGE_NOTICE / 8] = {0};
    memcpy(words, notice, bytes);
    /* An odd number: readers try again. A leader that was killed while it wrote may have left it
     * odd. */
    uint32_t number = atomic_load(&s->notice_number) | 1;
    atomic_store(&s->notice_number, number);
    for (size_t i = 0; i < PW_HOSTPAGE_NOTICE / 8; i++)
        atomic_store(&s->notice[i], words[i]);
    atomic_store(&s->notice_bytes, (uint32_t)bytes);
    atomic_store(&s->notice_ns, now_ns);
    atomic_store(&s->notice_number, number + 1);
}

int pw_hostpage_get(const struct pw_hostpage *page, void *notice, size_t size, int64_t now_ns,
                    int64_t fresh_ns)
{
    const struct pw_hostpage_shared *s = page->shared;
    uint64_t words[PW_HOSTPAGE_NOTICE / 8];
    const uint32_t number = atomic_load(&s->notice_number);
    const int64_t put_ns = atomic_load(&s->notice_ns);
    const size_t bytes = atomic_load(&s->notice_bytes);
    for (size_t i = 0; i < PW_HOSTPAGE_NOTICE / 8; i++)
        words[i] = atomic_load(&s->notice[i]);
    if (number & 1 || number != atomic_load(&s->notice_number) || !put_ns ||
        now_ns - put_ns > fresh_ns || bytes > size || bytes > sizeof(words))
        return -EAGAIN;
    memcpy(notice, words, bytes);
    return (int)bytes;
}

void pw_hostpage_close(struct pw_hostpage *page)
{
    if (!page->shared)
        return;
    if (page->name[0]) {
        adopt(page);
        /* Two processes that close at the same time must not each find the other's lock. */
        lock(page->fd, LOCK_USE, F_UNLCK);
        if (lock(page->fd, LOCK_USE, F_WRLCK) && is_named(page->fd, page->name))
            shm_unlink(page->name);
        close(page->fd);
    }
    munmap(page->shared, page->bytes);
    *page = (struct pw_hostpage){.fd = -1};
}

bool pw_hostpage_is_abandoned(const char *name)
{
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return false;
    int fd = shm_open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
    if (fd < 0)
        return false;
    struct stat st;
    const bool is_own = fstat(fd, &st) == 0 && st.st_uid == geteuid() && S_ISREG(st.st_mode);
    const bool is_free = is_own && lock(fd, LOCK_USE, F_WRLCK);
    close(fd);
    return is_free;
}

void pw_hostpage_forget(const char *dir, uint64_t domain)
{
    char name[64];
    if (make_name(dir, domain, name, sizeof(name)) == 0 && pw_hostpage_is_abandoned(name))
        shm_unlink(name);
}
