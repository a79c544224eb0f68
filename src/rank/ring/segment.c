/* Creates, attaches and maps shared-memory segments; see segment.h. Used on both sides: nothing
 * here prints, allocates from the heap or keeps a descriptor open. */
#include "rank/ring/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t round_up_pow2(uint64_t value)
{
    uint64_t power = 1;
    while (power < value)
        power <<= 1;
    return power;
}

static void *map_shared(int fd, size_t bytes, off_t offset)
{
    /* Populated: a page fault at every 64th record costs more than the record. */
    int flags = MAP_SHARED | MAP_POPULATE;
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, offset);
    if (map == MAP_FAILED)
        return NULL;
    madvise(map, bytes, MADV_DONTDUMP);
    return map;
}

static void fill_header(struct pw_segment_shared *segment, uint64_t records)
{
    segment->version = PW_SEGMENT_VERSION;
    segment->uid = geteuid();
    segment->ring_records = records;
    segment->ring_stride = PW_RING_CONTROL + records * sizeof(struct pw_record);
    atomic_store(&segment->tool_pid, getpid());
    atomic_store(&segment->guard_pid, getpid());
    segment->magic = PW_SEGMENT_MAGIC;
}

int pw_segment_create(int rank, uint64_t ring_bytes, char name[PW_SEGMENT_NAME_SIZE],
                      struct pw_segment_shared **out)
{
    uint64_t random[2];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -EIO;
    snprintf(name, PW_SEGMENT_NAME_SIZE, "/profwrap-%d-%016llx%016llx", rank,
             (unsigned long long)random[0], (unsigned long long)random[1]);

    int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    uint64_t records = round_up_pow2(ring_bytes / sizeof(struct pw_record));
    uint64_t stride = PW_RING_CONTROL + records * sizeof(struct pw_record);
    int err = ftruncate(fd, (off_t)(PW_SEGMENT_PAGE + PW_MAX_RINGS * stride + PW_POOL_BYTES))
                  ? -errno
                  : 0;
    /* tmpfs kills the writer of a page that it cannot provide: ask for the memory first. */
    err = err ? err : -posix_fallocate(fd, 0, PW_SEGMENT_PAGE);
    struct pw_segment_shared *segment = err ? NULL : map_shared(fd, PW_SEGMENT_PAGE, 0);
    if (!err && !segment)
        err = -errno;
    close(fd);
    if (err) {
        shm_unlink(name);
        return err;
    }
    fill_header(segment, records);
    *out = segment;
    return 0;
}

static int open_own(const char *name)
{
    int fd = shm_open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
    if (fd < 0)
        return -errno;
    struct stat st;
    int err = fstat(fd, &st) ? -errno : 0;
    if (!err && (st.st_uid != geteuid() || (st.st_mode & 077) != 0 || !S_ISREG(st.st_mode)))
        err = -EPERM;
    if (!err && st.st_size < PW_SEGMENT_PAGE)
        err = -EPROTO;
    if (err)
        close(fd);
    return err ? err : fd;
}

int pw_segment_attach(const char *name, struct pw_segment_shared **out)
{
    int fd = open_own(name);
    if (fd < 0)
        return fd;
    struct pw_segment_shared *segment = map_shared(fd, PW_SEGMENT_PAGE, 0);
    int err = segment ? 0 : -errno;
    close(fd);
    if (err)
        return err;
    if (segment->magic != PW_SEGMENT_MAGIC || segment->version != PW_SEGMENT_VERSION ||
        segment->uid != geteuid()) {
        munmap(segment, PW_SEGMENT_PAGE);
        return -EPROTO;
    }
    *out = segment;
    return 0;
}

static off_t ring_offset(const struct pw_segment_shared *segment, int index)
{
    return (off_t)(PW_SEGMENT_PAGE + (uint64_t)index * segment->ring_stride);
}

int pw_segment_allocate_ring(const char *name, struct pw_segment_shared *segment, int index)
{
    int fd = open_own(name);
    if (fd < 0)
        return fd;
    int err = -posix_fallocate(fd, ring_offset(segment, index), (off_t)segment->ring_stride);
    struct pw_ring_shared *ring =
        err ? NULL : map_shared(fd, PW_SEGMENT_PAGE, ring_offset(segment, index));
    if (!err && !ring)
        err = -errno;
    close(fd);
    if (err)
        return err;
    uint32_t none = PW_RING_NONE;
    atomic_compare_exchange_strong(&ring->state, &none, PW_RING_READY);
    munmap(ring, PW_SEGMENT_PAGE);
    return 0;
}

int pw_segment_map_ring(const char *name, const struct pw_segment_shared *segment, int index,
                        struct pw_ring_shared **out)
{
    int fd = open_own(name);
    if (fd < 0)
        return fd;
    struct pw_ring_shared *ring = map_shared(fd, segment->ring_stride, ring_offset(segment, index));
    int err = ring ? 0 : -errno;
    close(fd);
    if (!err)
        *out = ring;
    return err;
}

int pw_segment_map_pool(const char *name, const struct pw_segment_shared *segment, size_t bytes,
                        int allocate, void **out)
{
    const off_t offset = ring_offset(segment, PW_MAX_RINGS);
    int fd = bytes <= PW_POOL_BYTES ? open_own(name) : -EINVAL;
    if (fd < 0)
        return fd;
    int err = allocate ? -posix_fallocate(fd, offset, (off_t)bytes) : 0;
    void *map = err ? NULL : map_shared(fd, bytes, offset);
    if (!err && !map)
        err = -errno;
    close(fd);
    if (!err)
        *out = map;
    return err;
}

void pw_segment_wake(struct pw_segment_shared *segment)
{
    if (!atomic_load_explicit(&segment->sleeping, memory_order_relaxed))
        return;
    int saved = errno;
    atomic_fetch_add(&segment->wake, 1);
    syscall(SYS_futex, &segment->wake, FUTEX_WAKE, 1, NULL, NULL, 0);
    errno = saved;
}
