/* Copies rows of other profilers' sums to rows of the cluster file, and joins those of operators;
 * see reported.h. */
#include "aggregate/samples/reported.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/grow.h"
#include "core/h5/h5reader.h"
#include "core/limits.h"
#include "core/sort.h"

/* Limits, of each process: rows of steps, operators of the pipeline, and names. */
enum { MOST_STEPS = 1 << 20, MOST_OPERATORS = 1 << 16, MOST_SUMS = 1 << 16, OF_A_RANK = 256 };

/* ---- msprof-analyze's steps ---- */

static int read_steps(struct pw_reported *r, const struct pw_openfile *file)
{
    struct pw_cursor c;
    int err = pw_cursor_open(&c, file, PW_TABLE_msprof_step);
    for (const struct pw_row_msprof_step *row; !err && (row = pw_cursor_next(&c));) {
        if (r->nsteps == MOST_STEPS) {
            r->unlisted++;
            continue;
        }
        struct pw_row_c_msprof_step *more =
            pw_grow(r->steps, r->nsteps, sizeof(*r->steps), &r->steps_capacity);
        if (!more) {
            err = -ENOMEM;
            break;
        }
        r->steps = more;
        r->steps[r->nsteps++] = (struct pw_row_c_msprof_step){
            .rank = (int32_t)file->input->rank,
            .step = row->step,
            .computing_ns = row->computing_ns,
            .comm_ns = row->comm_ns,
            .exposed_ns = row->exposed_ns,
            .overlapped_ns = row->overlapped_ns,
            .free_ns = row->free_ns,
            .stage_ns = row->stage_ns,
            .bubble_ns = row->bubble_ns,
            .exposed_no_receive_ns = row->exposed_no_receive_ns,
            .preparing_ns = row->preparing_ns,
        };
    }
    err = err ? err : c.err;
    pw_cursor_close(&c);
    return err;
}

