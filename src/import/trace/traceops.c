/* Keeps the table of a rank's different operations, and reads the names of operations, types and
 * kernels; see traceops.h. */
#include "import/trace/traceops.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/ops.h"

enum pw_source pw_library_source(enum pw_library library)
{
    return library == PW_LIBRARY_GLOO     ? PW_SOURCE_GLOO
           : library == PW_LIBRARY_HCCL   ? PW_SOURCE_HCCL
           : library == PW_LIBRARY_ONECCL ? PW_SOURCE_ONECCL
           : library == PW_LIBRARY_DEVICE ? PW_SOURCE_DEVICE
                                          : PW_SOURCE_NCCL;
}

/* ---- the table of operations ---- */

static int same_collective(const void *items, int32_t item, const void *key)
{
    const struct pw_collective *a = (const struct pw_collective *)items + item, *b = key;
    return a->op == b->op && a->library == b->library && a->datatype == b->datatype &&
           a->element_bytes == b->element_bytes && a->group == b->group &&
           a->group_note == b->group_note && a->members == b->members &&
           a->group_size == b->group_size && a->peer == b->peer && a->first == b->first &&
           a->stride == b->stride && a->my_rank == b->my_rank && a->algorithm == b->algorithm &&
           a->protocol == b->protocol;
}

uint32_t pw_collectives_find(struct pw_collectives *all, const struct pw_collective *one)
{
    uint64_t hash = pw_hash_mix((uint64_t)one->op << 32 | one->datatype, one->group);
    hash = pw_hash_mix(hash, (uint64_t)one->members << 32 | (uint32_t)one->peer);
    if (pw_hash_reserve(&all->hash))
        return 0;
    struct pw_hash_slot *slot =
        pw_hash_find(&all->hash, (uint32_t)hash, same_collective, all->items, one);
    if (slot->item != PW_HASH_NONE)
        return (uint32_t)slot->item + 1;
    if (all->n == PW_MOST_COLLECTIVES)
        return 0;
    if (all->n == all->capacity) {
        size_t capacity = all->capacity ? 2 * all->capacity : 32;
        struct pw_collective *more = realloc(all->items, capacity * sizeof(*more));
        if (!more)
            return 0;
        all->items = more;
        all->capacity = capacity;
    }
    all->items[all->n] = *one;
    pw_hash_take(&all->hash, slot, (uint32_t)hash, (int32_t)all->n);
    return (uint32_t)++all->n;
}

const struct pw_collective *pw_collectives_borrow(const struct pw_collectives *all, uint32_t number)
{
    return number && number <= all->n ? &all->items[number - 1] : NULL;
}

void pw_collectives_fini(struct pw_collectives *all)
{
    free(all->items);
    pw_hash_fini(&all->hash);
}

/* ---- names ---- */

/* Copies the letters and digits of a name in lower case, so that "_allgather_base" and
 * "AllGatherBase" are equal. Returns the length. */
static size_t fold(const char *name, size_t length, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < length && n + 1 < size; i++)
        if (isalnum((unsigned char)name[i]))
            out[n++] = (char)tolower((unsigned char)name[i]);
    out[n] = '\0';
    return n;
}

/* Operations by the beginnings of their names; a longer beginning stands before a shorter one that
 * it includes. */
static const struct {
    const char *begin;
    uint16_t op;
} op_names[] = {
    {"allreducebarrier", PW_OP_Barrier}, /* torch.distributed.barrier() over NCCL */
    {"allreduce", PW_OP_Allreduce},
    {"sparseallreduce", PW_OP_Allreduce},
    {"allgatherv", PW_OP_Allgatherv},
    {"allgather", PW_OP_Allgather},
    {"alltoallv", PW_OP_Alltoallv},
    {"alltoall", PW_OP_Alltoall},
    {"reducescatter", PW_OP_Reduce_scatter_block},
    {"reduce", PW_OP_Reduce},
    {"broadcast", PW_OP_Bcast},
    {"barrier", PW_OP_Barrier},
    {"gather", PW_OP_Gather},
    {"scatter", PW_OP_Scatter},
    {"sendrecv", PW_OP_None}, /* a kernel for both; its name does not say which */
    {"send", PW_OP_Send},
    {"recv", PW_OP_Recv},
    {"receive", PW_OP_Recv}, /* HCCL's word */
};
enum { OP_NAMES = sizeof(op_names) / sizeof(op_names[0]) };

uint16_t pw_collective_op(const char *name, size_t length)
{
    char folded[64];
    fold(name, length, folded, sizeof(folded));
    for (size_t i = 0; i < OP_NAMES; i++)
        if (strncmp(folded, op_names[i].begin, strlen(op_names[i].begin)) == 0)
            return op_names[i].op;
    return PW_OP_None;
}

/* Returns the part of a kernel's name after "ncclKernel", "ncclDevKernel" and the like; anything
 * may stand before ("void ", namespaces). For the oldest names, such as
 * "ncclAllReduceRingLLKernel_sum_f32", it is the part after "nccl". Returns NULL when the kernel is
 * not NCCL's or RCCL's. */
