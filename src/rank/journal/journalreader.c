/* Reads journals, which may be cut off or damaged anywhere; see journal.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/safefile.h"
#include "rank/journal/journalreader.h"

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
