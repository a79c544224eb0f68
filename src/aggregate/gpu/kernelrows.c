/* Sums up /events/kernel of each rank, joins the sums of all processes, and compares ranks by their
 * kernels; see kernelrows.h. */
#include "aggregate/gpu/kernelrows.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/operators/opreduce.h"
#include "analysis/gpu.h"
#include "analysis/slowranks.h"
#include "core/comm_kernel.h"
#include "core/grow.h"
#include "core/search.h"
#include "core/sort.h"

/* ---- the kernels of one rank ---- */

enum { MOST_KNOWN = 1 << 20, NOBODY = -1 };

/* A kind of kernel, identified by the numbers in the file, and its paths in the tree. */
struct known {
    uint32_t name, launched_by;
    int32_t grid[3], block[3];
    int32_t path, config; /* paths of the tree; NOBODY: there were too many */
};

struct pw_kernelread {
    struct pw_optree *tree;
    const struct pw_input *input;
    char **texts;
    size_t ntexts;
    uint8_t *is_comm; /* [ntexts] */
    struct known *known;
    size_t nknown, capacity;
    struct pw_hash by_known;
    ptrdiff_t near; /* the step looked up last */
};

static const char *text_of(const struct pw_kernelread *r, uint32_t row)
{
    return row < r->ntexts ? r->texts[row] : "";
}

static int read_texts(struct pw_kernelread *r)
{
    struct pw_texts texts;
    const int err = pw_input_texts(r->input, &texts);
    r->texts = texts.v;
    r->ntexts = texts.n;
    r->is_comm = malloc(r->ntexts + 1);
    for (size_t i = 0; r->is_comm && i < r->ntexts; i++)
        r->is_comm[i] = (uint8_t)pw_is_comm_kernel(r->texts[i]);
    return r->is_comm ? err : -ENOMEM;
}

int pw_kernelread_open(struct pw_optree *tree, const struct pw_input *input,
                       struct pw_kernelread **out)
{
    struct pw_kernelread *r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    *r = (struct pw_kernelread){.tree = tree, .input = input, .near = -1};
    int err = read_texts(r);
    if (err) {
        free(r->texts);
        free(r->is_comm);
        free(r);
        return err;
    }
    *out = r;
    return 0;
}

/* Returns the path of the operator with these texts below `parent`; NOBODY when there are too many;
 * or -ENOMEM. */
static int32_t path_of(struct pw_optree *tree, int32_t parent, const char *name, const char *type,
                       uint32_t kind)
{
    int64_t name_text = pw_optree_text(tree, name, PW_OPTREE_NAME);
    int64_t type_text = pw_optree_text(tree, type, PW_OPTREE_TYPE);
    if (name_text < 0 || type_text < 0)
        return -ENOMEM;
    int32_t op = pw_optree_op(tree, (uint32_t)name_text, (uint32_t)type_text, kind);
    int32_t path = op < 0 ? op : pw_optree_path(tree, parent, op);
    return path == -ENOSPC ? NOBODY : path;
}

static int look_up(struct pw_kernelread *r, struct known *k)
{
    const char *name = text_of(r, k->name), *by = text_of(r, k->launched_by);
    int comm = k->name < r->ntexts && r->is_comm[k->name];
    char config[PW_OPTREE_TYPE];
    int32_t parent = NOBODY;
    if (*by)
        parent = path_of(r->tree, NOBODY, by, "", PW_KERNEL_LAUNCHER);
    snprintf(config, sizeof(config), "%d,%d,%d x %d,%d,%d", k->grid[0], k->grid[1], k->grid[2],
             k->block[0], k->block[1], k->block[2]);
    k->path = parent == -ENOMEM ? parent
                                : path_of(r->tree, parent, name, comm ? "communication" : "compute",
                                          PW_KERNEL_NAME);
    /* NCCL's kernels wait for each other, so their lengths say nothing about the rank's GPU. */
    k->config = comm ? NOBODY : path_of(r->tree, NOBODY, name, config, PW_KERNEL_CONFIG);
    return k->path == -ENOMEM || k->config == -ENOMEM ? -ENOMEM : 0;
}

static int same_known(const void *items, int32_t item, const void *key)
{
    return memcmp((const struct known *)items + item, key, offsetof(struct known, path)) == 0;
}

