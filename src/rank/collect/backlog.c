/* Reads the end of the journal while it is being written; see backlog.h. */
#include "rank/collect/backlog.h"

#include "rank/journal/losscount.h"

void pw_backlog_init(struct pw_backlog *b, struct pw_intake *intake, struct pw_journal *journal)
{
    *b = (struct pw_backlog){.intake = intake, .journal = journal};
    /* Now, while there is memory. */
    if (intake && pw_journal_follow(journal, &b->reader))
        b->reader = NULL;
}

bool pw_backlog_add(struct pw_backlog *b, uint32_t n)
{
    if (!b->reader)
        return false;
    const struct pw_losscount count = pw_journal_last_count(b->journal);
    pw_losscount_add(&b->count, &count);
    b->blocks++;
    b->records += n;
    return true;
}

/* The reader continues after all that is in the journal. Nothing waits then. */
static void skip_all(struct pw_backlog *b)
{
    if (b->reader)
        pw_journal_skip(b->reader, pw_journal_bytes(b->journal));
    b->blocks = b->records = 0;
    b->count = (struct pw_losscount){.n = 0};
}

static void lose_all(struct pw_backlog *b)
{
    const struct pw_record loss = pw_losscount_record(&b->count, PW_REASON_DISK);
    if (b->records)
        pw_intake_records(b->intake, 0, &loss, 1);
    skip_all(b);
}

/* Hands the next block to the intake. */
static void hand_over_first(struct pw_backlog *b)
{
    struct pw_journal_block block;
    if (!pw_journal_next(b->reader, &block)) {
        lose_all(b);
    } else if (block.kind == PW_JOURNAL_READING) {
        pw_intake_reading(b->intake, block.reading.ticks, block.reading.ns);
        b->blocks--;
    } else if (block.kind == PW_JOURNAL_RECORDS) {
        const struct pw_losscount count = pw_losscount_of(block.records.records, block.records.n);
        pw_losscount_subtract(&b->count, &count);
        b->blocks--;
        b->records -= block.records.n;
        pw_intake_records(b->intake, block.records.ring, block.records.records, block.records.n);
    } /* blocks of other kinds are passed over: b->blocks does not count them */
}

uint64_t pw_backlog_hand_over(struct pw_backlog *b)
{
    const uint64_t before = b->records;
    pw_journal_commit(b->journal); /* else a reading at its end could not be read */
    while (b->blocks && before - b->records < PW_BACKLOG_SLICE)
        hand_over_first(b);
    return before - b->records;
}

void pw_backlog_hand_over_all(struct pw_backlog *b)
{
    while (b->blocks)
        pw_backlog_hand_over(b);
}

void pw_backlog_pass(struct pw_backlog *b, int ring, const struct pw_record *records, uint32_t n)
{
    pw_backlog_hand_over_all(b);
    skip_all(b);
    if (b->intake)
        pw_intake_records(b->intake, ring, records, n);
}

void pw_backlog_pass_reading(struct pw_backlog *b, uint64_t ticks, int64_t ns)
{
    if (b->blocks) {
        b->blocks++;
        return;
    }
    skip_all(b);
    if (b->intake)
        pw_intake_reading(b->intake, ticks, ns);
}

void pw_backlog_fini(struct pw_backlog *b)
{
    pw_journal_reader_close(b->reader);
}