static const char *kernel_base(const char *name, size_t length, size_t *base_length)
{
    static const char *const begins[] = {"Kernel", "DevKernel", "SymDevKernel", "SymkDevKernel"};
    enum { PREFIX = 4 };
    const char *paren = memchr(name, '(', length), *end = paren ? paren : name + length;
    const char *found = name;
    while ((found = memmem(found, (size_t)(end - found), "ccl", 3))) {
        const char *at = found++ - 1;
        if (at < name || at + PREFIX >= end)
            continue;
        int begins_here = at == name || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (!begins_here || (strncmp(at, "nccl", PREFIX) != 0 && strncmp(at, "rccl", PREFIX) != 0))
            continue;
        at += PREFIX;
        size_t skip = 0;
        for (size_t b = 0; b < sizeof(begins) / sizeof(begins[0]); b++) {
            size_t n = strlen(begins[b]);
            if ((size_t)(end - at) >= n && strncmp(at, begins[b], n) == 0)
                skip = n;
        }
        if (!skip && !memmem(at, (size_t)(end - at), "Kernel", 6))
            return NULL;
        *base_length = (size_t)(end - at) - skip;
        return at + skip;
    }
    return NULL;
}

/* Sets *word to the next word of a name such as "AllReduce_RING_LL_Sum_float", moves *at past it,
 * and returns its length; 0 at the end. */
static size_t next_word(const char **at, const char *end, const char **word)
{
    const char *p = *at;
    while (p < end && (*p == '_' || *p == '<' || *p == '>' || *p == ' '))
        p++;
    *word = p;
    while (p < end && *p != '_' && *p != '<' && *p != '>' && *p != ' ')
        p++;
    *at = p;
    return (size_t)(p - *word);
}

static int is_one_of(const char *word, size_t length, const char *const *list)
{
    for (; *list; list++)
        if (strlen(*list) == length && strncasecmp(*list, word, length) == 0)
            return 1;
    return 0;
}

int pw_collective_kernel(const char *name, size_t length, struct pw_nccl_kernel *out)
{
    static const char *const algorithms[] = {"RING",          "TREE",         "NVLS",
                                             "NVLSTREE",      "PAT",          "COLLNET",
                                             "COLLNETDIRECT", "COLLNETCHAIN", NULL};
    static const char *const protocols[] = {"LL", "LL128", "SIMPLE", NULL};
    size_t n = 0;
    const char *at = kernel_base(name, length, &n);
    if (!at)
        return 0;
    const char *end = at + n, *word;
    *out = (struct pw_nccl_kernel){.op = pw_collective_op(at, n)};
    for (size_t w = next_word(&at, end, &word); w; w = next_word(&at, end, &word)) {
        if (is_one_of(word, w, algorithms)) {
            out->algorithm = word;
            out->algorithm_length = w;
        } else if (is_one_of(word, w, protocols)) {
            out->protocol = word;
            out->protocol_length = w;
        } else if (pw_collective_element(word, w)) {
            /* such as "f32", or "int8" of "int8_t" */
            out->datatype = word;
            out->datatype_length = w;
        }
    }
    return 1;
}

static const struct {
    const char *name;
    uint32_t bytes;
} elements[] = {
    {"float", 4},        {"float32", 4},
    {"f32", 4},          {"double", 8},
    {"float64", 8},      {"f64", 8},
    {"half", 2},         {"c10half", 2},
    {"float16", 2},      {"f16", 2},
    {"bfloat16", 2},     {"c10bfloat16", 2},
    {"bf16", 2},         {"nvbfloat16", 2},
    {"long", 8},         {"longint", 8},
    {"int64", 8},        {"i64", 8},
    {"uint64", 8},       {"u64", 8},
    {"int", 4},          {"int32", 4},
    {"i32", 4},          {"uint32", 4},
    {"u32", 4},          {"short", 2},
    {"int16", 2},        {"uint16", 2},
    {"char", 1},         {"signedchar", 1},
    {"unsignedchar", 1}, {"byte", 1},
    {"int8", 1},         {"i8", 1},
    {"uint8", 1},        {"u8", 1},
    {"bool", 1},         {"f8e4m3", 1},
    {"f8e5m2", 1},       {"float8e4m3fn", 1},
    {"float8e5m2", 1},   {"fp8e4m3", 1},
    {"fp8e5m2", 1},      {"complexfloat", 8},
    {"c10complex", 8},   {"complexdouble", 16},
    {"int8t", 1},        {"uint8t", 1},
    {"int32t", 4},       {"uint32t", 4},
    {"int64t", 8},       {"uint64t", 8},
    {"qint8", 1},        {"quint8", 1},
    {"qint32", 4},       {"fp16", 2},
    {"bfp16", 2},        {"fp32", 4},
    {"fp64", 8},         {"int128", 16},
};

uint32_t pw_collective_element(const char *name, size_t length)
{
    char folded[32];
    fold(name, length, folded, sizeof(folded));
    for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++)
        if (strcmp(elements[i].name, folded) == 0)
            return elements[i].bytes;
    return 0;
}
