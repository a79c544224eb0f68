/* Writes rank files; see rankfile.h. */
#include "rank/file/rankfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/h5/h5types.h"
#include "core/h5/h5writer.h"
#include "rank/ring/tick.h"

struct pw_rankfile {
    struct pw_h5_writer *writer; /* NULL when only the journal is written */
    struct pw_journal *journal;  /* may be NULL */
    char path[4096];
    struct pw_texts strings, stacks;
    struct pw_budget budget;
    int64_t dropped;
    int64_t start_unix_ns, end_unix_ns; /* end 0: the time of closing */
    int64_t start_local_ns;
    int world_size;
    int64_t last_knot_ns;
    struct pw_row_comms *comms; /* [ncomms] written at the close */
    int32_t ncomms, comm_capacity;
    int main_thread; /* -1: not known, or it has recorded nothing */
    struct {
        pw_rankfile_watcher *watcher;
        void *context;
    } watches[PW_RANK_TABLE_COUNT];
};

static int64_t unix_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int write_identity(struct pw_rankfile *file, const struct pw_identity *id,
                          const char *command)
{
    hid_t h5 = pw_h5_writer_borrow_file(file->writer);
    int err = pw_format_stamp(h5, PW_FORMAT_RANK);
    err = err ? err : pw_h5_set_int(h5, "rank", id->rank);
    err = err ? err : pw_h5_set_int(h5, "world_size", id->size);
    err = err ? err : pw_h5_set_int(h5, "local_rank", id->local_rank);
    err = err ? err : pw_h5_set_text(h5, "hostname", id->hostname);
    err = err ? err : pw_h5_set_text(h5, "clock_domain", id->clock_domain);
    err = err ? err : pw_h5_set_text(h5, "job_id", id->job);
    err = err ? err : pw_h5_set_text(h5, "command", command);
    err = err ? err : pw_h5_set_int(h5, "start_unix_ns", file->start_unix_ns);
    return err ? err : pw_h5_set_int(h5, "complete", 0);
}

/* Whether every file has the table, if only without rows. Others are there when they have rows. */
static int is_always_there(int table)
{
    switch (table) {
    case PW_TABLE_clock:
    case PW_TABLE_comm_event:
    case PW_TABLE_range:
    case PW_TABLE_gap:
    case PW_TABLE_step:
    case PW_TABLE_window:
    case PW_TABLE_process:
    case PW_TABLE_comms:
    case PW_TABLE_member:
    case PW_TABLE_overhead:
        return 1;
    default:
        return 0;
    }
}

int pw_rankfile_create(const char *dir, const struct pw_identity *id, const char *command,
                       int level, struct pw_rankfile **out)
{
    struct pw_rankfile *file = calloc(1, sizeof(*file));
    if (!file)
        return -ENOMEM;
    char part[4112];
    snprintf(file->path, sizeof(file->path), "%s/rank-%05d.h5", dir, id->rank);
    snprintf(part, sizeof(part), "%s.part", file->path);
    file->start_unix_ns = unix_ns();
    file->start_local_ns = pw_local_ns();
    file->world_size = id->size;
    file->last_knot_ns = INT64_MIN;
    file->main_thread = -1;

    int err = access(file->path, F_OK) == 0 ? -EEXIST : 0;
    err = err ? err : pw_h5_writer_create(part, level, &file->writer);
    if (err) {
        free(file);
        return err;
    }
    err = write_identity(file, id, command);
    for (int table = 0; table < PW_RANK_TABLE_COUNT; table++)
        if (is_always_there(table))
            pw_h5_writer_require(file->writer, table);
    pw_rankfile_text(file, 0, "", 0);
    /* Writes now, so that a full disk is detected before the program runs. */
    errno = 0;
    if (!err && H5Fflush(pw_h5_writer_borrow_file(file->writer), H5F_SCOPE_LOCAL) < 0)
        err = errno ? -errno : -EIO;
    if (err) {
        pw_h5_writer_close(file->writer);
        unlink(part);
        pw_texts_fini(&file->strings);
        free(file);
        return err;
    }
    *out = file;
    return 0;
}

struct pw_rankfile *pw_rankfile_create_on_journal(struct pw_journal *journal)
{
    struct pw_rankfile *file = calloc(1, sizeof(*file));
    if (file)
        file->journal = journal;
    return file;
}

