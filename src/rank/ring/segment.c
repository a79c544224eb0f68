/* Creates, attaches and maps shared-memory segments; see segment.h. Used by the application and by
 * tools: nothing here prints, allocates from the heap or keeps a descriptor open. */
#include "rank/ring/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Limits, as divisors. A ring takes at most 1/PW_RING_SHARE of the free shared memory and
 * 1/PW_RING_MEMORY_SHARE of the memory that its rank may still use. The pool (the buffers of GPU
 * records, ring/pool.h) takes at most 1/PW_POOL_SHARE of the free shared memory. A part of all
 * shared memory is always left to the program. */
enum {
    PW_RING_SHARE = 16,
    PW_RING_MEMORY_SHARE = 4,
    PW_POOL_SHARE = 4,
    PW_SEGMENT_KEPT = 8,
    PW_SEGMENT_MOST_KEPT = 64 << 20, /* bytes */
    PW_RING_SMALLEST = 1024,         /* records: 64 KiB */
};

static uint64_t round_up_pow2(uint64_t value)
{
    uint64_t power = 1;
    while (power < value)
        power <<= 1;
    return power;
}

static uint64_t ring_bytes_of(uint64_t records)
{
    return PW_RING_CONTROL + records * sizeof(struct pw_record);
}

/* From one ring to the next. */
static uint64_t stride_of(uint64_t records)
{
    return (ring_bytes_of(records) + PW_SEGMENT_ALIGN - 1) & ~(uint64_t)(PW_SEGMENT_ALIGN - 1);
}

/* Bytes of the file. */
static uint64_t segment_bytes_of(uint64_t records)
{
    return PW_SEGMENT_ALIGN + PW_MAX_RINGS * stride_of(records) + PW_POOL_BYTES;
}

static void *map_shared(int fd, size_t bytes, off_t offset)
{
    /* MAP_POPULATE: otherwise every 64th record would cause a page fault, which takes longer than a
     * record. */
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
    segment->ring_stride = stride_of(records);
    atomic_store(&segment->memory_bytes, INT64_MAX);
    atomic_store(&segment->tool_pid, getpid());
    atomic_store(&segment->guard_pid, getpid());
    /* The magic number is written last: a segment that has it has a complete header. */
    atomic_signal_fence(memory_order_seq_cst);
    segment->magic = PW_SEGMENT_MAGIC;
}

/* Reserves memory for a range of the file. A process that touches a page which is not reserved gets
 * SIGBUS when tmpfs is full. Signals are blocked, because fallocate() frees everything again when a
 * signal is pending. */
