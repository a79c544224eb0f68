/* Opens rank files and checks their contents; see input.h. */
#include "aggregate/input/input.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/missing.h"
#include "analysis/statistics.h"
#include "core/clockmap.h"
#include "core/grow.h"
#include "core/h5/h5types.h"
#include "core/limits.h"
#include "core/ops.h"
#include "core/readlimit.h"
#include "core/safefile.h"
#include "core/search.h"
#include "core/sort.h"

/* Reads and thins a clock's knots. */

/* FULL: the first knot and then pairs, with room left for two knots at the end. */
enum { BLOCK = 1 << 16, FULL = PW_KNOTS_MOST - 1 };

static_assert(FULL % 2 == 1, "no knot is left over in halves");

static int append(struct pw_knots *k, const struct pw_row_clock *row)
{
    struct pw_row_clock *v = pw_grow(k->v, k->n, sizeof(*v), &k->capacity);
    if (!v)
        return -ENOMEM;
    k->v = v;
    k->v[k->n++] = *row;
    return 0;
}

static const struct pw_row_clock *better(const struct pw_row_clock *a, const struct pw_row_clock *b)
{
    return b->error_ns < a->error_ns ? b : a;
}

/* Doubles the size of the groups: keeps the better knot of each pair. The first knot belongs to no
 * group. */
static void halve(struct pw_knots *k)
{
    size_t kept = 1;
    for (size_t i = 1; i < k->n; i += 2)
        k->v[kept++] = *better(&k->v[i], &k->v[i + 1]);
    k->n = kept;
    k->group *= 2;
}

int pw_knots_add(struct pw_knots *k, const struct pw_row_clock *row)
{
    struct pw_row_clock pair[2] = {k->last, *row};
    int is_first = k->group == 0;
    if (!pw_clock_is_valid(is_first ? row : pair, is_first ? 1 : 2))
        return -EDOM;
    k->last = *row;
    if (is_first) {
        k->group = 1;
        return append(k, row);
    }
    k->best = k->waiting ? *better(&k->best, row) : *row;
    if (++k->waiting < k->group)
        return 0;
    int err = append(k, &k->best);
    k->waiting = 0;
    if (!err && k->n == FULL)
        halve(k);
    return err;
}

int pw_knots_finish(struct pw_knots *k)
{
    int err = k->waiting ? append(k, &k->best) : 0;
    if (err || !k->n || k->v[k->n - 1].local_ns == k->last.local_ns)
        return err;
    return append(k, &k->last);
}

static int read_blocks(struct pw_h5_table *table, uint64_t rows, struct pw_knots *k)
{
    struct pw_row_clock *block = malloc(BLOCK * sizeof(*block));
    int err = block ? 0 : -ENOMEM;
    for (uint64_t at = 0; at < rows && !err; at += BLOCK) {
        size_t n = rows - at < BLOCK ? (size_t)(rows - at) : BLOCK;
        err = pw_h5_table_read(table, at, n, block);
        for (size_t i = 0; i < n && !err; i++)
            err = pw_knots_add(k, &block[i]);
    }
    free(block);
    return err ? err : pw_knots_finish(k);
}

static int read_many(const struct pw_h5_file *file, struct pw_row_clock **out, size_t *count)
{
    struct pw_knots knots = {0};
    struct pw_h5_place place;
    struct pw_h5_table *table;
    int err = pw_h5_file_place(file, PW_TABLE_clock, &place);
    if (err)
        return err;
    err = pw_h5_file_table(file, &place, &table);
    if (!err) {
        err = read_blocks(table, place.rows, &knots);
        pw_h5_table_close(table);
    }
    pw_h5_place_fini(&place);
    if (err) {
        free(knots.v);
        return err;
    }
    *out = knots.v;
    *count = knots.n;
    return 0;
}

static int read_few(const struct pw_h5_file *file, struct pw_row_clock **out, size_t *count)
{
    void *rows;
    size_t n;
    int err = pw_h5_file_read_all(file, PW_TABLE_clock, &rows, &n);
    if (err)
        return err;
    if (!pw_clock_is_valid(rows, n)) {
        free(rows);
        return -EDOM;
    }
    *out = rows;
    *count = n;
    return 0;
}

/* Reads the knots of the file; *count is 0 when it has no such table. Returns 0 or -errno, -EDOM
 * when the map is impossible. */
static int knots_read(const struct pw_h5_file *file, struct pw_row_clock **out, size_t *count)
{
    uint64_t rows;
    int err = pw_h5_file_rows(file, PW_TABLE_clock, &rows);
    if (!err)
        err = rows > PW_KNOTS_MOST ? read_many(file, out, count) : read_few(file, out, count);
    return err == -ENOENT ? 0 : err;
}