static int append(struct pw_kernelread *r, const struct known *k)
{
    struct known *known = pw_grow(r->known, r->nknown, sizeof(*known), &r->capacity);
    if (!known)
        return -ENOMEM;
    r->known = known;
    r->known[r->nknown++] = *k;
    return 0;
}

/* A size as one number. Sizes come from a file, and may have any value, also a negative one. */
static uint64_t join(const int32_t size[3])
{
    uint32_t x = (uint32_t)size[0], y = (uint32_t)size[1], z = (uint32_t)size[2];
    return (uint64_t)x << 32 | (y ^ z << 16);
}

static const struct known *find(struct pw_kernelread *r, const struct pw_row_kernel *kernel)
{
    struct known key = {kernel->name,
                        kernel->launched_by,
                        {kernel->grid_x, kernel->grid_y, kernel->grid_z},
                        {kernel->block_x, kernel->block_y, kernel->block_z},
                        NOBODY,
                        NOBODY};
    uint64_t grid = join(key.grid), block = join(key.block);
    uint64_t names = (uint64_t)key.name << 32 | key.launched_by;
    uint32_t hash = (uint32_t)pw_hash_mix(pw_hash_mix(names, grid), block);
    if (r->nknown >= MOST_KNOWN) { /* forgets all; texts are compared again */
        r->nknown = 0;
        pw_hash_clear(&r->by_known);
    }
    if (pw_hash_reserve(&r->by_known))
        return NULL;
    struct pw_hash_slot *slot = pw_hash_find(&r->by_known, hash, same_known, r->known, &key);
    if (slot->item != PW_HASH_NONE)
        return &r->known[slot->item];
    if (look_up(r, &key) || append(r, &key))
        return NULL;
    pw_hash_take(&r->by_known, slot, hash, (int32_t)r->nknown - 1);
    return &r->known[r->nknown - 1];
}

static void count(struct pw_opsum *sum, int64_t ns)
{
    sum->calls++;
    sum->total_ns += ns;
    sum->min_ns = ns < sum->min_ns ? ns : sum->min_ns;
    sum->max_ns = ns > sum->max_ns ? ns : sum->max_ns;
}

/* 1 when the step that launched the kernel is measured. */
static int is_measured(struct pw_kernelread *r, const struct pw_row_kernel *kernel)
{
    int64_t at = kernel->launch >= 0 ? kernel->launch : kernel->start;
    ptrdiff_t step = pw_input_step_near(r->input, at, &r->near);
    return step < 0 || r->input->steps[step].recorded == PW_RECORDED_ACTIVE;
}

int pw_kernelread_add(struct pw_kernelread *r, const struct pw_row_kernel *kernel)
{
    int comm = kernel->name < r->ntexts && r->is_comm[kernel->name];
    int64_t ns = kernel->end - kernel->start;
    if (!is_measured(r, kernel))
        return comm;
    const struct known *k = find(r, kernel);
    if (!k)
        return -ENOMEM;
    r->tree->unlisted += k->path == NOBODY;
    if (k->config != NOBODY)
        count(&r->tree->paths[k->config].sum, ns);
    if (k->path == NOBODY)
        return comm;
    count(&r->tree->paths[k->path].sum, ns);
    return pw_sketch_add(&r->tree->paths[k->path].sum.times, ns, 1) ? -ENOMEM : comm;
}

int pw_kernelread_close(struct pw_kernelread *r)
{
    int err = pw_optree_end_rank(r->tree, (int32_t)r->input->rank);
    free(r->texts);
    free(r->is_comm);
    free(r->known);
    pw_hash_fini(&r->by_known);
    free(r);
    return err;
}

static_assert((int)PW_KERNELS_BY_RANK + (int)PW_KERNELS_COMPARED <= (int)PW_OPCELLS_MOST,
              "all can be asked for");

struct making {
    const struct pw_optree *tree;
    struct pw_opsum *sums; /* [nops] */
    int32_t *launcher;     /* [nops] the operator that launched most of its time; -1: not known */
    pw_wide *launched_ns;  /* [nops] the time that this operator launched */
    int32_t *order; /* [nops] kernels by name, then configurations; both with most time first */
    size_t nnames, nconfigs;
    pw_wide all_ns;
};

static int group_of(uint32_t kind)
{
    return kind == PW_KERNEL_NAME ? 0 : kind == PW_KERNEL_CONFIG ? 1 : 2;
}