void pw_rankfile_use_journal(struct pw_rankfile *file, struct pw_journal *journal)
{
    file->journal = journal;
}

void pw_rankfile_append(struct pw_rankfile *file, enum pw_table_id table, const void *row)
{
    if (file->writer)
        pw_h5_writer_append(file->writer, table, row);
    if (file->watches[table].watcher)
        file->watches[table].watcher(file->watches[table].context, row);
}

void *pw_rankfile_add(struct pw_rankfile *file, enum pw_table_id table)
{
    return file->writer ? pw_h5_writer_add(file->writer, table) : NULL;
}

void pw_rankfile_watch(struct pw_rankfile *file, enum pw_table_id table,
                       pw_rankfile_watcher *watcher, void *context)
{
    file->watches[table].watcher = watcher;
    file->watches[table].context = context;
}

int32_t pw_rankfile_new_comm(struct pw_rankfile *file)
{
    enum { MOST = 1 << 21 };
    if (file->ncomms == file->comm_capacity) {
        int32_t capacity = file->comm_capacity ? 2 * file->comm_capacity : 16;
        const int64_t more = (int64_t)sizeof(*file->comms) * (capacity - file->comm_capacity);
        struct pw_row_comms *comms = capacity <= MOST && pw_budget_take(&file->budget, more)
                                         ? realloc(file->comms, sizeof(*comms) * (size_t)capacity)
                                         : NULL;
        if (!comms)
            return -1;
        file->comms = comms;
        file->comm_capacity = capacity;
    }
    file->comms[file->ncomms] = (struct pw_row_comms){0};
    return file->ncomms++;
}

void pw_rankfile_set_comm(struct pw_rankfile *file, int32_t row, const struct pw_row_comms *comm)
{
    if (row >= 0 && row < file->ncomms)
        file->comms[row] = *comm;
}

void pw_rankfile_append_measured(struct pw_rankfile *file, enum pw_table_id table, const void *row)
{
    pw_journal_add_row(file->journal, table, row);
    if (table == PW_TABLE_clock)
        pw_rankfile_append_knot(file, row);
    else
        pw_rankfile_append(file, table, row);
}

void pw_rankfile_append_knot(struct pw_rankfile *file, const struct pw_row_clock *knot)
{
    if (knot->local_ns <= file->last_knot_ns)
        return;
    file->last_knot_ns = knot->local_ns;
    pw_rankfile_append(file, PW_TABLE_clock, knot);
}

int64_t pw_rankfile_bytes(const struct pw_rankfile *file)
{
    return file->writer ? pw_h5_writer_bytes(file->writer) + file->budget.used_bytes : 0;
}

int64_t pw_rankfile_rows(const struct pw_rankfile *file, enum pw_table_id table)
{
    return file->writer ? pw_h5_writer_rows(file->writer, table) : 0;
}

void pw_rankfile_overhead(struct pw_rankfile *file, const char *name, double value,
                          const char *unit)
{
    struct pw_row_overhead row = {.value = value};
    snprintf(row.name, sizeof(row.name), "%s", name);
    snprintf(row.unit, sizeof(row.unit), "%s", unit);
    pw_rankfile_append(file, PW_TABLE_overhead, &row);
}

void pw_rankfile_text(struct pw_rankfile *file, uint32_t row, const char *text, size_t length)
{
    const uint32_t total = length < UINT32_MAX ? (uint32_t)length : UINT32_MAX;
    pw_rankfile_text_piece(file, &(struct pw_text_piece){row, total, 0, total, text});
}

void pw_rankfile_text_piece(struct pw_rankfile *file, const struct pw_text_piece *piece)
{
    pw_texts_add(&file->strings, &file->budget, piece);
}

void pw_rankfile_retext(struct pw_rankfile *file, uint32_t row, const char *text)
{
    pw_texts_replace(&file->strings, &file->budget, row, text);
}

struct pw_budget *pw_rankfile_borrow_budget(struct pw_rankfile *file)
{
    return &file->budget;
}

uint32_t pw_rankfile_texts(const struct pw_rankfile *file)
{
    return file->strings.n;
}

const char *pw_rankfile_borrow_text(const struct pw_rankfile *file, uint32_t row)
{
    return pw_texts_borrow(&file->strings, row);
}