int pw_start_index_init(struct pw_start_index *b, size_t blocks)
{
    *b = (struct pw_start_index){
        .blocks = blocks,
        .latest = malloc(sizeof(*b->latest) * (blocks + 1)),
        .earliest = malloc(sizeof(*b->earliest) * (blocks + 1)),
        .before = malloc(sizeof(*b->before) * (blocks + 1)),
    };
    if (b->latest && b->earliest && b->before)
        return 0;
    pw_start_index_fini(b);
    return -ENOMEM;
}

void pw_start_index_note(struct pw_start_index *b, size_t block,
                         const struct pw_row_comm_event *rows, size_t n)
{
    int64_t earliest = INT64_MAX, latest = INT64_MIN, messages = 0;
    for (size_t i = 0; i < n; i++) {
        enum pw_op_class cls = pw_op_info(rows[i].op)->cls;
        if ((cls != PW_CLASS_SEND && cls != PW_CLASS_RECV) || rows[i].end < rows[i].start)
            continue;
        messages++;
        earliest = rows[i].start < earliest ? rows[i].start : earliest;
        latest = rows[i].start > latest ? rows[i].start : latest;
    }
    b->earliest[block] = earliest;
    b->latest[block] = latest;
    b->before[block] = messages;
}

int64_t pw_start_index_floor(const struct pw_start_index *b, size_t block)
{
    return block < PW_START_INDEX_LATE ? INT64_MIN : b->latest[block - PW_START_INDEX_LATE];
}

/* Turns the values of single blocks into those of all blocks up to, or from, each block. */
void pw_start_index_finish(struct pw_start_index *b)
{
    int64_t before = 0, after = INT64_MAX;
    for (size_t i = 0; i < b->blocks; i++) {
        int64_t here = b->before[i];
        b->before[i] = before;
        before += here;
        if (i && b->latest[i - 1] > b->latest[i])
            b->latest[i] = b->latest[i - 1];
    }
    b->before[b->blocks] = before;
    for (size_t i = b->blocks; i-- > 0; b->earliest[i] = after) {
        int64_t floor = pw_start_index_floor(b, i);
        int64_t here = b->earliest[i] > floor ? b->earliest[i] : floor;
        after = here < after ? here : after;
    }
}

void pw_start_index_find(const struct pw_start_index *b, int64_t from, int64_t to, size_t *first,
                         size_t *end)
{
    *first = pw_place_i64(b->latest, b->blocks, from);
    *end = pw_place_i64(b->earliest, b->blocks, to);
}

void pw_start_index_around(const struct pw_start_index *b, int64_t from, int64_t to, size_t *first,
                           size_t *end)
{
    pw_start_index_find(b, from, to, first, end);
    if (*first > 0)
        *first = pw_place_i64(b->latest, b->blocks, b->latest[*first - 1]);
    *end += *end < b->blocks;
}

double pw_start_index_count(const struct pw_start_index *b, int64_t time)
{
    size_t at = pw_place_i64(b->latest, b->blocks, time);
    if (at == b->blocks)
        return b->blocks ? (double)b->before[at] : 0;
    int64_t from = at ? b->latest[at - 1] : INT64_MIN;
    from = from > b->earliest[0] ? from : b->earliest[0];
    if (time <= from)
        return (double)b->before[at];
    double share = (double)((uint64_t)time - (uint64_t)from) /
                   (double)((uint64_t)b->latest[at] - (uint64_t)from);
    return (double)b->before[at] + share * (double)(b->before[at + 1] - b->before[at]);
}

void pw_start_index_fini(struct pw_start_index *b)
{
    free(b->latest);
    free(b->earliest);
    free(b->before);
    *b = (struct pw_start_index){0};
}

enum { FIRST_EVENTS = 9 };

static int fail(char *problem, size_t size, const char *text, int err)
{
    snprintf(problem, size, "%s", text);
    return err;
}

static void get_int(const struct pw_h5_file *file, const char *name, int64_t *value,
                    int64_t fallback)
{
    if (pw_h5_file_int(file, name, value) || !pw_is_possible(*value))
        *value = fallback;
}

static void get_text(const struct pw_h5_file *file, const char *name, char *value, size_t size)
{
    if (pw_h5_file_text(file, name, value, size))
        value[0] = '\0';
}