static int by_step(const void *a, const void *b)
{
    const struct pw_row_c_msprof_step *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* ---- CPU time of the data pipeline's operators ---- */

static struct pw_row_c_pipeline_cpu *find_operator(struct pw_reported *r, size_t first,
                                                   const char *name)
{
    for (size_t i = first; i < r->ncpu; i++)
        if (strncmp(r->cpu[i].name, name, sizeof(r->cpu[i].name) - 1) == 0)
            return &r->cpu[i];
    if (r->ncpu - first == OF_A_RANK || r->ncpu == MOST_OPERATORS) {
        r->unlisted++;
        return NULL;
    }
    struct pw_row_c_pipeline_cpu *more =
        pw_grow(r->cpu, r->ncpu, sizeof(*r->cpu), &r->cpu_capacity);
    if (!more)
        return NULL;
    r->cpu = more;
    struct pw_row_c_pipeline_cpu *row = &r->cpu[r->ncpu++];
    *row = (struct pw_row_c_pipeline_cpu){.workers = -1};
    snprintf(row->name, sizeof(row->name), "%.63s", name);
    return row;
}

static int is_share(double share)
{
    const double most = 1e6; /* CPUs */
    return share >= 0 && share < most;
}

static int read_cpu(struct pw_reported *r, const struct pw_openfile *file)
{
    struct pw_cursor c;
    const size_t first = r->ncpu;
    int err = pw_cursor_open(&c, file, PW_TABLE_pipeline_cpu);
    for (const struct pw_row_pipeline_cpu *row; !err && (row = pw_cursor_next(&c));) {
        struct pw_row_c_pipeline_cpu *sum =
            is_share(row->user_share) && is_share(row->sys_share)
                ? find_operator(r, first, pw_openfile_text(file, row->name))
                : NULL;
        if (!sum)
            continue;
        const double both = row->user_share + row->sys_share;
        sum->rank = (int32_t)file->input->rank;
        sum->workers = row->workers > 0 ? row->workers : sum->workers;
        sum->samples++;
        sum->user_share += row->user_share;
        sum->sys_share += row->sys_share;
        sum->max_share = both > sum->max_share ? both : sum->max_share;
    }
    err = err ? err : c.err;
    pw_cursor_close(&c);
    for (size_t i = first; i < r->ncpu; i++) {
        r->cpu[i].user_share /= (double)r->cpu[i].samples;
        r->cpu[i].sys_share /= (double)r->cpu[i].samples;
    }
    return err;
}

/* ---- MindInsight's sums ---- */

static int by_name(const void *a, const void *b)
{
    const struct pw_row_c_mindinsight_sum *x = a, *y = b;
    const int types = strncmp(x->type, y->type, sizeof(x->type));
    const int names = types ? types : strncmp(x->name, y->name, sizeof(x->name));
    return names ? names : (x->max_rank > y->max_rank) - (x->max_rank < y->max_rank);
}

/* Joins rows of one name; until the end mean_us is the sum over ranks. */
static void join_sums(struct pw_reported *r)
{
    size_t n = 0;
    pw_sort(r->sums, r->nsums, sizeof(*r->sums), by_name);
    for (size_t i = 0; i < r->nsums; i++) {
        struct pw_row_c_mindinsight_sum *one = &r->sums[i], *last = n ? &r->sums[n - 1] : NULL;
        if (!last || strncmp(last->name, one->name, sizeof(last->name)) != 0 ||
            strncmp(last->type, one->type, sizeof(last->type)) != 0) {
            r->sums[n++] = *one;
            continue;
        }
        last->ranks += one->ranks;
        last->calls = last->calls < 0 || one->calls < 0 ? -1 : pw_sum(last->calls, one->calls);
        last->mean_us += one->mean_us;
        if (one->max_us > last->max_us) {
            last->max_us = one->max_us;
            last->max_rank = one->max_rank;
        }
    }
    r->nsums = r->joined = n;
}

static int add_sum(struct pw_reported *r, const struct pw_openfile *file,
                   const struct pw_row_mindinsight_sum *row)
{
    if (r->nsums >= MOST_SUMS && r->joined >= MOST_SUMS / 2) {
        r->unlisted++;
        return 0;
    }
    if (r->nsums >= MOST_SUMS)
        join_sums(r);
    struct pw_row_c_mindinsight_sum *more =
        pw_grow(r->sums, r->nsums, sizeof(*r->sums), &r->sums_capacity);
    if (!more)
        return -ENOMEM;
    r->sums = more;
    struct pw_row_c_mindinsight_sum *sum = &r->sums[r->nsums++];
    *sum = (struct pw_row_c_mindinsight_sum){.ranks = 1,
                                             .calls = row->calls,
                                             .mean_us = row->time_us,
                                             .max_us = row->time_us,
                                             .max_rank = (int32_t)file->input->rank};
    snprintf(sum->name, sizeof(sum->name), "%.255s", pw_openfile_text(file, row->name));
    snprintf(sum->type, sizeof(sum->type), "%.63s", pw_openfile_text(file, row->type));
    return 0;
}

static int read_sums(struct pw_reported *r, const struct pw_openfile *file)
{
    struct pw_cursor c;
    int err = pw_cursor_open(&c, file, PW_TABLE_mindinsight_sum);
    for (const struct pw_row_mindinsight_sum *row; !err && (row = pw_cursor_next(&c));)
        if (row->time_us >= 0 && row->time_us < (double)PW_LIMIT)
            err = add_sum(r, file, row);
    err = err ? err : c.err;
    pw_cursor_close(&c);
    return err;
}

static int by_time(const void *a, const void *b)
{
    const struct pw_row_c_mindinsight_sum *x = a, *y = b;
    if (!x->name[0] != !y->name[0])
        return x->name[0] ? 1 : -1;
    if (x->mean_us != y->mean_us)
        return x->mean_us > y->mean_us ? -1 : 1;
    return by_name(a, b);
}

/* ---- all ---- */

int pw_reported_has_texts(const struct pw_openfile *file)
{
    return pw_openfile_has(file, PW_TABLE_pipeline_cpu) ||
           pw_openfile_has(file, PW_TABLE_mindinsight_sum);
}

int pw_reported_read(struct pw_reported *reported, const struct pw_openfile *file)
{
    int (*const readers[])(struct pw_reported *,
                           const struct pw_openfile *) = {read_steps, read_cpu, read_sums};
    int first = 0;
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
        const int err = readers[i](reported, file);
        if (err == -ENOMEM)
            return err;
        first = first ? first : err;
    }
    return first;
}

