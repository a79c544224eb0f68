/* Writes journals, and reads them, which may be cut off or damaged anywhere; see journal.h. */
#include "rank/journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/check.h"
#include "core/safefile.h"

/* ---- writing ---- */

/* Size of the buffer of blocks that are not committed yet. */
enum { BUFFER = 2 * PW_JOURNAL_MOST };

/* The file is allocated STRIDE bytes at a time. Of these, END_RESERVE bytes are always kept for the
 * end and for the counts of records that could not be written. */
enum { END_RESERVE = 4096, STRIDE = 256 << 10 };

struct pw_journal {
    int fd;
    char path[4200];
    int64_t length;   /* bytes of whole blocks in the file */
    int64_t reserved; /* allocated bytes of the file; -1: the file system cannot allocate in
                       * advance */
    bool is_ending;
    int error; /* the error after which nothing is written; 0: none */
    uint64_t position[PW_MAX_RINGS];
    struct pw_losscount lacking; /* records that were refused since `error` */
    /* Ringless records (pw_journal_add_ringless()) that wait in the buffer, and those that could
     * not be written. As long as the journal has no end, a process that resumes it can make both
     * again. */
    struct pw_losscount waiting_ringless, lacking_ringless;
    int64_t ringless_at; /* offset of the first ringless record in the file; 0: none */
    /* Offset of the last block of records. When the disk is full, this block and those after it are
     * overwritten by the end. */
    int64_t last_at;
    struct pw_losscount last;
    size_t used;
    unsigned char buffer[BUFFER];
};

static void journal_path(char *out, size_t size, const char *dir, int rank)
{
    snprintf(out, size, "%s/rank-%05d.journal", dir, rank);
}

/* Allocates the next `need` bytes of the file, and END_RESERVE bytes after them, which only the end
 * may use. Returns 0, or -errno when the disk has no room. */
static int reserve(struct pw_journal *j, int64_t need)
{
    static const int64_t more[] = {STRIDE, 0};
    const int64_t least = need + (j->is_ending ? 0 : END_RESERVE);
    int err = 0;
    if (j->reserved < 0 || j->length + least <= j->reserved)
        return 0;
    for (int i = 0; i < 2; i++) {
        const int64_t size = least + more[i];
        if (fallocate(j->fd, FALLOC_FL_KEEP_SIZE, j->length, size) == 0) {
            j->reserved = j->length + size;
            return 0;
        }
        err = -errno;
    }
    if (err == -EOPNOTSUPP || err == -ENOSYS) {
        j->reserved = -1;
        return 0;
    }
    return err;
}

#if PW_ASSERT_LEVEL > 0
/* Whether the lengths, the last block and the counts agree, as they must between any two
 * operations. */
static int is_valid(const struct pw_journal *j)
{
    return j->used <= sizeof(j->buffer) && j->length >= 0 &&
           (j->reserved < 0 || j->error || j->length <= j->reserved) &&
           j->last_at <= j->length + (int64_t)j->used && j->ringless_at <= j->length &&
           (j->error || j->is_ending || j->lacking.n == 0);
}
#endif