static int read_attributes(struct pw_input *s, const struct pw_h5_file *file, char *problem,
                           size_t size)
{
    int err = pw_h5_file_check(file, PW_FORMAT_RANK);
    if (err)
        return fail(problem, size,
                    err == -EPROTO ? "was written by a newer profwrap" : "is not a rank file", err);
    get_int(file, "rank", &s->rank, -1);
    get_int(file, "world_size", &s->world_size, -1);
    if (s->world_size < 1 || s->world_size > 1 << 24 || s->rank < 0 || s->rank >= s->world_size)
        return fail(problem, size, "has no valid rank and world_size", -EINVAL);
    get_int(file, "complete", &s->complete, 0);
    get_int(file, "snapshot", &s->snapshot, 0);
    get_int(file, "dropped_events", &s->dropped, 0);
    get_int(file, "exit_code", &s->exit_code, -1);
    get_int(file, "exit_signal", &s->exit_signal, 0);
    get_int(file, "start_unix_ns", &s->start_unix_ns, -1);
    get_int(file, "end_unix_ns", &s->end_unix_ns, -1);
    get_text(file, "hostname", s->hostname, sizeof(s->hostname));
    get_text(file, "job_id", s->job, sizeof(s->job));
    get_text(file, "clock_domain", s->clock_domain, sizeof(s->clock_domain));
    get_text(file, "clock_sync", s->clock_sync, sizeof(s->clock_sync));
    get_text(file, "gpu_unrecorded", s->gpu_unrecorded, sizeof(s->gpu_unrecorded));
    get_text(file, "gpu_lacking", s->gpu_lacking, sizeof(s->gpu_lacking));
    get_text(file, "cupti_taken_by", s->cupti_taken_by, sizeof(s->cupti_taken_by));
    get_text(file, "command", s->command, sizeof(s->command));
    get_text(file, "imported", s->imported, sizeof(s->imported));
    return 0;
}

static int read_table(const struct pw_h5_file *file, int table, void *rows, size_t *count)
{
    int err = pw_h5_file_read_all(file, table, rows, count);
    return err == -ENOENT ? 0 : err;
}