void pw_rankfile_stack(struct pw_rankfile *file, uint32_t row, const char *text)
{
    uint32_t length = (uint32_t)strlen(text);
    pw_texts_add(&file->stacks, &file->budget,
                 &(struct pw_text_piece){row, length, 0, length, text});
}

void pw_rankfile_count_dropped(struct pw_rankfile *file, int64_t events)
{
    file->dropped += events;
}

int64_t pw_rankfile_dropped(const struct pw_rankfile *file)
{
    return file->dropped + pw_h5_writer_refused(file->writer);
}

void pw_rankfile_set_text(struct pw_rankfile *file, const char *name, const char *value)
{
    pw_h5_set_text(pw_h5_writer_borrow_file(file->writer), name, value);
}

void pw_rankfile_set_main_thread(struct pw_rankfile *file, int thread)
{
    file->main_thread = thread;
}

void pw_rankfile_set_snapshot(struct pw_rankfile *file)
{
    pw_h5_set_int(pw_h5_writer_borrow_file(file->writer), "snapshot", 1);
}

int64_t pw_rankfile_start_unix_ns(const struct pw_rankfile *file)
{
    return file->start_unix_ns;
}

void pw_rankfile_set_times(struct pw_rankfile *file, int64_t start_unix_ns, int64_t end_unix_ns)
{
    pw_h5_set_int(pw_h5_writer_borrow_file(file->writer), "start_unix_ns", start_unix_ns);
    file->end_unix_ns = end_unix_ns;
}

/* Computes the end from the monotonic clock: the time of day may be set while the program runs. */
static int64_t end_unix_ns(const struct pw_rankfile *file)
{
    return file->end_unix_ns ? file->end_unix_ns
                             : file->start_unix_ns + pw_local_ns() - file->start_local_ns;
}

static int write_end(struct pw_rankfile *file, const struct pw_rankfile_end *end)
{
    hid_t h5 = pw_h5_writer_borrow_file(file->writer);
    int err = pw_h5_set_int(h5, "pid", end->pid);
    if (!err && file->main_thread >= 0)
        err = pw_h5_set_int(h5, "main_thread", file->main_thread);
    err = err ? err : pw_h5_set_int(h5, "end_unix_ns", end_unix_ns(file));
    err = err ? err : pw_h5_set_int(h5, "exit_code", end->exit_code);
    err = err ? err : pw_h5_set_int(h5, "exit_signal", end->exit_signal);
    err = err ? err : pw_h5_set_int(h5, "dropped_events", pw_rankfile_dropped(file));
    return err ? err : pw_h5_set_int(h5, "complete", end->complete);
}

static int sync_and_rename(const char *part, const char *path)
{
    int fd = open(part, O_RDONLY | O_CLOEXEC);
    int err = fd < 0 || fsync(fd) ? -errno : 0;
    if (fd >= 0)
        close(fd);
    return err ? err : rename(part, path) ? -errno : 0;
}

static int close_file(struct pw_rankfile *file, const struct pw_rankfile_end *end)
{
    char part[4112];
    hid_t h5 = pw_h5_writer_borrow_file(file->writer);
    snprintf(part, sizeof(part), "%s.part", file->path);
    for (int32_t i = 0; i < file->ncomms; i++)
        pw_rankfile_append(file, PW_TABLE_comms, &file->comms[i]);
    int err = pw_texts_write(&file->strings, h5, "/strings");
    err = err ? err : pw_texts_write(&file->stacks, h5, "/stacks");
    err = err ? err : write_end(file, end);
    int closed = pw_h5_writer_close(file->writer);
    err = err ? err : closed;
    err = err ? err : sync_and_rename(part, file->path);
    if (err && file->journal)
        unlink(part); /* it may be unreadable; the journal has everything and needs the room */
    return err;
}

static void free_file(struct pw_rankfile *file)
{
    pw_texts_fini(&file->strings);
    pw_texts_fini(&file->stacks);
    free(file->comms);
    free(file);
}

int pw_rankfile_close(struct pw_rankfile *file, const struct pw_rankfile_end *end)
{
    int err = file->writer ? close_file(file, end) : 0;
    free_file(file);
    return err;
}

void pw_rankfile_discard(struct pw_rankfile *file)
{
    char part[4112];
    snprintf(part, sizeof(part), "%s.part", file->path);
    if (file->writer) {
        pw_h5_writer_close(file->writer);
        unlink(part);
    }
    free_file(file);
}
