/* Sums up /events/kernel of one rank; see kernels.h. */
#include "aggregate/gpu/kernels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/gputime.h"
#include "core/comm_kernel.h"
#include "core/grow.h"
#include "core/h5/h5reader.h"

enum { MOST_KNOWN = 1 << 20, NOBODY = -1 };

/* What a kernel is by the file's own numbers, and where it is summed up. */
struct known {
    uint32_t name, launched_by;
    int32_t grid[3], block[3];
    int32_t path, config; /* paths of the tree; NOBODY: too many */
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
    ptrdiff_t near; /* step */
};

static const char *text_of(const struct pw_kernelread *r, uint32_t row)
{
    return row < r->ntexts ? r->texts[row] : "";
}

static int read_texts(struct pw_kernelread *r)
{
    hid_t file;
    int err = pw_h5_open(r->input->path, &file);
    if (err)
        return err;
    err = pw_h5_read_strings(file, "/strings", &r->texts, &r->ntexts);
    pw_h5_close(file);
    r->is_comm = malloc(r->ntexts + 1);
    for (size_t i = 0; r->is_comm && i < r->ntexts; i++)
        r->is_comm[i] = (uint8_t)pw_is_comm_kernel(r->texts[i]);
    return !r->is_comm ? -ENOMEM : err == -ENOENT ? 0 : err;
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

/* Path of an operator given by its texts, below `parent`; -ENOMEM, or NOBODY. */
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
    /* NCCL's kernels wait for each other: their lengths say nothing of the rank's GPU. */
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

/* Numbers of a file: they may be anything, negative too. */
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
    if (r->nknown >= MOST_KNOWN) { /* forgotten, and compared by text again */
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

/* A kernel belongs to the step that launched it. */
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