static int write_all(struct pw_journal *j)
{
    size_t done = 0;
    while (done < j->used) {
        ssize_t n = pwrite(j->fd, j->buffer + done, j->used - done, j->length + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        done += (size_t)n;
    }
    return 0;
}

/* Truncates the file after its last whole block, and so frees allocated bytes. Returns 0 or
 * -errno. */
static int cut(struct pw_journal *j)
{
    j->reserved = j->reserved < 0 ? -1 : j->length;
    return ftruncate(j->fd, j->length) ? -errno : 0;
}

int pw_journal_commit(struct pw_journal *j)
{
    if (!j)
        return 0;
    if (!j->error && j->used) {
        j->error = reserve(j, (int64_t)j->used);
        int written = !j->error;
        j->error = written ? write_all(j) : j->error;
        if (!j->error && j->waiting_ringless.n && !j->ringless_at)
            j->ringless_at = j->length;
        if (!j->error)
            j->length += (int64_t)j->used;
        else if (written)
            cut(j); /* if this fails, readers ignore the partial block by its checksum */
    }
    if (j->error)
        pw_losscount_add(&j->lacking_ringless, &j->waiting_ringless);
    else if (j->last.n)
        pw_losscount_add(&j->last, &j->waiting_ringless);
    j->waiting_ringless = (struct pw_losscount){.n = 0};
    j->used = 0;
    PW_CHECK(is_valid(j));
    return j->error;
}

void pw_journal_sync(struct pw_journal *j)
{
    if (pw_journal_commit(j) == 0 && j)
        fdatasync(j->fd); /* if this fails, other hosts may not see the end */
}

/* Returns room for a block of at most `most` bytes after its header; NULL when the journal has an
 * error. */
static unsigned char *begin_block(struct pw_journal *j, size_t most)
{
    if (j->used + sizeof(struct pw_block_header) + most > sizeof(j->buffer))
        pw_journal_commit(j);
    return j->error ? NULL : j->buffer + j->used + sizeof(struct pw_block_header);
}

static void end_block(struct pw_journal *j, enum pw_journal_kind kind, size_t length)
{
    struct pw_block_header header = {
        .magic = PW_JOURNAL_MAGIC, .length = (uint32_t)length, .kind = kind};
    unsigned char *at = j->buffer + j->used;
    header.check = pw_block_check(&header, at + sizeof(header));
    memcpy(at, &header, sizeof(header));
    j->used += sizeof(header) + length;
}

struct bytes {
    const void *at;
    size_t size;
};

static const struct bytes none = {NULL, 0};

/* Adds a block whose contents are `head` followed by `rest`, which may be empty. */
static void add_block(struct pw_journal *j, enum pw_journal_kind kind, struct bytes head,
                      struct bytes rest)
{
    unsigned char *payload = j ? begin_block(j, head.size + rest.size) : NULL;
    if (!payload)
        return;
    memcpy(payload, head.at, head.size);
    if (rest.size)
        memcpy(payload + head.size, rest.at, rest.size);
    end_block(j, kind, head.size + rest.size);
}

int pw_journal_add_records(struct pw_journal *j, int ring, uint64_t first,
                           const struct pw_record *records, uint32_t n)
{
    if (!j || !n)
        return 0;
    j->position[ring] = first + n;
    const struct pw_losscount count = pw_losscount_of(records, n);
    unsigned char *payload = begin_block(j, PW_JOURNAL_MOST_RECORDS);
    if (!payload) {
        pw_losscount_add(&j->lacking, &count);
        return j->error;
    }
    struct pw_block_records header = {.first = first, .ring = (uint32_t)ring, .n = n};
    memcpy(payload, &header, sizeof(header));
    size_t size = pw_records_encode(records, n, payload + sizeof(header));
    const int64_t at = j->length + (int64_t)j->used;
    end_block(j, PW_JOURNAL_RECORDS, sizeof(header) + size);
    if (pw_journal_commit(j)) {
        pw_losscount_add(&j->lacking, &count);
        return j->error;
    }
    j->last_at = at;
    j->last = count;
    return 0;
}

struct pw_losscount pw_journal_last_count(const struct pw_journal *j)
{
    return j->last;
}

int pw_journal_follow(const struct pw_journal *j, struct pw_journal_reader **out)
{
    const int err = j ? pw_journal_open(j->path, out) : -EINVAL;
    if (!err)
        pw_journal_skip(*out, pw_journal_bytes(j));
    return err;
}

void pw_journal_add_ringless(struct pw_journal *j, int ring, const struct pw_record *record)
{
    const uint32_t index = (uint32_t)ring;
    const struct pw_losscount count = pw_losscount_of_ringless(record);
    add_block(j, PW_JOURNAL_RINGLESS, (struct bytes){&index, sizeof(index)},
              (struct bytes){record, sizeof(*record)});
    if (j)
        pw_losscount_add(j->error ? &j->lacking_ringless : &j->waiting_ringless, &count);
}

void pw_journal_add_reading(struct pw_journal *j, uint64_t ticks, int64_t ns)
{
    add_block(j, PW_JOURNAL_READING, (struct bytes){&ticks, sizeof(ticks)},
              (struct bytes){&ns, sizeof(ns)});
}

void pw_journal_add_row(struct pw_journal *j, enum pw_table_id table, const void *row)
{
    struct pw_block_row header = {.table = table,
                                  .size = (uint32_t)pw_table_borrow((int)table)->row_size};
    add_block(j, PW_JOURNAL_ROW_OF, (struct bytes){&header, sizeof(header)},
              (struct bytes){row, header.size});
}

/* Writes the buffer, the counts of lacking records, and the end. */
static int write_end(struct pw_journal *j, const struct pw_journal_end *end)
{
    struct pw_losscount lacking = j->lacking;
    pw_losscount_add(&lacking, &j->lacking_ringless);
    if (lacking.n) {
        const uint32_t ring = 0;
        const struct pw_record loss = pw_losscount_record(&lacking, PW_REASON_DISK);
        add_block(j, PW_JOURNAL_RINGLESS, (struct bytes){&ring, sizeof(ring)},
                  (struct bytes){&loss, sizeof(loss)});
    }
    add_block(j, PW_JOURNAL_END, (struct bytes){end, sizeof(*end)}, none);
    if (pw_journal_commit(j))
        return j->error;
    j->lacking = lacking;
    j->lacking_ringless = (struct pw_losscount){.n = 0};
    return 0;
}

/* Tries three ways to write the end: after all blocks in the buffer, without these blocks, and in
 * place of the last records. */
void pw_journal_add_end(struct pw_journal *j, const struct pw_journal_end *end)
{
    if (!j)
        return;
    if (j->error)
        pw_journal_commit(j); /* blocks that fail here are not tried again */
    j->is_ending = true;
    j->error = 0; /* there may be room again */
    if (write_end(j, end) == 0)
        return;
    j->error = 0;
    if (write_end(j, end) == 0 || !j->last.n)
        return;
    pw_losscount_add(&j->lacking, &j->last);
    j->length = j->last_at;
    j->error = cut(j);
    write_end(j, end);
}

int pw_journal_add_whole_end(struct pw_journal *j, const struct pw_journal_end *end)
{
    int err = j->error;
    if (!err) {
        j->is_ending = true;
        err = write_end(j, end);
    }
    if (err && j->ringless_at) {
        j->length = j->ringless_at;
        cut(j);
    }
    return err;
}

uint64_t pw_journal_position(const struct pw_journal *j, int ring)
{
    return j ? j->position[ring] : 0;
}

uint64_t pw_journal_lacking(const struct pw_journal *j)
{
    return j ? j->lacking.n : 0;
}

int64_t pw_journal_bytes(const struct pw_journal *j)
{
    return j ? j->length + (int64_t)j->used : 0;
}

/* Locks the file. Returns 0, or -EBUSY when another process writes it. On a file system without
 * locks, a file that was changed in the last QUIET_S seconds counts as locked: its writer adds
 * samples many times a second. */
static int lock(int fd)
{
    enum { QUIET_S = 60 };
    struct stat st;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno == EWOULDBLOCK)
        return -EBUSY;
    if (fstat(fd, &st))
        return -errno;
    return time(NULL) - st.st_mtime < QUIET_S ? -EBUSY : 0;
}