static int give_memory(int fd, off_t offset, uint64_t bytes)
{
    enum { TRIES = 8 };
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = EINTR;
    for (int i = 0; i < TRIES && err == EINTR; i++)
        err = posix_fallocate(fd, offset, (off_t)bytes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -err;
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
    int err = ftruncate(fd, (off_t)segment_bytes_of(records)) ? -errno : 0;
    err = err ? err : give_memory(fd, 0, PW_SEGMENT_HEADER);
    struct pw_segment_shared *segment = err ? NULL : map_shared(fd, PW_SEGMENT_HEADER, 0);
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
    if (!err && st.st_size < PW_SEGMENT_HEADER)
        err = -EPROTO;
    if (err)
        close(fd);
    return err ? err : fd;
}

/* Whether the file begins with a header. Reads instead of mapping, because the creator may have
 * been killed before the header had memory. */
static int has_header(int fd)
{
    struct {
        uint64_t magic;
        uint32_t version, uid;
    } seen; /* the first fields of struct pw_segment_shared */
    return pread(fd, &seen, sizeof(seen), 0) == (ssize_t)sizeof(seen) &&
           seen.magic == PW_SEGMENT_MAGIC && seen.version == PW_SEGMENT_VERSION &&
           seen.uid == geteuid();
}

int pw_segment_attach(const char *name, struct pw_segment_shared **out)
{
    int fd = open_own(name);
    if (fd < 0)
        return fd;
    int err = has_header(fd) ? 0 : -EPROTO;
    struct pw_segment_shared *segment = err ? NULL : map_shared(fd, PW_SEGMENT_HEADER, 0);
    if (!err && !segment)
        err = -errno;
    close(fd);
    if (!err)
        *out = segment;
    return err;
}

void pw_segment_detach(struct pw_segment_shared *segment)
{
    munmap(segment, PW_SEGMENT_HEADER);
}

/* ---- rings ---- */

/* Sizes and offsets of the parts of a segment. */
struct layout {
    uint64_t records; /* largest capacity of a ring */
    uint64_t stride;  /* bytes from one ring to the next */
};

/* Reads the layout from the header, which the application can change at any time: so each number is
 * read only once. It is checked against the size of the file, because touching a page beyond the
 * end of the file causes SIGBUS. Returns 0, -EPROTO or -errno. */
static int read_layout(int fd, const struct pw_segment_shared *segment, struct layout *out)
{
    const uint64_t records = *(const volatile uint64_t *)&segment->ring_records;
    const uint64_t stride = *(const volatile uint64_t *)&segment->ring_stride;
    struct stat st;
    if (fstat(fd, &st))
        return -errno;
    if (records == 0 || (records & (records - 1)) != 0 || records > UINT32_MAX ||
        stride != stride_of(records) || st.st_size < 0 ||
        (uint64_t)st.st_size < segment_bytes_of(records))
        return -EPROTO;
    *out = (struct layout){records, stride};
    return 0;
}

static off_t ring_offset(const struct layout *layout, int index)
{
    return (off_t)(PW_SEGMENT_ALIGN + (uint64_t)index * layout->stride);
}

/* Opens the segment's file and reads its layout. Returns the descriptor, or an error as
 * read_layout(). */
static int open_layout(const char *name, const struct pw_segment_shared *segment,
                       struct layout *out)
{
    const int fd = open_own(name);
    const int err = fd < 0 ? 0 : read_layout(fd, segment, out);
    if (err)
        close(fd);
    return err ? err : fd;
}

/* Returns the bytes of shared memory that profwrap may still allocate. A part is left to the
 * program, its MPI and NCCL, which need shared memory too. All ranks of a host share
 * this memory. */
static uint64_t free_bytes(int fd)
{
    struct statfs fs;
    if (fstatfs(fd, &fs) || fs.f_blocks == 0)
        return UINT64_MAX; /* the file system has no limit */
    uint64_t total = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize;
    uint64_t unused = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
    uint64_t kept = total / PW_SEGMENT_KEPT < PW_SEGMENT_MOST_KEPT ? total / PW_SEGMENT_KEPT
                                                                   : PW_SEGMENT_MOST_KEPT;
    return unused > kept ? unused - kept : 0;
}

/* Returns the capacity of a new ring: a small part of the free memory, because other rings will
 * follow. */
static uint64_t choose_records(int fd, const struct pw_segment_shared *segment, uint64_t largest)
{
    const uint64_t unused = free_bytes(fd);
    const int64_t left = atomic_load(&segment->memory_bytes);
    uint64_t part = unused / PW_RING_SHARE, records = largest;
    uint64_t most = left < 0 ? 0 : (uint64_t)left / PW_RING_MEMORY_SHARE;
    most = part < most ? part : most;
    while (records > PW_RING_SMALLEST && ring_bytes_of(records) > most)
        records >>= 1;
    return ring_bytes_of(records) <= unused ? records : 0;
}

/* Allocates a ring's memory and then sets its capacity in the entry, which is never changed again.
 * A process that is killed between the two leaves a ring without capacity, which is allocated
 * again. */
static int give_ring_memory(int fd, struct pw_segment_shared *segment, const struct layout *layout,
                            int index)
{
    struct pw_ring_entry *entry = &segment->rings[index];
    uint64_t records = choose_records(fd, segment, layout->records);
    int err = -ENOSPC;
    while (records) {
        err = give_memory(fd, ring_offset(layout, index), ring_bytes_of(records));
        if (records <= PW_RING_SMALLEST || (err != -ENOSPC && err != -ENOMEM))
            break;
        records >>= 1; /* other processes took the memory meanwhile */
    }
    if (err)
        return err;
    uint32_t none = 0;
    /* Another thread may have allocated the ring with another size at the same time: the first one
     * that sets the capacity decides. */
    if (atomic_compare_exchange_strong(&entry->records, &none, (uint32_t)records))
        atomic_fetch_sub(&segment->memory_bytes, (int64_t)ring_bytes_of(records));
    return 0;
}

int pw_segment_allocate_ring(const char *name, struct pw_segment_shared *segment, int index)
{
    struct pw_ring_entry *entry = &segment->rings[index];
    struct layout layout;
    int fd = open_layout(name, segment, &layout);
    if (fd < 0)
        return fd;
    int err = atomic_load(&entry->records) ? 0 : give_ring_memory(fd, segment, &layout, index);
    close(fd);
    uint32_t none = PW_RING_NONE;
    if (!err)
        atomic_compare_exchange_strong(&entry->state, &none, PW_RING_READY);
    return err;
}

int pw_segment_map_ring(const char *name, const struct pw_segment_shared *segment, int index,
                        struct pw_ring_shared **out, uint64_t *records)
{
    uint64_t n = atomic_load(&segment->rings[index].records);
    if (n == 0)
        return -ENOENT;
    struct layout layout;
    int fd = open_layout(name, segment, &layout);
    if (fd < 0)
        return fd;
    int err = (n & (n - 1)) != 0 || n > layout.records ? -EPROTO : 0;
    struct pw_ring_shared *ring =
        err ? NULL : map_shared(fd, ring_bytes_of(n), ring_offset(&layout, index));
    if (!err && !ring)
        err = -errno;
    close(fd);
    if (!err) {
        *out = ring;
        *records = n;
    }
    return err;
}

void pw_segment_unmap_ring(struct pw_ring_shared *ring, uint64_t records)
{
    munmap(ring, ring_bytes_of(records));
}

/* ---- the pool ---- */

int pw_segment_allocate_pool(const char *name, struct pw_segment_shared *segment, size_t bytes)
{
    if (atomic_load(&segment->pool_bytes) >= bytes)
        return 0;
    struct layout layout;
    int fd = bytes <= PW_POOL_BYTES ? open_layout(name, segment, &layout) : -EINVAL;
    if (fd < 0)
        return fd;
    int err = bytes <= free_bytes(fd) / PW_POOL_SHARE
                  ? give_memory(fd, ring_offset(&layout, PW_MAX_RINGS), bytes)
                  : -ENOSPC;
    close(fd);
    if (!err)
        atomic_store(&segment->pool_bytes, (uint32_t)bytes);
    return err;
}

int pw_segment_map_pool(const char *name, const struct pw_segment_shared *segment, size_t bytes,
                        void **out)
{
    if (atomic_load(&segment->pool_bytes) < bytes)
        return -ENOENT;
    struct layout layout;
    int fd = bytes <= PW_POOL_BYTES ? open_layout(name, segment, &layout) : -EINVAL;
    if (fd < 0)
        return fd;
    void *map = map_shared(fd, bytes, ring_offset(&layout, PW_MAX_RINGS));
    int err = map ? 0 : -errno;
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
