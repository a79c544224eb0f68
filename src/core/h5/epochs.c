/* Reads the ends and the steps of the ranks of each epoch, and relates them; see epochs.h. */
#include "core/h5/epochs.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/epochdir.h"
#include "core/h5/h5reader.h"
#include "core/h5/h5types.h"
#include "core/limits.h"
#include "core/sort.h"

enum { JOB_BYTES = 64 };

/* A step of an epoch: how many ranks have it, and for how many of these it was the last. */
struct tally {
    int64_t step, sum_ns, ranks, last;
};

/* An epoch while its files are read. */
struct epoch {
    struct pw_row_c_epoch row;
    int64_t failed_ns; /* Unix time at which its first rank failed; -1: none failed */
    char job[JOB_BYTES];
    struct tally *tallies; /* by number of the step */
    size_t ntallies;
    int64_t first; /* the first step that any rank began */
    int is_whole;
};

/* ---- a rank ---- */

static int64_t attribute(hid_t file, const char *name)
{
    int64_t value = -1;
    return pw_h5_get_int(file, name, &value) || !pw_is_possible(value) ? -1 : value;
}

static int32_t small(int64_t value)
{
    return value < -1 || value > INT32_MAX ? -1 : (int32_t)value;
}

/* A launcher ends the ranks that did not fail by SIGTERM. */
static int has_failed(int32_t code, int32_t number)
{
    return code > 0 || (number > 0 && number != SIGTERM);
}

static void add_end(struct epoch *e, hid_t file, int rank)
{
    struct pw_row_c_epoch *row = &e->row;
    const int64_t start_ns = attribute(file, "start_unix_ns");
    const int64_t end_ns = attribute(file, "end_unix_ns");
    const int32_t code = small(attribute(file, "exit_code"));
    const int32_t number = small(attribute(file, "exit_signal"));
    const int32_t ranks = small(attribute(file, "world_size"));
    row->files++;
    row->ranks = ranks > row->ranks ? ranks : row->ranks;
    if (start_ns >= 0 && (row->start_unix_ns < 0 || start_ns < row->start_unix_ns))
        row->start_unix_ns = start_ns;
    row->end_unix_ns = end_ns > row->end_unix_ns ? end_ns : row->end_unix_ns;
    if (!has_failed(code, number)) {
        if (row->ended_rank < 0 && code != 0)
            snprintf(row->ended_by, sizeof(row->ended_by),
                     number == SIGTERM ? "launcher" : "not_known");
        return;
    }
    if (row->ended_rank >= 0 && (end_ns < 0 || end_ns >= e->failed_ns))
        return;
    e->failed_ns = end_ns;
    row->ended_rank = rank;
    row->exit_code = code;
    row->exit_signal = number;
    snprintf(row->ended_by, sizeof(row->ended_by), number > 0 ? "signal" : "exit");
    if (pw_h5_get_text(file, "hostname", row->hostname, sizeof(row->hostname)))
        row->hostname[0] = '\0';
}

