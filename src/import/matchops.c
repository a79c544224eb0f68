/* Matches operations across ranks: sorts the operations of all files by step, operation, type and
 * size, and matches the k-th of such operations of each rank. See matchops.h. */
#include "import/matchops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/h5/h5file.h"
#include "core/h5/h5replace.h"
#include "core/h5/h5types.h"
#include "core/log.h"
#include "core/ops.h"
#include "core/sort.h"

/* One operation. Operations that match have equal members from `uid` to `ordinal`. */
struct operation {
    uint64_t uid;
    /* count: elements, bytes for Gloo; -1 when sizes may differ by rank */
    int64_t step, op, type, count;
    int64_t ordinal; /* position among operations of one rank that are equal so far */
    int64_t rank, start, end;
    size_t row; /* in the rank's /events/comm */
    int64_t seq;
    int possible; /* 0: its time is incompatible with the match */
};

struct inference {
    struct operation *ops;
    size_t n, capacity;
    int64_t first_rank, nranks;
};

/* ---- reading the operations ---- */

struct rank_file {
    char path[4200];
    struct pw_row_comm_event *events;
    struct pw_row_nccl *nccl;
    struct pw_row_step *steps;
    struct pw_row_comms *comms;
    size_t nevents, nnccl, nsteps, ncomms, nnames;
    char **names;
};

static void close_rank(struct rank_file *f)
{
    free(f->events);
    free(f->nccl);
    free(f->steps);
    free(f->comms);
    free(f->names);
}

/* A table that the file does not have is empty: a rank may have no operations. */
static int read_table(const struct pw_h5_file *file, int table, void *rows, size_t *count)
{
    const int err = pw_h5_file_read_all(file, table, rows, count);
    return err == -ENOENT ? 0 : err;
}

static int read_tables(const struct pw_h5_file *file, struct rank_file *f)
{
    int err = read_table(file, PW_TABLE_comm_event, &f->events, &f->nevents);
    err = err ? err : read_table(file, PW_TABLE_comms, &f->comms, &f->ncomms);
    err = err ? err : read_table(file, PW_TABLE_step, &f->steps, &f->nsteps);
    err = err ? err : pw_h5_file_strings(file, &f->names, &f->nnames);
    if (!err && f->nevents)
        err = read_table(file, PW_TABLE_nccl, &f->nccl, &f->nnccl);
    return err;
}

static int read_rank(const char *dir, int64_t rank, struct rank_file *f)
{
    struct pw_h5_file *file;
    struct pw_h5_types *types = pw_h5_types_create();
    *f = (struct rank_file){.nevents = 0};
    snprintf(f->path, sizeof(f->path), "%s/rank-%05lld.h5", dir, (long long)rank);
    int err = types ? pw_h5_file_open(types, f->path, &file) : -ENOMEM;
    if (!err) {
        err = read_tables(file, f);
        pw_h5_file_close(file);
    }
    pw_h5_types_destroy(types);
    if (err)
        close_rank(f);
    return err;
}

static int is_inferred(const struct rank_file *f, int32_t comm)
{
    if (comm < 0 || (size_t)comm >= f->ncomms || f->comms[comm].name >= f->nnames)
        return 0;
    return strncmp(f->names[f->comms[comm].name], "inferred:", 9) == 0;
}

/* Returns the last step that began by `time`, -1: none. */
static int64_t step_of(const struct rank_file *f, int64_t time)
{
    int64_t step = -1;
    for (size_t i = 0; i < f->nsteps && f->steps[i].start <= time; i++)
        step = f->steps[i].step;
    return step;
}

/* Whether all ranks pass the same number of elements to the operation. */
static int is_symmetric(uint16_t op)
{
    return op == PW_OP_Allreduce || op == PW_OP_Bcast || op == PW_OP_Reduce ||
           op == PW_OP_Allgather || op == PW_OP_Reduce_scatter_block;
}

static int64_t type_of(const struct rank_file *f, uint32_t row)
{
    return row < f->nnames ? pw_names_number(f->names[row], strlen(f->names[row])) : 0;
}

/* Adds an operation. `nccl` is its row of /events/nccl, NULL for Gloo. Returns 0 or -ENOMEM. */
static int add_operation(struct inference *all, const struct rank_file *f, size_t row,
                         const struct pw_row_nccl *nccl, int64_t rank)
{
    const struct pw_row_comm_event *event = &f->events[row];
    if (all->n == all->capacity) {
        size_t capacity = all->capacity ? 2 * all->capacity : 256;
        struct operation *more = realloc(all->ops, capacity * sizeof(*more));
        if (!more)
            return -ENOMEM;
        all->ops = more;
        all->capacity = capacity;
    }
    all->ops[all->n++] = (struct operation){
        .uid = f->comms[event->comm].uid,
        .step = step_of(f, nccl && nccl->enqueue >= 0 ? nccl->enqueue : event->start),
        .op = event->op,
        .type = nccl ? type_of(f, nccl->datatype) : 0,
        .count = !is_symmetric(event->op) ? -1
                 : nccl                   ? nccl->count
                                          : event->sent_bytes,
        .rank = rank,
        .start = event->start,
        .end = event->end,
        .row = row,
        .seq = -1,
        .possible = 1,
    };
    return 0;
}