static int by_start(const void *a, const void *b)
{
    const struct pw_row_step *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* Sorts the steps by start, drops impossible ones, and cuts those that overlap the next. */
static void clean_steps(struct pw_input *s)
{
    size_t kept = 0;
    pw_sort(s->steps, s->nsteps, sizeof(*s->steps), by_start);
    for (size_t i = 0; i < s->nsteps; i++) {
        if (s->steps[i].end < s->steps[i].start || s->steps[i].step < 0 ||
            !pw_is_possible(s->steps[i].start) || !pw_is_possible(s->steps[i].end))
            continue;
        if (kept && s->steps[kept - 1].end > s->steps[i].start)
            s->steps[kept - 1].end = s->steps[i].start;
        s->steps[kept++] = s->steps[i];
    }
    s->nsteps = kept;
}

static void read_overhead(struct pw_input *s, const struct pw_h5_file *file)
{
    struct pw_row_overhead *rows = NULL;
    size_t n = 0;
    if (read_table(file, PW_TABLE_overhead, &rows, &n))
        return;
    for (size_t i = 0; i < n; i++) {
        if (strncmp(rows[i].name, "event_cost", sizeof(rows[i].name)) == 0)
            s->event_cost_ns = rows[i].value;
        if (strncmp(rows[i].name, "clock_sync", sizeof(rows[i].name)) == 0)
            s->sync_ns += rows[i].value;
        if (strncmp(rows[i].name, "clock_probe", sizeof(rows[i].name)) == 0)
            s->sync_ns += rows[i].value;
        if (strncmp(rows[i].name, "gpu_processes", sizeof(rows[i].name)) == 0)
            s->gpu_processes = pw_whole(rows[i].value);
        if (strncmp(rows[i].name, "profiler", sizeof(rows[i].name)) == 0) {
            s->sync_ns += rows[i].value;
            s->has_overhead = 1;
        }
        if (strncmp(rows[i].name, "impossible_times", sizeof(rows[i].name)) == 0)
            s->impossible_times = pw_whole(rows[i].value);
        if (strncmp(rows[i].name, "nccl_uncounted", sizeof(rows[i].name)) == 0)
            s->nccl_uncounted = 1;
        if (strncmp(rows[i].name, "nccl_replay_unplaced", sizeof(rows[i].name)) == 0)
            s->nccl_unplaced = pw_whole(rows[i].value);
        if (strncmp(rows[i].name, "ring_wait", sizeof(rows[i].name)) == 0)
            s->sync_ns += rows[i].value;
        if (strncmp(rows[i].name, "python_start", sizeof(rows[i].name)) == 0)
            s->sync_ns += rows[i].value;
        if (strncmp(rows[i].name, "python_hooks", sizeof(rows[i].name)) == 0)
            s->sync_ns += rows[i].value;
    }
    free(rows);
}

/* Reads the times of the first and the last sample of the process. Returns 0 or -errno. */
static int read_sampled(struct pw_input *s, const struct pw_h5_file *file)
{
    struct pw_row_process first, last;
    struct pw_h5_table *table;
    if (!s->process_rows.rows)
        return 0;
    int err = pw_h5_file_table(file, &s->process_rows, &table);
    if (err)
        return err;
    if (pw_h5_table_read(table, 0, 1, &first) == 0 &&
        pw_h5_table_read(table, s->process_rows.rows - 1, 1, &last) == 0 &&
        pw_is_possible(first.time) && pw_is_possible(last.time)) {
        s->sampled_from = first.time;
        s->sampled_until = last.time;
    }
    pw_h5_table_close(table);
    return 0;
}

int pw_event_is_possible(const struct pw_row_comm_event *event)
{
    return pw_is_possible(event->start) && pw_is_possible(event->end) &&
           pw_is_possible(event->wait_start) && pw_is_possible(event->inside_ns) &&
           pw_is_possible(event->sent_bytes) && pw_is_possible(event->recv_bytes);
}

static int is_init(const struct pw_row_comm_event *event)
{
    return pw_event_is_possible(event) &&
           (event->op == PW_OP_Init || event->op == PW_OP_Init_thread);
}

/* Reads when the rank entered and left MPI_Init, or PyTorch's process group of all ranks: there one
 * or more connections to a store come first. Then when the first operation after it began. It reads
 * several rows: they are sorted by end, so the earliest start need not be in the first one. */
static void read_begin(struct pw_input *s, struct pw_h5_table *table)
{
    struct pw_row_comm_event events[FIRST_EVENTS];
    const size_t n = s->event_rows.rows < FIRST_EVENTS ? s->event_rows.rows : FIRST_EVENTS;
    size_t i = 1;
    if (pw_h5_table_read(table, 0, n, events) || !pw_event_is_possible(&events[0]))
        return;
    s->begin_ns = events[0].start;
    s->first_ns = events[0].end;
    if (is_init(&events[0])) {
        s->init_ns = events[0].start;
        s->init_source = events[0].source;
    }
    for (; i < n && s->init_ns != INT64_MAX && s->init_source == PW_SOURCE_GLOO &&
           is_init(&events[i]) && events[i].source == PW_SOURCE_GLOO;
         i++)
        s->first_ns = events[i].end;
    for (; i < n; i++)
        if (pw_event_is_possible(&events[i]) && events[i].start < s->begun_ns)
            s->begun_ns = events[i].start;
}

/* Sets the times of the first operation (MPI_Init in a program of MPI) and of the last. Returns 0
 * or -errno. */
static int read_span(struct pw_input *s, const struct pw_h5_file *file)
{
    struct pw_row_comm_event event;
    struct pw_h5_table *table;
    if (!s->event_rows.rows)
        return 0;
    int err = pw_h5_file_table(file, &s->event_rows, &table);
    if (err)
        return err;
    read_begin(s, table);
    if (pw_h5_table_read(table, s->event_rows.rows - 1, 1, &event) == 0 &&
        pw_event_is_possible(&event)) {
        s->last_ns = event.end;
        if (event.op == PW_OP_Finalize) {
            s->finalize_ns = event.start;
            s->finalized_ns = event.end;
        }
    }
    pw_h5_table_close(table);
    return 0;
}

/* Reads the calls that had not returned at the end; `names` are the file's texts. Returns 0 or
 * -errno. */
static int read_open_calls(struct pw_input *s, const struct pw_h5_file *file, char **names,
                           size_t nnames)
{
    struct pw_row_open *rows = NULL;
    size_t n = 0;
    int err = read_table(file, PW_TABLE_open, &rows, &n);
    s->open_calls = err || !n ? NULL : calloc(n, sizeof(*s->open_calls));
    if (!err && n && !s->open_calls)
        err = -ENOMEM;
    for (size_t i = 0; !err && i < n; i++) {
        if (!pw_is_possible(rows[i].start) || !pw_is_possible(rows[i].seen_until)) {
            s->impossible++;
            continue;
        }
        if (rows[i].error != PW_MPI_ERROR_NONE && pw_is_possible(rows[i].error_time) &&
            (s->mpi_error == PW_MPI_ERROR_NONE || rows[i].error_time > s->mpi_error_ns)) {
            s->mpi_error = rows[i].error;
            s->mpi_error_ns = rows[i].error_time;
        }
        struct pw_row_c_open_call *out = &s->open_calls[s->nopen_calls++];
        int32_t row = rows[i].comm;
        const struct pw_row_comms *comm =
            row >= 0 && (size_t)row < s->ncomms ? &s->comms[row] : NULL;
        *out = (struct pw_row_c_open_call){
            .rank = (int32_t)s->rank,
            .start = rows[i].start,
            .seen_until = rows[i].seen_until,
            .op = rows[i].op,
            .awaited = rows[i].awaited,
            .comm_uid = comm ? comm->uid : 0,
            .seq = rows[i].seq,
            .peer = rows[i].peer,
            .tag = rows[i].tag,
            .thread = rows[i].thread,
            .source = rows[i].source,
            .count = rows[i].count,
        };
        if (rows[i].datatype && rows[i].datatype < nnames)
            snprintf(out->datatype, sizeof(out->datatype), "%s", names[rows[i].datatype]);
        if (comm && comm->name < nnames)
            snprintf(out->comm_name, sizeof(out->comm_name), "%s", names[comm->name]);
    }
    free(rows);
    return err;
}

static int has_open_call(const struct pw_input *input, uint64_t uid)
{
    for (size_t i = 0; i < input->nopen_calls; i++)
        if (input->open_calls[i].comm_uid == uid)
            return 1;
    return 0;
}

/* The members of a communicator in the table of all members; 0 when it does not have them. */
static size_t members_of(const struct pw_row_comms *comm, size_t nmembers)
{
    return comm->first_member >= 0 && comm->size > 0 &&
                   (uint64_t)comm->first_member + (uint64_t)comm->size <= nmembers
               ? (size_t)comm->size
               : 0;
}

/* Reads the members of the communicators in which the rank has open calls, of a file that was made
 * of a dump. Returns 0 or -errno. */
static int read_open_members(struct pw_input *s, const struct pw_h5_file *file)
{
    struct pw_row_member *rows = NULL;
    size_t n = 0, room = 0;
    if (strcmp(s->imported, "flight") != 0 || !s->nopen_calls)
        return 0;
    int err = pw_h5_file_read_all(file, PW_TABLE_member, (void *)&rows, &n);
    if (err)
        return err == -ENOENT ? 0 : err;
    for (size_t c = 0; c < s->ncomms; c++)
        room += has_open_call(s, s->comms[c].uid) ? members_of(&s->comms[c], n) : 0;
    s->open_members = malloc((room + 1) * sizeof(*s->open_members));
    for (size_t c = 0; s->open_members && c < s->ncomms; c++) {
        const struct pw_row_comms *comm = &s->comms[c];
        const size_t members = has_open_call(s, comm->uid) ? members_of(comm, n) : 0;
        for (size_t m = 0; m < members; m++)
            s->open_members[s->nopen_members++] = (struct pw_missing_member){
                comm->uid, rows[comm->first_member + (int64_t)m].world_rank};
    }
    free(rows);
    return s->open_members ? 0 : -ENOMEM;
}

/* The key of the metadata by which the Python module reports an exception; python/profwrap/_end.py
 * writes them. The value has lines: 1 (main thread) or 0, type, line, file, message. */
static const char exception_key[] = "profwrap.exception";

/* Copies a line of `text` to `out`. Returns what follows it. */
static const char *take_line(const char *text, char *out, size_t size)
{
    const size_t length = strcspn(text, "\n");
    snprintf(out, size, "%.*s", (int)length, text);
    return text[length] ? text + length + 1 : text + length;
}

static struct pw_row_c_exception parse_exception(const char *text)
{
    struct pw_row_c_exception row = {0};
    char number[16];
    text = take_line(text, number, sizeof(number));
    row.is_main = number[0] == '1';
    text = take_line(text, row.type, sizeof(row.type));
    text = take_line(text, number, sizeof(number));
    row.line = (int32_t)strtol(number, NULL, 10);
    text = take_line(text, row.file, sizeof(row.file));
    take_line(text, row.message, sizeof(row.message));
    return row;
}

/* Whether the process can have ended by this sys.exit(): a program may catch the exception that it
 * raises, and end with another status. */
static int is_of_the_end(const struct pw_row_c_exception *row, int64_t exit_code)
{
    char *end;
    if (strcmp(row->type, "SystemExit") != 0 || exit_code < 0)
        return 1;
    const long number = strtol(row->message, &end, 10);
    return exit_code == (row->message[0] && !*end ? number & 255 : 1);
}

/* Keeps an uncaught exception, unless there are enough. Returns 0 or -ENOMEM. */
static int add_exception(struct pw_input *s, int64_t time, const char *text)
{
    if (s->nexceptions == PW_INPUT_EXCEPTIONS || !pw_is_possible(time))
        return 0;
    if (!s->exceptions)
        s->exceptions = calloc(PW_INPUT_EXCEPTIONS, sizeof(*s->exceptions));
    if (!s->exceptions)
        return -ENOMEM;
    struct pw_row_c_exception *row = &s->exceptions[s->nexceptions];
    *row = parse_exception(text);
    s->nexceptions += (size_t)is_of_the_end(row, s->exit_code);
    row->rank = (int32_t)s->rank;
    row->time = time;
    return 0;
}

/* Takes the role, which is the last value of the metadata "role", and the uncaught exceptions;
 * `texts` are the rows of /strings. Returns 0 or -errno. */
static int read_metadata(struct pw_input *s, const struct pw_h5_file *file, char **texts,
                         size_t ntexts)
{
    struct pw_row_metadata *rows = NULL;
    size_t n = 0;
    int err = read_table(file, PW_TABLE_metadata, &rows, &n);
    for (size_t i = 0; i < n && !err; i++) {
        if (rows[i].key >= ntexts || rows[i].value >= ntexts)
            continue;
        const char *key = texts[rows[i].key], *value = texts[rows[i].value];
        if (strcmp(key, "role") == 0)
            snprintf(s->role, sizeof(s->role), "%.63s", value);
        else if (strcmp(key, exception_key) == 0)
            err = add_exception(s, rows[i].time, value);
    }
    free(rows);
    return err;
}

/* Reads the row of /ending. Returns 0 or -errno. */
static int read_ending(struct pw_input *s, const struct pw_h5_file *file)
{
    struct pw_row_ending *rows = NULL;
    size_t n = 0;
    s->ending = (struct pw_row_ending){.time = -1, .oom_kills = -1};
    int err = read_table(file, PW_TABLE_ending, &rows, &n);
    if (!err && n && pw_is_possible(rows[n - 1].time))
        s->ending = rows[n - 1];
    free(rows);
    return err;
}

/* Returns the phase with this name, or PW_PHASE_NONE. */
static int phase_of_name(const char *name)
{
    for (int phase = PW_PHASE_DATA; phase <= PW_PHASE_OPTIMIZER; phase++)
        if (strcmp(name, pw_enum_name(PW_F_PHASE, phase)) == 0)
            return phase;
    return PW_PHASE_NONE;
}

/* True for the range in which PyTorch's DataLoader gets a batch. */
static int is_loader(const char *name)
{
    static const char loader[] = "enumerate(DataLoader)#";
    return strncmp(name, loader, sizeof(loader) - 1) == 0;
}

/* Like phase_of_name(), but the range of PyTorch's DataLoader is a data phase, too. It is not when
 * the program marks data phases: then the loader runs inside them, and would count twice. */
static int phase_of(const char *name, int has_data_phase)
{
    return !has_data_phase && is_loader(name) ? PW_PHASE_DATA : phase_of_name(name);
}

/* Finds which texts are names of phases, and reads the open calls and metadata, which refer to
 * texts. Returns 0 or -errno. */
static int read_names(struct pw_input *s, const struct pw_h5_file *file)
{
    char **names = NULL;
    size_t n = 0;
    int err = pw_h5_file_strings(file, &names, &n);
    if (err && err != -ENOENT)
        return err;
    int has_data_phase = 0;
    for (size_t i = 0; i < n; i++)
        has_data_phase |= phase_of_name(names[i]) == PW_PHASE_DATA;
    for (size_t i = 0; i < n; i++)
        if (phase_of(names[i], has_data_phase) != PW_PHASE_NONE)
            s->nphases = i + 1;
    s->phases = malloc(s->nphases + 1);
    for (size_t i = 0; s->phases && i < s->nphases; i++)
        s->phases[i] = (uint8_t)phase_of(names[i], has_data_phase);
    err = read_open_calls(s, file, names, n);
    err = err ? err : read_metadata(s, file, names, n);
    err = err ? err : read_ending(s, file);
    err = err ? err : read_open_members(s, file);
    free(names);
    return s->phases ? err : -ENOMEM;
}

/* Limits the number of collectives to AT_LEAST plus PER_EVENT for each event of the file. The merge
 * needs memory for every collective that the file claims to have, and a damaged file may claim any
 * number. */
static void limit_collectives(struct pw_input *s)
{
    enum { PER_EVENT = 256, AT_LEAST = 1 << 16 };
    int64_t left = AT_LEAST + PER_EVENT * (int64_t)s->event_rows.rows;
    for (size_t c = 0; c < s->ncomms; c++) {
        int64_t *collectives = &s->comms[c].collectives;
        int64_t *unrecorded = &s->comms[c].first_collective;
        *collectives = *collectives < 0 ? 0 : *collectives;
        *unrecorded = *unrecorded < 0 || *unrecorded > *collectives ? 0 : *unrecorded;
        s->uncounted += *collectives - *unrecorded > left;
        if (*collectives - *unrecorded > left)
            *collectives = *unrecorded + left;
        left -= *collectives - *unrecorded;
    }
}

static int read_tables(struct pw_input *s, const struct pw_h5_file *file, char *problem,
                       size_t size)
{
    int err = knots_read(file, &s->knots, &s->nknots);
    if (err == -EDOM)
        return fail(problem, size, "has an impossible clock map", -EINVAL);
    err = err ? err : read_table(file, PW_TABLE_step, &s->steps, &s->nsteps);
    err = err ? err : read_table(file, PW_TABLE_window, &s->windows, &s->nwindows);
    err = err ? err : read_table(file, PW_TABLE_comms, &s->comms, &s->ncomms);
    err = err ? err : pw_h5_file_place(file, PW_TABLE_comm_event, &s->event_rows);
    err = err ? err : pw_h5_file_place(file, PW_TABLE_range, &s->range_rows);
    err = err ? err : pw_h5_file_place(file, PW_TABLE_gap, &s->gap_rows);
    err = err ? err : pw_h5_file_place(file, PW_TABLE_memory, &s->memory_rows);
    err = err ? err : pw_h5_file_place(file, PW_TABLE_work, &s->work_rows);
    err = err ? err : pw_h5_file_place(file, PW_TABLE_flops, &s->flops_rows);
    err = err ? err : pw_h5_file_place(file, PW_TABLE_runtime, &s->runtime_rows);
    err = err ? err : pw_h5_file_place(file, PW_TABLE_kernel, &s->kernel_rows);
    err = err ? err : pw_h5_file_place(file, PW_TABLE_memcpy, &s->memcpy_rows);
    err = err ? err : pw_h5_file_place(file, PW_TABLE_memset, &s->memset_rows);
    err = err ? err : pw_h5_file_place(file, PW_TABLE_process, &s->process_rows);
    err = err ? err : pw_h5_file_place(file, PW_TABLE_host, &s->host_rows);
    err = err ? err : pw_h5_file_place(file, PW_TABLE_cpus, &s->cpus_rows);
    err = err ? err : read_table(file, PW_TABLE_unrecorded, &s->unrecorded, &s->nunrecorded);
    err = err ? err : read_names(s, file);
    if (err)
        return fail(problem, size, err == -ENOMEM ? pw_readlimit_error(err) : "has damaged tables",
                    err);
    s->groups = malloc(sizeof(*s->groups) * (s->ncomms + 1));
    if (!s->groups)
        return fail(problem, size, pw_readlimit_error(-ENOMEM), -ENOMEM);
    clean_steps(s);
    read_overhead(s, file);
    s->events = (int64_t)(s->event_rows.rows + s->range_rows.rows);
    limit_collectives(s);
    return 0;
}

void pw_input_close_file(struct pw_input *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

int pw_input_open(struct pw_h5_types *types, const char *path, struct pw_input *out, char *problem,
                  size_t size)
{
    struct pw_input s = {.path = strdup(path),
                         .fd = pw_open_regular(path, 0),
                         .begin_ns = INT64_MAX,
                         .init_ns = INT64_MAX,
                         .waited_from_ns = INT64_MAX,
                         .begun_ns = INT64_MAX,
                         .finalize_ns = INT64_MAX,
                         .finalized_ns = INT64_MAX,
                         .sampled_from = INT64_MAX,
                         .sampled_until = INT64_MAX};
    struct pw_h5_file *file;
    int err = !s.path ? -ENOMEM : s.fd < 0 ? s.fd : 0;
    err = err ? err : pw_h5_file_open_at(types, s.fd, path, &file);
    if (err) {
        pw_input_close(&s);
        return fail(problem, size,
                    err == -EINVAL ? "is not a readable HDF5 file" : pw_readlimit_error(err), err);
    }
    err = read_attributes(&s, file, problem, size);
    err = err ? err : read_tables(&s, file, problem, size);
    if (!err && (read_span(&s, file) || read_sampled(&s, file)))
        err = fail(problem, size, "has damaged tables", -EIO);
    pw_h5_file_close(file);
    if (err) {
        pw_input_close(&s);
        return err;
    }
    *out = s;
    return 0;
}

void pw_input_close(struct pw_input *s)
{
    pw_input_close_file(s);
    pw_h5_place_fini(&s->event_rows);
    pw_h5_place_fini(&s->range_rows);
    pw_h5_place_fini(&s->gap_rows);
    pw_h5_place_fini(&s->memory_rows);
    pw_h5_place_fini(&s->work_rows);
    pw_h5_place_fini(&s->flops_rows);
    pw_h5_place_fini(&s->runtime_rows);
    pw_h5_place_fini(&s->kernel_rows);
    pw_h5_place_fini(&s->memcpy_rows);
    pw_h5_place_fini(&s->memset_rows);
    pw_h5_place_fini(&s->process_rows);
    pw_h5_place_fini(&s->host_rows);
    pw_h5_place_fini(&s->cpus_rows);
    free(s->starts_after);
    pw_start_index_fini(&s->start_index);
    free(s->phases);
    free(s->knots);
    free(s->steps);
    pw_rowpack_fini(&s->packed_steps);
    free(s->windows);
    free(s->comms);
    free(s->open_calls);
    free(s->open_members);
    free(s->unrecorded);
    free(s->exceptions);
    free(s->entries);
    free(s->groups);
    free(s->path);
}

int pw_input_table(const struct pw_input *s, const struct pw_h5_place *place,
                   struct pw_h5_table **out)
{
    const int is_read_here = !place->rows || place->chunk_rows; /* without the HDF5 library */
    return s->fd >= 0 && is_read_here ? pw_h5_table_open_at(s->fd, place, out)
                                      : pw_h5_table_open(s->path, place, out);
}

int pw_input_file(const struct pw_input *s, struct pw_h5_types *types, struct pw_h5_file **out)
{
    return s->fd >= 0 ? pw_h5_file_open_at(types, s->fd, s->path, out)
                      : pw_h5_file_open(types, s->path, out);
}

int pw_input_texts(const struct pw_input *s, struct pw_texts *texts)
{
    struct pw_h5_file *file;
    *texts = (struct pw_texts){0};
    int err = pw_input_file(s, NULL, &file);
    if (err)
        return err;
    err = pw_h5_file_strings(file, &texts->v, &texts->n);
    pw_h5_file_close(file);
    return err == -ENOENT ? 0 : err;
}

int64_t pw_input_time(const struct pw_input *s, int64_t local_ns)
{
    return pw_clock_to_cluster(s->knots, s->nknots, local_ns);
}

/* Two rounds suffice, because the rates of clocks differ by little. */
int64_t pw_input_local(const struct pw_input *s, int64_t cluster_ns, int64_t near)
{
    for (int round = 0; round < 2; round++)
        near += cluster_ns - pw_input_time(s, near);
    return near;
}

int64_t pw_input_clock_error(const struct pw_input *s)
{
    if (!s->aligned)
        return -1;
    if (s->nknots == 0)
        return 0; /* the rank reads the clock that is the cluster clock */
    int64_t first = s->nsteps ? s->steps[0].start : s->first_ns;
    int64_t last = s->nsteps ? s->steps[s->nsteps - 1].end : s->last_ns;
    return pw_clock_error_max(s->knots, s->nknots, first, last);
}

ptrdiff_t pw_input_step_at(const struct pw_input *s, int64_t local_ns)
{
    const struct pw_search_key key = PW_SEARCH_KEY(struct pw_row_step, start);
    const size_t begun = pw_search_until(s->steps, s->nsteps, key, local_ns);
    if (begun == 0 || local_ns >= s->steps[begun - 1].end)
        return -1;
    return (ptrdiff_t)begun - 1;
}

ptrdiff_t pw_input_step_near(const struct pw_input *s, int64_t local_ns, ptrdiff_t *hint)
{
    for (ptrdiff_t i = *hint < 0 ? 0 : *hint; i < *hint + 2 && i < (ptrdiff_t)s->nsteps; i++)
        if (s->steps[i].start <= local_ns && local_ns < s->steps[i].end)
            return *hint = i;
    ptrdiff_t found = pw_input_step_at(s, local_ns);
    if (found >= 0)
        *hint = found;
    return found;
}

int32_t pw_input_window(const struct pw_input *input, int64_t local_ns)
{
    const struct pw_search_key key = PW_SEARCH_KEY(struct pw_row_window, start);
    const size_t begun = pw_search_until(input->windows, input->nwindows, key, local_ns);
    return begun ? (int32_t)begun - 1 : 0;
}

int pw_input_pauses(const struct pw_input *input)
{
    return input->nwindows > 1 ||
           (input->nwindows == 1 && input->windows[0].cause != PW_OPENED_RUN);
}

int pw_input_has_gpu(const struct pw_input *s)
{
    return s->kernel_rows.rows || s->memcpy_rows.rows || s->memset_rows.rows;
}

int pw_input_phase(const struct pw_input *s, uint32_t name)
{
    return name < s->nphases ? s->phases[name] : PW_PHASE_NONE;
}

enum { STEP, START, END, RECORDED, STEP_MEMBERS };

void pw_input_pack_steps(struct pw_input *input)
{
    int64_t(*rows)[STEP_MEMBERS] = malloc(sizeof(*rows) * (input->nsteps + 1));
    for (size_t i = 0; rows && i < input->nsteps; i++) {
        const struct pw_row_step *step = &input->steps[i];
        rows[i][STEP] = step->step;
        rows[i][START] = step->start;
        rows[i][END] = step->end;
        rows[i][RECORDED] = step->recorded;
    }
    if (rows && !pw_rowpack_init(&input->packed_steps, input->nsteps, 1, STEP_MEMBERS) &&
        !pw_rowpack_put(&input->packed_steps, 0, rows[0])) {
        free(input->steps);
        input->steps = NULL;
    } else {
        pw_rowpack_fini(&input->packed_steps);
    }
    free(rows);
}

int pw_input_unpack_steps(struct pw_input *input)
{
    const struct pw_rowpack_span all = {0, input->nsteps};
    if (input->steps)
        return 0;
    int64_t(*rows)[STEP_MEMBERS] = malloc(sizeof(*rows) * (input->nsteps + 1));
    input->steps = malloc(sizeof(*input->steps) * (input->nsteps + 1));
    const int err = rows && input->steps ? 0 : -ENOMEM;
    if (!err)
        pw_rowpack_get(&input->packed_steps, 0, all, rows[0]);
    for (size_t i = 0; !err && i < input->nsteps; i++)
        input->steps[i] = (struct pw_row_step){.step = rows[i][STEP],
                                               .start = rows[i][START],
                                               .end = rows[i][END],
                                               .recorded = (uint8_t)rows[i][RECORDED]};
    pw_rowpack_fini(&input->packed_steps);
    free(rows);
    return err;
}