static int by_total(const void *a, const void *b, void *context)
{
    const struct making *m = context;
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    const struct pw_opname *p = &m->tree->ops[x], *q = &m->tree->ops[y];
    if (group_of(p->kind) != group_of(q->kind))
        return group_of(p->kind) - group_of(q->kind);
    if (m->sums[x].total_ns != m->sums[y].total_ns)
        return m->sums[x].total_ns > m->sums[y].total_ns ? -1 : 1;
    int by_name =
        strcmp(pw_optree_borrow_text(m->tree, p->name), pw_optree_borrow_text(m->tree, q->name));
    return by_name ? by_name
                   : strcmp(pw_optree_borrow_text(m->tree, p->type),
                            pw_optree_borrow_text(m->tree, q->type));
}

/* 1 when `launcher` launched more than the present one. Of two with equal time, the first by name
 * is taken, because the order of paths is arbitrary. */
static int is_better(const struct making *m, int32_t op, int32_t launcher, pw_wide ns)
{
    if (m->launcher[op] < 0 || ns != m->launched_ns[op])
        return m->launcher[op] < 0 || ns > m->launched_ns[op];
    return strcmp(pw_optree_borrow_text(m->tree, m->tree->ops[launcher].name),
                  pw_optree_borrow_text(m->tree, m->tree->ops[m->launcher[op]].name)) < 0;
}

static int sum_up(struct making *m)
{
    int err = 0;
    for (size_t i = 0; i < m->tree->nops; i++) {
        m->sums[i].min_ns = INT64_MAX;
        m->order[i] = (int32_t)i;
        m->launcher[i] = -1;
        m->nnames += m->tree->ops[i].kind == PW_KERNEL_NAME;
        m->nconfigs += m->tree->ops[i].kind == PW_KERNEL_CONFIG;
    }
    for (size_t i = 0; i < m->tree->npaths && !err; i++) {
        const struct pw_oppath *path = &m->tree->paths[i];
        err = pw_opsum_join(&m->sums[path->op], &path->sum);
        if (m->tree->ops[path->op].kind != PW_KERNEL_NAME)
            continue;
        m->all_ns += path->sum.total_ns;
        int32_t by = path->parent < 0 ? -1 : m->tree->paths[path->parent].op;
        if (by >= 0 && is_better(m, path->op, by, path->sum.total_ns)) {
            m->launcher[path->op] = by;
            m->launched_ns[path->op] = path->sum.total_ns;
        }
    }
    if (!err)
        qsort_r(m->order, m->tree->nops, sizeof(*m->order), by_total, m);
    return err;
}

static double share_of(pw_wide part, pw_wide all)
{
    return all > 0 ? (double)part / (double)all : 0;
}