static int gather(struct inference *all, const char *dir, int64_t rank)
{
    struct rank_file f;
    size_t next = 0;
    int err = read_rank(dir, rank, &f);
    if (err)
        return err;
    for (size_t row = 0; row < f.nevents && !err; row++) {
        while (next < f.nnccl && f.nccl[next].comm_row < (int64_t)row)
            next++;
        const int is_nccl = next < f.nnccl && f.nccl[next].comm_row == (int64_t)row;
        if (f.events[row].seq >= 0 && is_inferred(&f, f.events[row].comm))
            err = add_operation(all, &f, row, is_nccl ? &f.nccl[next] : NULL, rank);
    }
    close_rank(&f);
    return err;
}

/* ---- matching ---- */

#define COMPARE(a, b, field)      \
    if ((a)->field != (b)->field) \
    return (a)->field < (b)->field ? -1 : 1

static int compare_kind(const struct operation *x, const struct operation *y)
{
    COMPARE(x, y, uid);
    COMPARE(x, y, step);
    COMPARE(x, y, op);
    COMPARE(x, y, type);
    COMPARE(x, y, count);
    return 0;
}

static int by_kind_and_rank(const void *a, const void *b)
{
    const struct operation *x = a, *y = b;
    int order = compare_kind(x, y);
    if (order)
        return order;
    COMPARE(x, y, rank);
    COMPARE(x, y, start);
    return 0;
}

static int by_match(const void *a, const void *b)
{
    const struct operation *x = a, *y = b;
    int order = compare_kind(x, y);
    if (order)
        return order;
    COMPARE(x, y, ordinal);
    COMPARE(x, y, rank);
    return 0;
}

static int by_rank_and_row(const void *a, const void *b)
{
    const struct operation *x = a, *y = b;
    COMPARE(x, y, rank);
    COMPARE(x, y, row);
    return 0;
}

static int is_same_match(const struct operation *x, const struct operation *y)
{
    return compare_kind(x, y) == 0 && x->ordinal == y->ordinal;
}

static void number_alike(struct inference *all)
{
    pw_sort(all->ops, all->n, sizeof(*all->ops), by_kind_and_rank);
    for (size_t i = 1; i < all->n; i++) {
        struct operation *a = &all->ops[i - 1], *b = &all->ops[i];
        b->ordinal = compare_kind(a, b) == 0 && a->rank == b->rank ? a->ordinal + 1 : 0;
    }
    pw_sort(all->ops, all->n, sizeof(*all->ops), by_match);
}

/* One end of a range of clock differences that are possible by a match. */
struct bound {
    int64_t at, step; /* step: 1: the range begins; -1: it ends */
};

static int by_bound(const void *a, const void *b)
{
    const struct bound *x = a, *y = b;
    COMPARE(x, y, at);
    return x->step < y->step ? 1 : x->step > y->step ? -1 : 0;
}

/* Returns the first rank's operation in the match of operation i, or NULL. */
static const struct operation *partner_of(const struct inference *all, size_t i)
{
    while (i > 0 && is_same_match(&all->ops[i - 1], &all->ops[i]))
        i--;
    return all->ops[i].rank == all->first_rank ? &all->ops[i] : NULL;
}

/* Rejects matches of `rank` with the first rank whose times do not overlap. Because the ranks of a
 * collective must overlap, each match allows a range of clock differences; chooses the difference
 * that most matches allow, and marks the operations of the other matches as not possible. Returns 0
 * or -ENOMEM. */
static int check_times(struct inference *all, int64_t rank)
{
    struct bound *bounds = malloc((2 * all->n + 1) * sizeof(*bounds));
    size_t n = 0;
    int64_t open = 0, most = 0, from = 0;
    if (!bounds)
        return -ENOMEM;
    for (size_t i = 0; i < all->n; i++) {
        const struct operation *o = &all->ops[i];
        const struct operation *first = o->rank == rank ? partner_of(all, i) : NULL;
        if (!first)
            continue;
        bounds[n++] = (struct bound){o->start - first->end, 1};
        bounds[n++] = (struct bound){o->end - first->start, -1};
    }
    pw_sort(bounds, n, sizeof(*bounds), by_bound);
    for (size_t i = 0; i < n; i++) {
        open += bounds[i].step;
        if (open > most) {
            most = open;
            from = bounds[i].at;
        }
    }
    free(bounds);
    for (size_t i = 0; i < all->n; i++) {
        struct operation *o = &all->ops[i];
        const struct operation *first = o->rank == rank ? partner_of(all, i) : NULL;
        o->possible &= !first || (o->start - first->end <= from && from <= o->end - first->start);
    }
    return 0;
}

/* Numbers the matches of each communicator in the order of the table. An operation without a match
 * gets a number of its own. */
