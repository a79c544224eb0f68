/* Reads journals into rank files; see journalreplay.h. */
#include "rank/collect/journalreplay.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "rank/clocks/tickmap.h"
#include "rank/collect/intake.h"

struct replay {
    const struct pw_replay_job *job;
    struct pw_journal_reader *reader;
    struct pw_rankfile *file;
    struct pw_intake *intake;
    struct pw_journal_end end;
    int64_t last_ns; /* of any reading of the clock */
    uint64_t cut;    /* ticks; what happened from then on is left out; UINT64_MAX: nothing */
    struct pw_record kept[PW_JOURNAL_BATCH];
};

/* What happens, rather than what is referred to: names, communicators, threads. */
static int is_event(const struct pw_record *record)
{
    return record->type != PW_REC_THREAD && record->type != PW_REC_STRING &&
           record->type != PW_REC_STACK && record->type != PW_REC_COMM_DEF &&
           record->type != PW_REC_COMM_MEMBERS && record->type != PW_REC_CLOCK &&
           record->type != PW_REC_METADATA;
}

/* The records before the cut; the mark of the step at the cut ends the one before it. */
static uint32_t keep(struct replay *r, const struct pw_record *records, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n && i < PW_JOURNAL_BATCH; i++) {
        struct pw_record record = records[i];
        int is_mark = pw_record_is_step(&record) && record.start == r->cut;
        if (is_mark)
            record.step.step = -1;
        if (pw_intake_is_before(r->intake, &record, r->cut) || is_mark || !is_event(&record))
            r->kept[kept++] = record;
    }
    return kept;
}

static void replay_records(struct replay *r, const struct pw_journal_block *block)
{
    const struct pw_record *records = block->records.records;
    uint32_t n = block->records.n;
    if (r->cut != UINT64_MAX) {
        n = keep(r, records, n);
        records = r->kept;
    }
    pw_intake_records(r->intake, block->records.ring, records, n);
}

static void replay_block(struct replay *r, const struct pw_journal_block *block)
{
    switch (block->kind) {
    case PW_JOURNAL_RECORDS:
    case PW_JOURNAL_APART:
        replay_records(r, block);
        break;
    case PW_JOURNAL_READING:
        pw_intake_reading(r->intake, block->reading.ticks, block->reading.ns);
        r->last_ns = block->reading.ns;
        break;
    case PW_JOURNAL_ROW_OF:
        pw_rankfile_append_measured(r->file, block->row.table, block->row.row);
        break;
    case PW_JOURNAL_END:
        r->end = block->end;
        break;
    case PW_JOURNAL_HEAD:
    case PW_JOURNAL_WRITTEN:
        break;
    }
}

/* Where the last mark of the step is, in ticks. */
static int find_cut(struct replay *r)
{
    struct pw_journal_block block;
    r->cut = UINT64_MAX;
    if (r->job->cut_step < 0)
        return 0;
    int err = pw_journal_open(r->job->journal, &r->reader);
    if (err)
        return err;
    while (pw_journal_next(r->reader, &block))
        for (uint32_t i = 0; block.kind == PW_JOURNAL_RECORDS && i < block.records.n; i++) {
            const struct pw_record *record = &block.records.records[i];
            if (pw_record_is_step(record) && record->step.step == r->job->cut_step)
                r->cut = record->start;
        }
    pw_journal_reader_close(r->reader);
    return 0;
}

static int create_file(struct replay *r, const struct pw_journal_head *head,
                       const struct pw_collector *collectors)
{
    const struct pw_intake_setup setup = {
        .activities = head->activities,
        .stack_depth = head->stack_depth,
        .tick_source = (enum pw_tick_source)head->tick_source,
        .test_clock = head->test_clock,
    };
    int err =
        pw_rankfile_create(r->job->dir, &head->id, head->command, head->compression, &r->file);
    if (err)
        return err;
    pw_rankfile_set_text(r->file, "clock_sync", head->clock_sync);
    pw_rankfile_set_text(r->file, "tick_source", pw_tick_name(setup.tick_source));
    if (r->job->complete == 0)
        pw_rankfile_set_snapshot(r->file);
    r->intake = pw_intake_create(&setup, r->file, collectors);
    return r->intake ? 0 : -ENOMEM;
}

static int64_t unix_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int close_file(struct replay *r, const struct pw_journal_head *head)
{
    int is_snapshot = r->job->complete == 0;
    pw_rankfile_set_times(r->file, head->start_unix_ns,
                          is_snapshot ? unix_ns() : r->end.end_unix_ns);
    const struct pw_rankfile_end end = {.exit_code = r->end.exit_code,
                                        .exit_signal = r->end.exit_signal,
                                        .complete = r->job->complete,
                                        .pid = r->end.pid};
    return pw_rankfile_close(r->file, &end);
}

/* From the head, which is copied: it lies in the reader's memory. */
static int replay_all(struct replay *r, const struct pw_collector *collectors, int *rank)
{
    static struct pw_journal_head head;
    struct pw_journal_block block;
    if (!pw_journal_next(r->reader, &block) || block.kind != PW_JOURNAL_HEAD)
        return -EBADMSG;
    head = *block.head;
    *rank = head.id.rank;
    int err = create_file(r, &head, collectors);
    while (!err && pw_journal_next(r->reader, &block))
        replay_block(r, &block);
    if (!err)
        pw_intake_finish(r->intake, r->last_ns);
    pw_intake_destroy(r->intake);
    int closed = r->file ? close_file(r, &head) : 0;
    return err ? err : closed;
}

int pw_replay_journal(const struct pw_replay_job *job, const struct pw_collector *collectors)
{
    static struct replay r;
    char part[4300];
    int rank = 0;
    r = (struct replay){.job = job, .end = {.exit_code = -1}};
    int err = find_cut(&r);
    err = err ? err : pw_journal_open(job->journal, &r.reader);
    if (err)
        return err;
    err = replay_all(&r, collectors, &rank);
    pw_journal_reader_close(r.reader);
    snprintf(part, sizeof(part), "%s/rank-%05d.h5.part", job->dir, rank);
    if (err)
        unlink(part);
    return err;
}
