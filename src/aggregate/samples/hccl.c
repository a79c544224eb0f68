/* Sums up /hccl/times by communicator and /hccl/links by link; see hccl.h. */
#include "aggregate/samples/hccl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/grow.h"
#include "core/limits.h"
#include "core/sort.h"

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