static void *gather(const struct pw_procs *procs, void *rows, size_t *n, size_t size)
{
    void *all;
    *n = pw_procs_allgather(procs, rows, *n, size, &all);
    free(rows);
    return all;
}

void pw_reported_arrange(struct pw_reported *r, const struct pw_procs *procs)
{
    r->steps = gather(procs, r->steps, &r->nsteps, sizeof(*r->steps));
    pw_sort(r->steps, r->nsteps, sizeof(*r->steps), by_step);
    r->cpu = gather(procs, r->cpu, &r->ncpu, sizeof(*r->cpu));
    join_sums(r);
    r->sums = gather(procs, r->sums, &r->nsums, sizeof(*r->sums));
    join_sums(r);
    for (size_t i = 0; i < r->nsums; i++)
        r->sums[i].mean_us /= r->sums[i].ranks;
    pw_sort(r->sums, r->nsums, sizeof(*r->sums), by_time);
}

void pw_reported_fini(struct pw_reported *reported)
{
    free(reported->steps);
    free(reported->cpu);
    free(reported->sums);
    *reported = (struct pw_reported){0};
}

/* Sums up /hccl/times by communicator and /hccl/links by link. */

/* ---- one rank ---- */

static int64_t plus(int64_t sum, int64_t ns)
{
    return ns > 0 && pw_is_possible(ns) ? pw_sum(sum, ns) : sum;
}

static void add_time(struct pw_row_c_hccl_rank *sum, const struct pw_row_hccl_time *row)
{
    const int64_t busy = plus(plus(0, row->transfer_ns), row->wait_ns);
    sum->operations++;
    sum->elapsed_ns = plus(sum->elapsed_ns, row->elapsed_ns);
    sum->transfer_ns = plus(sum->transfer_ns, row->transfer_ns);
    sum->wait_ns = plus(sum->wait_ns, row->wait_ns);
    sum->sync_ns = plus(sum->sync_ns, row->sync_ns);
    if (pw_is_possible(row->elapsed_ns))
        sum->idle_ns = plus(sum->idle_ns, row->elapsed_ns - busy);
}

static int read_times(struct pw_hccl *h, const struct pw_openfile *file)
{
    const struct pw_input *input = file->input;
    struct pw_row_c_hccl_rank *sums = calloc(input->ncomms + 1, sizeof(*sums));
    struct pw_cursor c;
    size_t used = 0;
    if (!sums)
        return -ENOMEM;
    int err = pw_cursor_open(&c, file, PW_TABLE_hccl_time);
    for (const struct pw_row_hccl_time *row; !err && (row = pw_cursor_next(&c));)
        if (row->comm >= 0 && (size_t)row->comm < input->ncomms)
            add_time(&sums[row->comm], row);
    err = err ? err : c.err;
    pw_cursor_close(&c);
    for (size_t i = 0; i < input->ncomms; i++)
        used += sums[i].operations > 0;
    struct pw_row_c_hccl_rank *more =
        used ? realloc(h->ranks, (h->nranks + used) * sizeof(*more)) : h->ranks;
    if (used && !more)
        err = -ENOMEM;
    h->ranks = more ? more : h->ranks;
    for (size_t i = 0; more && i < input->ncomms; i++)
        if (sums[i].operations) {
            sums[i].rank = (int32_t)input->rank;
            sums[i].comm_uid = input->comms[i].uid;
            h->ranks[h->nranks++] = sums[i];
        }
    free(sums);
    return err;
}

static int is_same(const struct pw_row_c_hccl_link *a, const struct pw_row_c_hccl_link *b)
{
    return a->src == b->src && a->dst == b->dst &&
           strncmp(a->transport, b->transport, sizeof(a->transport)) == 0;
}

static void join(struct pw_row_c_hccl_link *sum, const struct pw_row_c_hccl_link *one)
{
    sum->transfers = pw_sum(sum->transfers, one->transfers);
    sum->bytes = plus(sum->bytes, one->bytes);
    sum->transfer_ns = plus(sum->transfer_ns, one->transfer_ns);
}