static int by_step(const void *a, const void *b)
{
    const struct pw_row_step *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* Converts the rows of a rank to tallies. Returns their number. Of a step that the rank ran twice,
 * the first time counts. */
static size_t tally_rank(struct pw_row_step *rows, size_t n, struct tally *out)
{
    size_t used = 0, last = 0;
    for (size_t i = 1; i < n; i++)
        last = rows[i].start > rows[last].start ? i : last;
    const int64_t last_step = n ? rows[last].step : -1;
    pw_sort(rows, n, sizeof(*rows), by_step);
    for (size_t i = 0; i < n; i++) {
        const struct pw_row_step *row = &rows[i];
        const int64_t ns = pw_difference(row->end, row->start);
        if (row->step < 0 || row->recorded != PW_RECORDED_ACTIVE || ns < 0 || ns > PW_LIMIT ||
            (used && out[used - 1].step == row->step))
            continue;
        out[used++] = (struct tally){row->step, ns, 1, row->step == last_step};
    }
    return used;
}

/* Adds a rank's tallies to those of the epoch. Returns 0 or -ENOMEM. */
static int add_tallies(struct epoch *e, const struct tally *of, size_t n)
{
    struct tally *all = malloc((e->ntallies + n + 1) * sizeof(*all));
    size_t used = 0, i = 0, k = 0;
    if (!all)
        return -ENOMEM;
    while (i < e->ntallies || k < n) {
        const int is_old = k == n || (i < e->ntallies && e->tallies[i].step <= of[k].step);
        const int is_new = i == e->ntallies || (k < n && of[k].step <= e->tallies[i].step);
        struct tally *to = &all[used++];
        *to = is_old ? e->tallies[i++] : of[k];
        if (is_old && is_new) {
            to->sum_ns = pw_sum(to->sum_ns, of[k].sum_ns);
            to->ranks++;
            to->last += of[k].last;
        }
        k += (size_t)is_new;
    }
    free(e->tallies);
    e->tallies = all;
    e->ntallies = used;
    return 0;
}

static int has_pauses(hid_t file)
{
    struct pw_row_window *rows = NULL;
    size_t n = 0;
    const int err = pw_h5_read_all(file, PW_TABLE_window, (void **)&rows, &n);
    const int has = !err && (n > 1 || (n == 1 && rows[0].cause != PW_OPENED_RUN));
    free(rows);
    return has;
}

static int add_steps(struct epoch *e, hid_t file)
{
    struct pw_row_step *rows = NULL;
    size_t n = 0;
    if (pw_h5_read_all(file, PW_TABLE_step, (void **)&rows, &n))
        n = 0;
    struct tally *of = malloc((n + 1) * sizeof(*of));
    int err = of ? 0 : -ENOMEM;
    for (size_t i = 0; i < n; i++)
        if (rows[i].step >= 0 && (e->first < 0 || rows[i].step < e->first))
            e->first = rows[i].step;
    if (has_pauses(file))
        e->is_whole = 0;
    if (!err)
        err = add_tallies(e, of, tally_rank(rows, n, of));
    free(of);
    free(rows);
    return err;
}

/* ---- an epoch ---- */

/* Returns the rank in the name of a rank file; -1 for other files. */
static int rank_of(const char *name)
{
    char again[32];
    int rank;
    if (sscanf(name, "rank-%d.h5", &rank) != 1 || rank < 0)
        return -1;
    snprintf(again, sizeof(again), "rank-%05d.h5", rank);
    return strcmp(again, name) == 0 ? rank : -1;
}

static int add_file(struct epoch *e, const char *dir, const char *name)
{
    char path[PATH_MAX + 300];
    const int rank = rank_of(name);
    hid_t file;
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    if (rank < 0 || pw_h5_open(path, &file))
        return 0;
    if (!e->row.files && pw_h5_get_text(file, "job_id", e->job, sizeof(e->job)))
        e->job[0] = '\0';
    add_end(e, file, rank);
    const int err = add_steps(e, file);
    pw_h5_close(file);
    return err;
}

/* Whether the step has certainly ended: the next one began, or the epoch ended normally. */
static int is_made(const struct epoch *e, const struct tally *t)
{
    return t->ranks == e->row.files && (!t->last || strcmp(e->row.ended_by, "finished") == 0);
}

static void sum_up(struct epoch *e)
{
    struct pw_row_c_epoch *row = &e->row;
    if (!row->files)
        snprintf(row->ended_by, sizeof(row->ended_by), "not_known");
    else if (row->ended_rank < 0 && row->files < row->ranks)
        snprintf(row->ended_by, sizeof(row->ended_by), "missing_files");
    else if (!row->ended_by[0])
        snprintf(row->ended_by, sizeof(row->ended_by), "finished");
    const int64_t until = e->failed_ns >= 0 ? e->failed_ns : row->end_unix_ns;
    if (row->start_unix_ns >= 0 && until >= row->start_unix_ns)
        row->ran_ns = until - row->start_unix_ns;
    row->first_step = e->first;
    for (size_t i = 0; i < e->ntallies; i++) {
        const struct tally *t = &e->tallies[i];
        if (!is_made(e, t))
            continue;
        row->last_step = t->step;
        row->steps++;
        row->steps_ns = pw_sum(row->steps_ns, t->sum_ns / t->ranks);
    }
}

static int read_epoch(struct epoch *e, const char *dir)
{
    *e = (struct epoch){.row = {.start_unix_ns = -1,
                                .end_unix_ns = -1,
                                .ran_ns = -1,
                                .ended_rank = -1,
                                .exit_code = -1,
                                .exit_signal = -1,
                                .restart_ns = -1,
                                .first_step = -1,
                                .last_step = -1,
                                .kept_steps = -1,
                                .kept_ns = -1},
                        .failed_ns = -1,
                        .first = -1,
                        .is_whole = 1};
    DIR *stream = opendir(dir);
    int err = 0;
    for (struct dirent *entry; stream && !err && (entry = readdir(stream));)
        err = add_file(e, dir, entry->d_name);
    if (stream)
        closedir(stream);
    sum_up(e);
    return err;
}

/* ---- the epochs of a job ---- */

/* Returns the first step of the later epochs; INT64_MAX when they have no steps. */
static int64_t first_later(const struct pw_epoch_steps *steps, size_t i, size_t n)
{
    int64_t first = INT64_MAX;
    for (size_t k = i + 1; k < n; k++)
        if (steps[k].first >= 0 && steps[k].first < first)
            first = steps[k].first;
    return first;
}

static void keep(struct pw_row_c_epoch *row, const struct pw_epoch_steps *steps, int64_t before)
{
    row->kept_steps = row->kept_ns = -1;
    if (!steps->is_whole)
        return;
    row->kept_steps = row->kept_ns = 0;
    for (size_t i = 0; i < steps->n && steps->v[i].step < before; i++) {
        row->kept_steps++;
        row->kept_ns = pw_sum(row->kept_ns, steps->v[i].duration_ns);
    }
}

void pw_epochs_relate(struct pw_row_c_epoch *rows, const struct pw_epoch_steps *steps, size_t n)
{
    int64_t first = -1;
    for (size_t i = 0; i < n; i++) {
        struct pw_row_c_epoch *row = &rows[i];
        keep(row, &steps[i], first_later(steps, i, n));
        row->begins_anew = first >= 0 && steps[i].first >= 0 && steps[i].first <= first;
        if (first < 0)
            first = steps[i].first;
        row->restart_ns = -1;
        if (i + 1 == n || row->ran_ns < 0 || rows[i + 1].start_unix_ns < 0)
            continue;
        /* A launcher restarts ranks after one has failed, which a busy collector may see later. */
        const int64_t between = pw_difference(rows[i + 1].start_unix_ns, row->start_unix_ns);
        if (between >= 0 && row->ran_ns > between)
            row->ran_ns = between;
        row->restart_ns = pw_difference(between, row->ran_ns);
    }
}

/* Lists the steps that all ranks of the epoch ended. Returns 0 or -ENOMEM. */
static int take_steps(const struct epoch *e, struct pw_epoch_steps *out)
{
    *out = (struct pw_epoch_steps){.first = e->first, .is_whole = e->is_whole};
    out->v = malloc((e->ntallies + 1) * sizeof(*out->v));
    for (size_t i = 0; out->v && i < e->ntallies; i++)
        if (is_made(e, &e->tallies[i]))
            out->v[out->n++] = (struct pw_epoch_step){e->tallies[i].step,
                                                      e->tallies[i].sum_ns / e->tallies[i].ranks};
    return out->v ? 0 : -ENOMEM;
}

/* The data of all epochs. */
struct job {
    struct pw_row_c_epoch *rows;
    struct pw_epoch_steps *steps;
    size_t n;
    char name[JOB_BYTES];
};

/* Adds epoch `number`, unless its files are of another job than those of the epochs before it. */
static int add_epoch(struct job *job, const char *dir, int number, int shown)
{
    char path[PATH_MAX];
    struct epoch e;
    if (pw_epochdir_of(dir, number, path, sizeof(path)))
        return 0;
    int err = read_epoch(&e, path);
    if (e.row.files && !job->name[0])
        memcpy(job->name, e.job, sizeof(job->name));
    if (!err && (!e.row.files || strncmp(job->name, e.job, sizeof(e.job)) == 0)) {
        e.row.epoch = number;
        e.row.shown = number == shown;
        err = take_steps(&e, &job->steps[job->n]);
        job->rows[job->n++] = e.row;
    }
    free(e.tallies);
    return err;
}

int pw_epochs_read(const char *dir, struct pw_row_c_epoch **rows, size_t *n)
{
    enum { MOST = 1000 };
    char path[PATH_MAX];
    int shown;
    *rows = NULL;
    *n = 0;
    if (pw_epochdir_split(dir, path, sizeof(path), &shown))
        return 0;
    const int last = pw_epochdir_last(path);
    const int count = last < MOST ? last + 1 : MOST, first = last - count + 1;
    if (last == 0)
        return 0;
    struct job job = {calloc((size_t)count, sizeof(*job.rows)),
                      calloc((size_t)count, sizeof(*job.steps)), 0, ""};
    int err = job.rows && job.steps ? 0 : -ENOMEM;
    for (int i = 0; i < count && !err; i++)
        err = add_epoch(&job, path, first + i, shown);
    if (!err)
        pw_epochs_relate(job.rows, job.steps, job.n);
    for (size_t i = 0; i < job.n; i++)
        free(job.steps[i].v);
    free(job.steps);
    if (err || job.n < 2) {
        free(job.rows);
        return err;
    }
    *rows = job.rows;
    *n = job.n;
    return 0;
}
