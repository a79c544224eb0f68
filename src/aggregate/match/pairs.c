/* Gathers and judges the pairs of ranks; see pairs.h. */
#include "aggregate/match/pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/collectives.h"
#include "analysis/groups.h"
#include "core/sort.h"

static struct pw_row_c_p2p pair_row(const struct pw_pair *pair)
{
    int known = pair->matched > 0;
    return (struct pw_row_c_p2p){
        .src = pair->src,
        .dst = pair->dst,
        .messages = pair->messages,
        .bytes = pair->bytes,
        .late_sender_ns = known ? pair->late_sender_ns : -1,
        .late_receiver_ns = known ? pair->late_receiver_ns : -1,
        .transfer_ns = known ? pair->transfer_ns : -1,
    };
}

/* Links of messages of about one size, inside a host or between hosts, are of one kind. */
static struct pw_link link_of(const struct pw_world *world, const struct pw_pair *pair)
{
    const struct pw_row_c_rank *src = &world->ranks[pair->src], *dst = &world->ranks[pair->dst];
    int inside = memcmp(src->hostname, dst->hostname, sizeof(src->hostname)) == 0;
    int known = src->clock_error_ns >= 0 && dst->clock_error_ns >= 0;
    return (struct pw_link){
        .dst = pair->dst,
        .kind = 2 * pw_size_class(pair->messages ? pair->bytes / pair->messages : 0) + inside,
        .messages = pair->unhidden,
        .sum_ns = (double)pair->unhidden_ns,
        .squares_ns =
            (double)pair->unhidden_squares_ns.high * 0x1p64 + (double)pair->unhidden_squares_ns.low,
        .error_ns = known ? src->clock_error_ns + dst->clock_error_ns : -1,
    };
}

static struct pw_row_c_link link_row(const struct pw_pair *pair, const struct pw_link_found *found)
{
    return (struct pw_row_c_link){
        .src = pair->src,
        .dst = pair->dst,
        .messages = pair->messages,
        .bytes = pair->bytes,
        .transfer_ns = (int64_t)found->transfer_ns,
        .others_ns = (int64_t)found->others_ns,
        .ratio = found->transfer_ns / found->others_ns,
        .confidence = found->confidence,
    };
}

static int find_links(struct pw_pairs *out, const struct pw_world *world,
                      const struct pw_pair *pairs)
{
    size_t n = out->n;
    struct pw_link *links = malloc(sizeof(*links) * (n + 1));
    struct pw_link_found *found = malloc(sizeof(*found) * (n + 1));
    int64_t *scratch = malloc(sizeof(*scratch) * (n + 1));
    out->links = calloc(n + 1, sizeof(*out->links));
    int err = links && found && scratch && out->links ? 0 : -ENOMEM;
    for (size_t i = 0; i < n && !err; i++)
        links[i] = link_of(world, &pairs[i]);
    out->nlinks = err ? 0 : pw_links_find(links, n, found, n, scratch);
    for (size_t i = 0; i < out->nlinks; i++)
        out->links[i] = link_row(&pairs[found[i].link], &found[i]);
    free(links);
    free(found);
    free(scratch);
    return err;
}

int pw_pairs_make(struct pw_pairs *out, const struct pw_job *job,
                  const struct pw_messages *messages)
{
    void *all;
    size_t n = pw_procs_allgather(&job->procs, messages->pairs, messages->npairs,
                                  sizeof(*messages->pairs), &all);
    struct pw_pair *pairs = all;
    int err = 0;
    *out = (struct pw_pairs){0};
    if (job->procs.process == 0) {
        out->rows = calloc(n + 1, sizeof(*out->rows));
        out->n = out->rows ? n : 0;
        pw_sort(pairs, n, sizeof(*pairs), pw_pair_by_ranks);
        for (size_t i = 0; i < out->n; i++)
            out->rows[i] = pair_row(&pairs[i]);
        err = out->rows ? find_links(out, &job->world, pairs) : -ENOMEM;
    }
    free(all);
    MPI_Bcast(&err, 1, MPI_INT, 0, job->procs.comm);
    return err;
}

void pw_pairs_fini(struct pw_pairs *pairs)
{
    free(pairs->rows);
    free(pairs->links);
    *pairs = (struct pw_pairs){0};
}