/* A rank has few links: those before are looked through. */
static int add_link(struct pw_hccl *h, size_t first, const struct pw_row_c_hccl_link *link)
{
    for (size_t i = h->nlinks; i-- > first;)
        if (is_same(&h->links[i], link)) {
            join(&h->links[i], link);
            return 0;
        }
    struct pw_row_c_hccl_link *more =
        pw_grow(h->links, h->nlinks, sizeof(*h->links), &h->links_capacity);
    if (!more)
        return -ENOMEM;
    h->links = more;
    h->links[h->nlinks++] = *link;
    return 0;
}

static int read_links(struct pw_hccl *h, const struct pw_openfile *file)
{
    struct pw_cursor c;
    const size_t first = h->nlinks;
    int err = pw_cursor_open(&c, file, PW_TABLE_hccl_link);
    for (const struct pw_row_hccl_link *row; !err && (row = pw_cursor_next(&c));) {
        struct pw_row_c_hccl_link link = {.src = row->src,
                                          .dst = row->dst,
                                          .transfers = 1,
                                          .bytes = plus(0, row->bytes),
                                          .transfer_ns = plus(0, row->transfer_ns),
                                          .bandwidth = -1,
                                          .usual_bandwidth = -1};
        snprintf(link.transport, sizeof(link.transport), "%.15s",
                 pw_openfile_text(file, row->transport));
        err = add_link(h, first, &link);
    }
    err = err ? err : c.err;
    pw_cursor_close(&c);
    return err;
}

int pw_hccl_read(struct pw_hccl *hccl, const struct pw_openfile *file)
{
    int err = read_times(hccl, file);
    int links = err == -ENOMEM ? 0 : read_links(hccl, file);
    return links == -ENOMEM || !err ? links : err;
}

/* ---- all ranks ---- */

static int by_link(const void *a, const void *b)
{
    const struct pw_row_c_hccl_link *x = a, *y = b;
    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    if (x->dst != y->dst)
        return x->dst < y->dst ? -1 : 1;
    return strncmp(x->transport, y->transport, sizeof(x->transport));
}

static int by_bandwidth(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Sets the usual bandwidth of a link: the median of the others with the same transport. */
static void compare(struct pw_hccl *h, size_t at, double *others)
{
    struct pw_row_c_hccl_link *link = &h->links[at];
    size_t n = 0;
    for (size_t i = 0; i < h->nlinks; i++)
        if (i != at && h->links[i].src != h->links[i].dst && h->links[i].bandwidth > 0 &&
            strncmp(h->links[i].transport, link->transport, sizeof(link->transport)) == 0)
            others[n++] = h->links[i].bandwidth;
    if (!n || link->src == link->dst)
        return;
    pw_sort(others, n, sizeof(*others), by_bandwidth);
    link->usual_bandwidth = (others[(n - 1) / 2] + others[n / 2]) / 2;
}

void pw_hccl_arrange(struct pw_hccl *h, const struct pw_procs *procs)
{
    /* Links that are compared with each other: that takes the square of their number. */
    enum { MOST_COMPARED = 4096 };
    const double second = 1e9;
    void *ranks, *links;
    h->nranks = pw_procs_allgather(procs, h->ranks, h->nranks, sizeof(*h->ranks), &ranks);
    size_t n = pw_procs_allgather(procs, h->links, h->nlinks, sizeof(*h->links), &links);
    free(h->ranks);
    free(h->links);
    h->ranks = ranks;
    h->links = links;
    h->nlinks = 0;
    pw_sort(h->links, n, sizeof(*h->links), by_link);
    for (size_t i = 0; i < n; i++)
        if (h->nlinks && is_same(&h->links[h->nlinks - 1], &h->links[i]))
            join(&h->links[h->nlinks - 1], &h->links[i]);
        else
            h->links[h->nlinks++] = h->links[i];
    for (size_t i = 0; i < h->nlinks; i++)
        if (h->links[i].transfer_ns > 0)
            h->links[i].bandwidth =
                (double)h->links[i].bytes / ((double)h->links[i].transfer_ns / second);
    double *others = h->nlinks <= MOST_COMPARED ? malloc((h->nlinks + 1) * sizeof(*others)) : NULL;
    for (size_t i = 0; others && i < h->nlinks; i++)
        compare(h, i, others);
    free(others);
}

void pw_hccl_fini(struct pw_hccl *hccl)
{
    free(hccl->ranks);
    free(hccl->links);
    *hccl = (struct pw_hccl){0};
}