static int open_file(struct pw_journal *j, int flags)
{
    struct stat st;
    j->fd = open(j->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
    if (j->fd < 0)
        return -errno;
    int err = fstat(j->fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
    if (err)
        close(j->fd);
    return err;
}

int pw_journal_create(const char *dir, const struct pw_journal_head *head, struct pw_journal **out)
{
    struct pw_journal *j = calloc(1, sizeof(*j));
    if (!j)
        return -ENOMEM;
    journal_path(j->path, sizeof(j->path), dir, head->id.rank);
    int err = open_file(j, O_CREAT | O_EXCL);
    if (err) {
        free(j);
        return err;
    }
    flock(j->fd, LOCK_EX | LOCK_NB); /* cannot fail: no other process knows the file yet */
    struct pw_block_head block = {PW_JOURNAL_VERSION, sizeof(block), *head};
    add_block(j, PW_JOURNAL_HEAD, (struct bytes){&block, sizeof(block)}, none);
    err = pw_journal_commit(j);
    if (err) {
        pw_journal_remove(j);
        return err;
    }
    *out = j;
    return 0;
}

/* Reads the file to find the end of the last whole block and the position of each ring. */
static int read_positions(struct pw_journal *j, int *has_end, int64_t *written_ns)
{
    struct pw_journal_reader *reader;
    struct pw_journal_block block;
    int err = pw_journal_open(j->path, &reader);
    if (err)
        return err;
    *has_end = 0;
    while (pw_journal_next(reader, &block)) {
        if (block.kind == PW_JOURNAL_RECORDS)
            j->position[block.records.ring] = block.records.first + block.records.n;
        *has_end |= block.kind == PW_JOURNAL_END;
        if (block.kind == PW_JOURNAL_WRITTEN)
            *written_ns = block.written_ns;
    }
    j->length = pw_journal_read_bytes(reader);
    pw_journal_reader_close(reader);
    return 0;
}

/* Saves the time of the last write as a block after the last whole block, before anything else
 * changes the file's modification time. When there is no room, the time is lost. */
static int64_t keep_written(struct pw_journal *j)
{
    struct stat st = {0};
    fstat(j->fd, &st);
    const int64_t ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    add_block(j, PW_JOURNAL_WRITTEN, (struct bytes){&ns, sizeof(ns)}, none);
    if (write_all(j) == 0)
        j->length += (int64_t)j->used;
    j->used = 0;
    return ns;
}

static int resume(const char *dir, int rank, struct pw_journal **out, int *has_end,
                  int64_t *written_ns)
{
    int64_t kept = -1;
    struct pw_journal *j = calloc(1, sizeof(*j));
    if (!j)
        return -ENOMEM;
    journal_path(j->path, sizeof(j->path), dir, rank);
    int err = open_file(j, 0);
    if (err) {
        free(j);
        return err;
    }
    err = lock(j->fd);
    err = err ? err : read_positions(j, has_end, &kept);
    if (!err && written_ns)
        *written_ns = kept >= 0 || *has_end ? kept : keep_written(j);
    /* Bytes that the earlier writer had allocated stay allocated if nothing must be cut off. */
    struct stat st;
    if (!err && (fstat(j->fd, &st) || st.st_size > j->length))
        err = cut(j);
    if (!err && fallocate(j->fd, FALLOC_FL_KEEP_SIZE, j->length, END_RESERVE) == 0)
        j->reserved = j->length + END_RESERVE;
    if (err)
        pw_journal_close(j);
    else
        *out = j;
    return err;
}

int pw_journal_resume(const char *dir, int rank, struct pw_journal **out, int *has_end)
{
    return resume(dir, rank, out, has_end, NULL);
}

int pw_journal_resume_ended(const char *dir, int rank, struct pw_journal **out, int *has_end,
                            int64_t *written_ns)
{
    return resume(dir, rank, out, has_end, written_ns);
}

void pw_journal_close(struct pw_journal *j)
{
    if (!j)
        return;
    pw_journal_commit(j);
    close(j->fd);
    free(j);
}

void pw_journal_remove(struct pw_journal *j)
{
    if (!j)
        return;
    unlink(j->path);
    j->used = 0;
    pw_journal_close(j);
}

/* ---- reading ---- */

struct pw_journal_reader {
    int fd;
    int64_t at; /* offset of the next block */
    struct pw_journal_head head;
    struct pw_record records[PW_JOURNAL_BATCH];
    _Alignas(16) unsigned char row[PW_JOURNAL_ROW];
    unsigned char payload[PW_JOURNAL_MOST];
};

static int read_at(const struct pw_journal_reader *r, void *out, size_t size, int64_t at)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = pread(r->fd, (char *)out + done, size - done, at + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -EBADMSG;
        done += (size_t)n;
    }
    return 0;
}

static int read_records(struct pw_journal_reader *r, size_t length, struct pw_journal_block *out)
{
    struct pw_block_records header;
    if (length < sizeof(header))
        return -EBADMSG;
    memcpy(&header, r->payload, sizeof(header));
    if (header.ring >= PW_MAX_RINGS || header.n == 0 || header.n > PW_JOURNAL_BATCH)
        return -EBADMSG;
    out->records.ring = (int)header.ring;
    out->records.n = header.n;
    out->records.first = header.first;
    out->records.records = r->records;
    return pw_records_decode(r->payload + sizeof(header), length - sizeof(header), r->records,
                             header.n);
}

static int read_ringless(struct pw_journal_reader *r, size_t length, struct pw_journal_block *out)
{
    uint32_t ring;
    if (length != sizeof(ring) + sizeof(r->records[0]))
        return -EBADMSG;
    memcpy(&ring, r->payload, sizeof(ring));
    memcpy(&r->records[0], r->payload + sizeof(ring), sizeof(r->records[0]));
    if (ring >= PW_MAX_RINGS)
        return -EBADMSG;
    out->records.ring = (int)ring;
    out->records.n = 1;
    out->records.records = r->records;
    return 0;
}

static int read_row(struct pw_journal_reader *r, size_t length, struct pw_journal_block *out)
{
    struct pw_block_row header;
    if (length < sizeof(header))
        return -EBADMSG;
    memcpy(&header, r->payload, sizeof(header));
    if (header.table >= PW_RANK_TABLE_COUNT || header.size > sizeof(r->row) ||
        header.size != pw_table_borrow((int)header.table)->row_size ||
        length != sizeof(header) + header.size)
        return -EBADMSG;
    memcpy(r->row, r->payload + sizeof(header), header.size);
    out->row.table = (enum pw_table_id)header.table;
    out->row.row = r->row;
    return 0;
}

/* Reads the head and limits all texts and numbers in it to possible values. */
static int read_head(struct pw_journal_reader *r, size_t length, struct pw_journal_block *out)
{
    struct pw_block_head block;
    if (length != sizeof(block))
        return -EBADMSG;
    memcpy(&block, r->payload, sizeof(block));
    struct pw_journal_head *head = &r->head;
    if (block.version != PW_JOURNAL_VERSION || block.size != sizeof(block))
        return -EBADMSG;
    *head = block.head;
    head->id.job[sizeof(head->id.job) - 1] = '\0';
    head->id.hostname[sizeof(head->id.hostname) - 1] = '\0';
    head->id.clock_domain[sizeof(head->id.clock_domain) - 1] = '\0';
    head->clock_sync[sizeof(head->clock_sync) - 1] = '\0';
    head->segment[sizeof(head->segment) - 1] = '\0';
    head->command[sizeof(head->command) - 1] = '\0';
    out->head = head;
    if (head->id.size < 1 || head->id.rank < 0 || head->id.rank >= head->id.size ||
        head->compression < 0 || head->compression > 9 || head->stack_depth > PW_MAX_STACK ||
        head->tick_source > PW_TICK_TSC)
        return -EBADMSG;
    return 0;
}

static int read_payload(struct pw_journal_reader *r, const struct pw_block_header *header,
                        struct pw_journal_block *out)
{
    const size_t length = header->length;
    switch (header->kind) {
    case PW_JOURNAL_HEAD:
        return r->at == 0 ? read_head(r, length, out) : -EBADMSG;
    case PW_JOURNAL_RECORDS:
        return read_records(r, length, out);
    case PW_JOURNAL_RINGLESS:
        return read_ringless(r, length, out);
    case PW_JOURNAL_READING:
        memcpy(&out->reading, r->payload, sizeof(out->reading));
        return length == sizeof(out->reading) ? 0 : -EBADMSG;
    case PW_JOURNAL_ROW_OF:
        return read_row(r, length, out);
    case PW_JOURNAL_END:
        memcpy(&out->end, r->payload, sizeof(out->end));
        return length == sizeof(out->end) ? 0 : -EBADMSG;
    case PW_JOURNAL_WRITTEN:
        memcpy(&out->written_ns, r->payload, sizeof(out->written_ns));
        return length == sizeof(out->written_ns) ? 0 : -EBADMSG;
    default:
        return -EBADMSG;
    }
}

int pw_journal_next(struct pw_journal_reader *r, struct pw_journal_block *out)
{
    struct pw_block_header header;
    if (read_at(r, &header, sizeof(header), r->at) || header.magic != PW_JOURNAL_MAGIC ||
        header.length > sizeof(r->payload) ||
        read_at(r, r->payload, header.length, r->at + (int64_t)sizeof(header)) ||
        pw_block_check(&header, r->payload) != header.check)
        return 0;
    *out = (struct pw_journal_block){.kind = (enum pw_journal_kind)header.kind};
    if (read_payload(r, &header, out))
        return 0;
    r->at += (int64_t)(sizeof(header) + header.length);
    return 1;
}

int pw_journal_open(const char *path, struct pw_journal_reader **out)
{
    struct pw_journal_reader *r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    struct pw_journal_block block;
    r->fd = pw_open_regular(path, O_NOFOLLOW);
    int err = r->fd < 0 ? r->fd : 0;
    if (!err)
        err = pw_journal_next(r, &block) && block.kind == PW_JOURNAL_HEAD ? 0 : -EBADMSG;
    if (err) {
        if (r->fd >= 0)
            close(r->fd);
        free(r);
        return err;
    }
    r->at = 0;
    *out = r;
    return 0;
}

void pw_journal_skip(struct pw_journal_reader *r, int64_t to)
{
    r->at = to;
}

int64_t pw_journal_read_bytes(const struct pw_journal_reader *r)
{
    return r->at;
}

void pw_journal_reader_close(struct pw_journal_reader *r)
{
    if (!r)
        return;
    close(r->fd);
    free(r);
}