static int64_t between(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static void fill_figures(const struct making *m, const struct pw_opsum *sum,
                         struct pw_row_c_kernel *row)
{
    row->calls = sum->calls;
    row->total_ns = pw_narrow(sum->total_ns);
    row->mean_ns = sum->calls ? pw_narrow(sum->total_ns / sum->calls) : -1;
    row->min_ns = sum->min_ns;
    row->max_ns = sum->max_ns;
    row->p50_ns = between(pw_sketch_quantile(&sum->times, 0.5), sum->min_ns, sum->max_ns);
    row->p95_ns = between(pw_sketch_quantile(&sum->times, 0.95), sum->min_ns, sum->max_ns);
    row->share = share_of(sum->total_ns, m->all_ns);
}

static void fill_row(const struct making *m, int32_t op, struct pw_row_c_kernel *row)
{
    const struct pw_opname *name = &m->tree->ops[op];
    int32_t by = m->launcher[op];
    fill_figures(m, &m->sums[op], row);
    snprintf(row->name, sizeof(row->name), "%s", pw_optree_borrow_text(m->tree, name->name));
    snprintf(row->type, sizeof(row->type), "%s", pw_optree_borrow_text(m->tree, name->type));
    if (by >= 0)
        snprintf(row->operator, sizeof(row->operator), "%s",
                 pw_optree_borrow_text(m->tree, m->tree->ops[by].name));
    row->operator_share = by < 0 ? 0 : share_of(m->launched_ns[op], m->sums[op].total_ns);
    row->ranks = name->ranks;
    row->max_rank = name->max_rank;
    row->max_rank_ns = pw_narrow(name->max_own_ns);
    row->imbalance =
        row->total_ns > 0 ? (double)row->max_rank_ns * m->tree->nranks / (double)row->total_ns : -1;
}

static int fill_others(const struct making *m, struct pw_row_c_kernel *row)
{
    struct pw_opsum sum = {.min_ns = INT64_MAX};
    int err = 0;
    for (size_t i = PW_KERNELS_MOST; i < m->nnames && !err; i++)
        err = pw_opsum_join(&sum, &m->sums[m->order[i]]);
    fill_figures(m, &sum, row);
    snprintf(row->name, sizeof(row->name), "(%zu others)", m->nnames - PW_KERNELS_MOST);
    snprintf(row->type, sizeof(row->type), "(others)");
    row->ranks = row->max_rank = -1;
    row->max_rank_ns = -1;
    row->imbalance = -1;
    pw_sketch_fini(&sum.times);
    return err;
}

static int fill_rows(const struct making *m, struct pw_kernels *out)
{
    size_t n = m->nnames < PW_KERNELS_MOST ? m->nnames : PW_KERNELS_MOST;
    out->kernels = calloc(n + 1, sizeof(*out->kernels));
    if (!out->kernels)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        fill_row(m, m->order[i], &out->kernels[i]);
    out->nkernels = n + (n < m->nnames);
    return n < m->nnames ? fill_others(m, &out->kernels[n]) : 0;
}

/* Returns the row of /kernels with this name; -1: there is none. Kernels of NCCL are not
 * compared. */
static int32_t row_named(const struct making *m, uint32_t name)
{
    for (size_t i = 0; i < m->nnames && i < PW_KERNELS_MOST; i++)
        if (m->tree->ops[m->order[i]].name == name)
            return (int32_t)i;
    return -1;
}

/* Chooses the kernels whose figures are needed for each rank. In the answers, a kernel is
 * identified by its row; launch configurations are numbered after the rows. */
static struct pw_opcells choose(const struct making *m)
{
    struct pw_opcells w = {.n = 0};
    for (size_t i = 0; i < m->nnames && i < PW_KERNELS_BY_RANK; i++) {
        w.ops[w.n] = m->order[i];
        w.rows[w.n++] = (int32_t)i;
    }
    for (size_t i = 0; i < m->nconfigs && i < PW_KERNELS_COMPARED; i++) {
        w.ops[w.n] = m->order[m->nnames + i];
        w.rows[w.n++] = (int32_t)(PW_KERNELS_BY_RANK + i);
    }
    return w;
}

static int fill_by_rank(struct pw_kernels *out, const struct pw_row_c_operator_rank *cells,
                        size_t n)
{
    out->by_rank = calloc(n + 1, sizeof(*out->by_rank));
    for (size_t i = 0; out->by_rank && i < n; i++)
        if (cells[i].operator_row >= 0 && cells[i].operator_row < PW_KERNELS_BY_RANK)
            out->by_rank[out->nby_rank++] = (struct pw_row_c_kernel_rank){
                cells[i].operator_row, cells[i].rank, cells[i].calls, cells[i].total_ns};
    return out->by_rank ? 0 : -ENOMEM;
}

/* Returns the index of a rank among the GPU ranks, which are sorted; -1: it is not one of them. */
static ptrdiff_t place_of(const struct pw_kernels *k, int32_t rank)
{
    const struct pw_search_key by = PW_SEARCH_KEY(struct pw_row_c_gpu_rank, rank);
    const size_t at = pw_search(k->ranks, k->nranks, by, rank);
    return at < k->nranks && k->ranks[at].rank == rank ? (ptrdiff_t)at : -1;
}

static void enter_found(const struct making *m, struct pw_kernels *out,
                        const struct pw_kernelrank_found *found)
{
    for (size_t r = 0; r < out->nranks; r++) {
        struct pw_row_c_gpu_rank *row = &out->ranks[r];
        row->slowdown = found[r].slowdown;
        row->confidence = found[r].slowdown < 0 ? -1 : found[r].confidence;
        row->kernel_excess_ns = found[r].excess_ns;
        if (found[r].excess_ns > 0)
            row->kernel_row = row_named(m, m->tree->ops[m->order[m->nnames + found[r].worst]].name);
    }
}

static int compare_ranks(const struct making *m, struct pw_kernels *out,
                         const struct pw_row_c_operator_rank *cells, size_t n)
{
    size_t nkernels = m->nconfigs < PW_KERNELS_COMPARED ? m->nconfigs : PW_KERNELS_COMPARED;
    int64_t *calls = calloc(nkernels * out->nranks + 1, sizeof(*calls));
    int64_t *total = calloc(nkernels * out->nranks + 1, sizeof(*total));
    int64_t *scratch = calloc(out->nranks + 1, sizeof(*scratch));
    struct pw_kernelrank_found *found = calloc(out->nranks + 1, sizeof(*found));
    int ok = calls && total && scratch && found;
    for (size_t i = 0; ok && i < n; i++) {
        int64_t kernel = (int64_t)cells[i].operator_row - PW_KERNELS_BY_RANK;
        ptrdiff_t rank = place_of(out, cells[i].rank);
        if (kernel < 0 || rank < 0)
            continue;
        calls[(size_t)kernel * out->nranks + (size_t)rank] = cells[i].calls;
        total[(size_t)kernel * out->nranks + (size_t)rank] = cells[i].total_ns;
    }
    const struct pw_kernelrank_input input = {nkernels, out->nranks, calls, total};
    if (ok) {
        pw_kernelrank_find(&input, scratch, found);
        enter_found(m, out, found);
    }
    free(calls);
    free(total);
    free(scratch);
    free(found);
    return ok ? 0 : -ENOMEM;
}

static int by_rank(const void *a, const void *b)
{
    const struct pw_row_c_gpu_rank *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int begin(struct making *m)
{
    size_t n = m->tree->nops + 1;
    m->sums = calloc(n, sizeof(*m->sums));
    m->launcher = malloc(n * sizeof(*m->launcher));
    m->launched_ns = calloc(n, sizeof(*m->launched_ns));
    m->order = malloc(n * sizeof(*m->order));
    return m->sums && m->launcher && m->launched_ns && m->order ? sum_up(m) : -ENOMEM;
}

static void end(struct making *m, size_t nops)
{
    for (size_t i = 0; m->sums && i < nops; i++)
        pw_sketch_fini(&m->sums[i].times);
    free(m->sums);
    free(m->launcher);
    free(m->launched_ns);
    free(m->order);
}

int pw_kernels_make(struct pw_kernels *out, struct pw_job *job, struct pw_optree *tree,
                    const struct pw_row_c_gpu_rank *mine, size_t nmine)
{
    struct making m = {.tree = tree};
    struct pw_opcells wanted = {.n = 0};
    struct pw_row_c_operator_rank *cells = NULL;
    void *ranks;
    size_t ncells = 0;
    *out = (struct pw_kernels){0};
    out->nranks = pw_procs_allgather(&job->procs, mine, nmine, sizeof(*mine), &ranks);
    out->ranks = ranks;
    pw_sort(out->ranks, out->nranks, sizeof(*out->ranks), by_rank);
    if (!out->nranks)
        return 0;
    int err = pw_opreduce(tree, job->procs.comm, 0);
    size_t nops = tree->nops;
    if (!err && job->procs.process == 0)
        err = begin(&m);
    pw_ex_bcast(&err, 1, PW_EX_INT, 0, job->procs.comm);
    if (!err && job->procs.process == 0)
        wanted = choose(&m);
    err = err ? err : pw_opcells_gather(&job->procs, tree, &wanted, &cells, &ncells);
    if (!err && job->procs.process == 0) {
        err = fill_rows(&m, out);
        err = err ? err : fill_by_rank(out, cells, ncells);
        err = err ? err : compare_ranks(&m, out, cells, ncells);
        if (tree->unlisted)
            pw_job_note(job, -1, "kernels_unlisted", tree->unlisted,
                        "calls of kernels beyond the number of names that can be kept");
    }
    pw_ex_bcast(&err, 1, PW_EX_INT, 0, job->procs.comm);
    free(cells);
    end(&m, nops);
    return err;
}

void pw_kernels_fini(struct pw_kernels *k)
{
    free(k->kernels);
    free(k->by_rank);
    free(k->ranks);
    free(k->devices);
    *k = (struct pw_kernels){0};
}
