/* Makes rank files from the journals of killed collectors; see recover.h. */
#include "rank/collect/recover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/h5/h5reader.h"
#include "core/h5/h5types.h"
#include "core/log.h"
#include "rank/clocks/tickmap.h"
#include "rank/collect/drain.h"
#include "rank/collect/intake.h"
#include "rank/host/hostpage.h"
#include "rank/run/process.h"

struct replay {
    const struct pw_replay_job *job;
    struct pw_journal_reader *reader;
    struct pw_rankfile *file;
    struct pw_intake *intake;
    struct pw_journal_end end;
    int64_t last_ns; /* time of the last clock reading */
    uint64_t cut;    /* ticks; events from here on are left out; UINT64_MAX: no event is left out */
    struct pw_record kept[PW_JOURNAL_BATCH];
};

/* Whether the record is an event, not a definition (name, communicator, thread). */
static int is_event(const struct pw_record *record)
{
    return record->type != PW_REC_THREAD && record->type != PW_REC_STRING &&
           record->type != PW_REC_STACK && record->type != PW_REC_COMM_DEF &&
           record->type != PW_REC_COMM_MEMBERS && record->type != PW_REC_CLOCK &&
           record->type != PW_REC_METADATA;
}

/* Copies to r->kept the records from before the cut. The step mark at the cut is kept, too, as the
 * end of the step before it. Returns the number of records kept. */
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
    case PW_JOURNAL_RINGLESS:
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

/* Sets the cut to the time of the last mark that begins step `cut_step` of the job. */
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
                       const struct pw_module *modules)
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
    r->intake = pw_intake_create(&setup, r->file, modules);
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

/* Replays the journal from its head. Copies the head, because the reader's memory changes with the
 * next block. */
static int replay_all(struct replay *r, const struct pw_module *modules, int *rank)
{
    static struct pw_journal_head head;
    struct pw_journal_block block;
    if (!pw_journal_next(r->reader, &block) || block.kind != PW_JOURNAL_HEAD)
        return -EBADMSG;
    head = *block.head;
    *rank = head.id.rank;
    int err = create_file(r, &head, modules);
    while (!err && pw_journal_next(r->reader, &block))
        replay_block(r, &block);
    if (!err)
        pw_intake_finish(r->intake, r->last_ns);
    pw_intake_destroy(r->intake);
    int closed = r->file ? close_file(r, &head) : 0;
    return err ? err : closed;
}

int pw_replay_journal(const struct pw_replay_job *job, const struct pw_module *modules)
{
    static struct replay r;
    char part[4300];
    int rank = 0;
    r = (struct replay){.job = job, .end = {.exit_code = -1}};
    int err = find_cut(&r);
    err = err ? err : pw_journal_open(job->journal, &r.reader);
    if (err)
        return err;
    err = replay_all(&r, modules, &rank);
    pw_journal_reader_close(r.reader);
    snprintf(part, sizeof(part), "%s/rank-%05d.h5.part", job->dir, rank);
    if (err)
        unlink(part);
    return err;
}

struct paths {
    char journal[4200], file[4200], part[4210];
};

static void find_paths(struct paths *p, const char *dir, int rank)
{
    snprintf(p->journal, sizeof(p->journal), "%s/rank-%05d.journal", dir, rank);
    snprintf(p->file, sizeof(p->file), "%s/rank-%05d.h5", dir, rank);
    snprintf(p->part, sizeof(p->part), "%s.part", p->file);
}

static int read_head(const char *path, struct pw_journal_head *out)
{
    struct pw_journal_reader *reader;
    struct pw_journal_block block;
    int err = pw_journal_open(path, &reader);
    if (err)
        return err;
    if (pw_journal_next(reader, &block))
        *out = *block.head;
    pw_journal_reader_close(reader);
    return 0;
}

/* Attaches the segment of the journal, if it is on this host; else NULL. A
 * segment's name is never reused on a host; when the directory is a copy from another host, a
 * segment with this name is not the rank's, which the clock domain shows. */
static struct pw_segment_shared *find_segment(const struct pw_journal_head *head)
{
    struct pw_segment_shared *segment;
    int err = head->segment[0] ? pw_segment_attach(head->segment, &segment) : -ENOENT;
    if (err) {
        pw_debug(PW_LOG_RECOVER, 2, "rank %d has no rings here: %s", head->id.rank, strerror(-err));
        return NULL;
    }
    if (segment->clock_domain == head->id.clock_domain_hash)
        return segment;
    pw_debug(PW_LOG_RECOVER, 2, "rank %d has no rings here: %s is of another machine or boot",
             head->id.rank, head->segment);
    pw_segment_detach(segment);
    return NULL;
}

/* Returns the seconds since boot, by the clock of processes' start times. */
static double uptime_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Whether the process that wrote into the rings still runs. A zombie does not run. A process that
 * started after the journal's last block is another one with the same pid. */