static void number_matches(struct inference *all, struct pw_inferred *out)
{
    int64_t next = 0, match = 0;
    for (size_t i = 0; i < all->n; i++) {
        struct operation *o = &all->ops[i];
        int same = i > 0 && is_same_match(o, &all->ops[i - 1]);
        if (i > 0 && o->uid != all->ops[i - 1].uid)
            next = 0;
        if (same && o->possible) {
            o->seq = match;
            out->matched++;
            continue;
        }
        o->seq = next++;
        match = same ? match : o->seq;
        out->impossible += !o->possible;
    }
}

/* ---- writing the numbers ---- */

static int write_rows(hid_t file, int table, const void *rows)
{
    enum { BUFFER = 1 << 16 }; /* HDF5 clears it, and would take 1 MiB */
    const struct pw_table *t = pw_table_borrow(table);
    hid_t set = H5Dopen2(file, t->path, H5P_DEFAULT), type = pw_h5_memory_type(t);
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    int ok = set >= 0 && type >= 0 && H5Pset_buffer(transfer, BUFFER, NULL, NULL) >= 0 &&
             H5Dwrite(set, type, H5S_ALL, H5S_ALL, transfer, rows) >= 0;
    H5Pclose(transfer);
    H5Tclose(type);
    H5Dclose(set);
    return ok ? 0 : -EIO;
}

static int64_t count_numbers(const struct inference *all, uint64_t uid)
{
    int64_t n = 0;
    for (size_t i = 0; i < all->n; i++)
        if (all->ops[i].uid == uid && all->ops[i].seq >= n)
            n = all->ops[i].seq + 1;
    return n;
}

static int write_by_hdf5(const struct rank_file *f)
{
    hid_t file = H5Fopen(f->path, H5F_ACC_RDWR, H5P_DEFAULT);
    if (file < 0)
        return -EIO;
    int err = f->nevents ? write_rows(file, PW_TABLE_comm_event, f->events) : 0;
    err = err || !f->ncomms ? err : write_rows(file, PW_TABLE_comms, f->comms);
    return H5Fclose(file) < 0 && !err ? -EIO : err;
}

/* Replaces the rows of a table. Returns 0, -errno, or 1 when only HDF5 can do it. */
static int replace(const struct pw_h5_file *file, int fd, int table, const void *rows)
{
    struct pw_h5_place place;
    int err = pw_h5_file_place(file, table, &place);
    if (err)
        return err;
    err = pw_h5_replace_rows(fd, &place, rows);
    pw_h5_place_fini(&place);
    return err;
}

static int write_numbers(const struct rank_file *f)
{
    struct pw_h5_types *types = pw_h5_types_create();
    struct pw_h5_file *file;
    const int fd = open(f->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    int err = fd < 0 ? -errno : types ? pw_h5_file_open_at(types, fd, f->path, &file) : -ENOMEM;
    if (!err) {
        err = replace(file, fd, PW_TABLE_comm_event, f->events);
        err = err ? err : replace(file, fd, PW_TABLE_comms, f->comms);
        pw_h5_file_close(file);
    }
    pw_h5_types_destroy(types);
    if (fd >= 0)
        close(fd);
    return err > 0 ? write_by_hdf5(f) : err;
}

/* Changes only files with inferred communicators. */
static int rewrite(const struct inference *all, const char *dir, int64_t rank, int64_t place)
{
    struct rank_file f;
    int is_changed = 0;
    int err = read_rank(dir, rank, &f);
    if (err)
        return err;
    for (size_t i = 0; i < all->n; i++)
        if (all->ops[i].rank == rank)
            f.events[all->ops[i].row].seq = all->ops[i].seq;
    for (size_t c = 0; c < f.ncomms; c++)
        if (is_inferred(&f, (int32_t)c)) {
            f.comms[c].collectives = count_numbers(all, f.comms[c].uid);
            f.comms[c].size = (int32_t)all->nranks;
            f.comms[c].my_rank = (int32_t)place;
            is_changed = 1;
        }
    err = is_changed ? write_numbers(&f) : 0;
    close_rank(&f);
    return err;
}

int pw_infer(const struct pw_import_plan *plan, const struct pw_import_result *results,
             const char *dir, struct pw_inferred *out)
{
    struct inference all = {.first_rank = results[0].rank, .nranks = (int64_t)plan->nranks};
    int err = 0;
    *out = (struct pw_inferred){0};
    for (size_t r = 0; r < plan->nranks && !err; r++)
        err = gather(&all, dir, results[r].rank);
    if (!err)
        number_alike(&all);
    for (size_t r = 1; r < plan->nranks && !err; r++)
        err = check_times(&all, results[r].rank);
    if (!err)
        number_matches(&all, out);
    pw_debug(PW_LOG_IMPORT, 2,
             "of %zu operations on inferred communicators %lld were matched by step, size and "
             "order; %lld were "
             "not, because their times contradict it",
             all.n, (long long)out->matched, (long long)out->impossible);
    pw_sort(all.ops, all.n, sizeof(*all.ops), by_rank_and_row);
    for (size_t r = 0; r < plan->nranks && !err; r++)
        err = rewrite(&all, dir, results[r].rank, (int64_t)r);
    free(all.ops);
    return err;
}