static int is_alive(int32_t pid, const char *journal)
{
    struct pw_process_stat process;
    struct stat st;
    if (pid <= 0 || pw_process_stat(pid, &process) || stat(journal, &st))
        return 0;
    double age_s = uptime_s() - (double)process.start / (double)sysconf(_SC_CLK_TCK);
    double quiet_s = difftime(time(NULL), st.st_mtime);
    return !pw_process_is_over(&process) && age_s + 1 >= quiet_s;
}

/* Adds the records that are left in the rings; they are committed with the end. Returns 1 when
 * there are rings, else 0; -EBUSY while the program still writes them; -errno when the journal
 * cannot take them. */
static int drain_rings(struct pw_journal *journal, const char *path,
                       const struct pw_journal_head *head, const struct pw_module *modules)
{
    struct pw_segment_shared *segment = find_segment(head);
    if (!segment)
        return 0;
    const int32_t pid = atomic_load(&segment->owner_pid);
    int err = is_alive(pid, path) ? -EBUSY : 0;
    pw_debug(PW_LOG_RECOVER, 2, "rank %d: its process %d %s", head->id.rank, (int)pid,
             err ? "runs, so that its rings are left alone" : "has ended, its rings are read");
    struct pw_drain *drain = err ? NULL : pw_drain_create(head->segment, segment, journal, NULL);
    if (!err && !drain)
        err = -ENOMEM;
    if (!err) {
        pw_drain_use_salvage(drain, modules);
        err = pw_drain_finish_whole(drain);
        pw_drain_destroy(drain);
        err = err ? err : 1;
    }
    pw_segment_detach(segment);
    return err;
}

/* Adds an end for a program whose end was not seen: the time at which its collector last wrote the
 * journal. */
static int add_unknown_end(struct pw_journal *journal, int64_t written_ns, int has_rings)
{
    const struct pw_journal_end end = {.exit_code = -1, .end_unix_ns = written_ns};
    if (has_rings)
        return pw_journal_add_whole_end(journal, &end);
    pw_journal_add_end(journal, &end);
    return 0; /* also when there was no room for it: the rank file is the same without this end */
}

/* Whether the rank's file is complete: then the collector was killed after renaming it and before
 * removing the journal. */
static int is_complete(const char *path)
{
    int64_t complete = 0;
    hid_t file;
    if (pw_h5_open(path, &file))
        return 0;
    int known = pw_h5_get_int(file, "complete", &complete) == 0;
    pw_h5_close(file);
    return known && complete >= 1;
}

int pw_recover_is_of(const char *dir, int rank, uint64_t clock_domain)
{
    struct paths paths;
    struct pw_journal_head *head = calloc(1, sizeof(*head));
    find_paths(&paths, dir, rank);
    int is =
        head && read_head(paths.journal, head) == 0 && head->id.clock_domain_hash == clock_domain;
    free(head);
    return is;
}

int pw_recover_rank(const char *dir, int rank, const struct pw_module *modules)
{
    static struct pw_journal_head head;
    struct paths paths;
    struct pw_journal *journal;
    int has_end;
    int64_t written_ns;
    find_paths(&paths, dir, rank);
    int err = pw_journal_resume_ended(dir, rank, &journal, &has_end, &written_ns);
    if (err) {
        pw_debug(PW_LOG_RECOVER, 2, "rank %d: its journal cannot be taken: %s", rank,
                 err == -EBUSY ? "a collector or a recovery has it" : strerror(-err));
        return err;
    }
    err = read_head(paths.journal, &head);
    if (!err && head.id.rank != rank)
        err = -ESRCH; /* the journal is of another rank, whose file has another name */
    if (!err && access(paths.file, F_OK) == 0) {
        err = is_complete(paths.file) ? 0 : -EEXIST;
        pw_debug(PW_LOG_RECOVER, 2, "rank %d has a file already, which is %s", rank,
                 err ? "not complete: the file and the journal stay"
                     : "complete: only the journal is removed");
    } else if (!err) {
        if (has_end)
            pw_debug(PW_LOG_RECOVER, 2, "rank %d: the journal has its end, no ring is read", rank);
        err = has_end ? 0 : drain_rings(journal, paths.journal, &head, modules);
        const int has_rings = err == 1;
        err = has_rings ? 0 : err;
        if (!err && !has_end)
            err = add_unknown_end(journal, written_ns, has_rings);
        if (!err && unlink(paths.part) && errno != ENOENT)
            err = -errno;
        err = err ? err
                  : pw_replay_journal(
                        &(struct pw_replay_job){
                            .journal = paths.journal, .dir = dir, .complete = 2, .cut_step = -1},
                        modules);
    }
    pw_debug(PW_LOG_RECOVER, 1, "rank %d: %s", rank, err ? strerror(-err) : "its file is whole");
    if (err) {
        pw_journal_close(journal);
        return err;
    }
    struct pw_segment_shared *segment = find_segment(&head);
    if (segment) {
        shm_unlink(head.segment);
        pw_segment_detach(segment);
    }
    pw_hostpage_forget(dir, head.id.clock_domain_hash);
    pw_journal_remove(journal);
    return 0;
}
