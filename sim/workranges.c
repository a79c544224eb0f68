/* The table of operators of each phase, and how a piece of work is divided among them; see
 * workranges.h. */
#include "sim/workranges.h"

#include <string.h>

#include "sim/filetexts.h"

enum { SHORTEST_NS = 1000 };

#define TEXT_ROW(id, text) text,
static const char *const texts[] = {PW_SIM_TEXTS(TEXT_ROW)};

const char *pw_sim_text(uint32_t row)
{
    return row < TEXT_COUNT ? texts[row] : NULL;
}

/* The operators of a piece of work, in order; heavy ones call a kernel for half of their time. */
static const struct operator
{
    enum pw_phase phase;
    uint32_t name, type;
    int weight, is_heavy;
    enum pw_kind kind;
}
operators[] = {
    {PW_PHASE_FORWARD, TEXT_CONV, TEXT_T_MATRIX, 8, 1, PW_KIND_OPERATOR},
    {PW_PHASE_FORWARD, TEXT_RELU, TEXT_T_POINT, 1, 0, PW_KIND_OPERATOR},
    {PW_PHASE_FORWARD, TEXT_ATTENTION, TEXT_T_MATRIX, 10, 1, PW_KIND_OPERATOR},
    {PW_PHASE_FORWARD, TEXT_NORM, TEXT_T_POINT, 2, 0, PW_KIND_OPERATOR},
    {PW_PHASE_FORWARD, TEXT_LINEAR, TEXT_T_MATRIX, 5, 1, PW_KIND_OPERATOR},
    {PW_PHASE_BACKWARD, TEXT_LINEAR_B, TEXT_T_MATRIX, 5, 1, PW_KIND_OPERATOR},
    {PW_PHASE_BACKWARD, TEXT_NORM_B, TEXT_T_POINT, 2, 0, PW_KIND_OPERATOR},
    {PW_PHASE_BACKWARD, TEXT_ATTENTION_B, TEXT_T_MATRIX, 10, 1, PW_KIND_OPERATOR},
    {PW_PHASE_BACKWARD, TEXT_RELU_B, TEXT_T_POINT, 1, 0, PW_KIND_OPERATOR},
    {PW_PHASE_BACKWARD, TEXT_CONV_B, TEXT_T_MATRIX, 8, 1, PW_KIND_OPERATOR},
    {PW_PHASE_DATA, TEXT_DECODE, TEXT_T_INPUT, 1, 0, PW_KIND_DATA},
    {PW_PHASE_OPTIMIZER, TEXT_ADAM, TEXT_T_POINT, 1, 0, PW_KIND_OPERATOR},
};
enum { OPERATORS = sizeof(operators) / sizeof(operators[0]) };

enum pw_phase pw_sim_operator_phase(const char *name)
{
    for (size_t i = 0; i < OPERATORS; i++)
        if (strcmp(texts[operators[i].name], name) == 0)
            return operators[i].phase;
    return PW_PHASE_NONE;
}

/* Returns the k-th operator of a piece of work in this phase; NULL when the phase has none. */
static const struct operator* nth_operator(enum pw_phase phase, int64_t k)
{
    size_t first = 0, n = 0;
    while (first < OPERATORS && operators[first].phase != phase)
        first++;
    while (first + n < OPERATORS && operators[first + n].phase == phase)
        n++;
    return n ? &operators[first + (size_t)k % n] : NULL;
}

static double weight_of(const struct pw_sim_params *p, uint32_t without, int64_t rank, int64_t step,
                        const struct operator* op)
{
    double weight = op->weight;
    for (size_t i = 0; i < p->nfaults; i++) {
        const struct pw_sim_fault *f = &p->faults[i];
        if (f->kind == PW_SIM_SLOW_OPERATOR && !(without >> i & 1) &&
            strcmp(f->name, texts[op->name]) == 0 && pw_sim_fault_hits(p, f, rank, step))
            weight *= f->factor;
    }
    return weight;
}

double pw_sim_operators_growth(const struct pw_sim_params *p, uint32_t without, int64_t rank,
                               int64_t step, enum pw_phase phase)
{
    double before = 0, after = 0;
    for (int64_t k = 0; k < p->operators && nth_operator(phase, k); k++) {
        before += nth_operator(phase, k)->weight;
        after += weight_of(p, without, rank, step, nth_operator(phase, k));
    }
    return before > 0 ? after / before : 1;
}

struct telling {
    pw_sim_range_taker *take;
    void *context;
    int64_t rank;
};

static void tell(const struct telling *t, const struct pw_row_range *range, int64_t self_ns)
{
    t->take(t->context, t->rank, range, self_ns);
}

static void tell_operator(const struct telling *t, const struct operator* op, int64_t k,
                          int64_t start, int64_t end)
{
    int64_t quarter = op->is_heavy ? (end - start) / 4 : 0;
    struct pw_row_range kernel = {
        .start = start + quarter,
        .end = end - quarter,
        .name = TEXT_GEMM,
        .category = TEXT_T_KERNEL,
        .kind = PW_KIND_OPERATOR,
        .depth = 3,
        .sequence = -1,
        .alloc_bytes = 1024,
    };
    struct pw_row_range range = {
        .start = start,
        .end = end,
        .name = op->name,
        .category = op->type,
        .kind = (uint8_t)op->kind,
        .depth = 2,
        .sequence = -1,
        .shapes = TEXT_SHAPE_0 + (uint32_t)(k % 3),
        .alloc_bytes = 4096 * (k + 1) + (op->is_heavy ? 1024 : 0),
    };
    if (op->is_heavy)
        tell(t, &kernel, kernel.end - kernel.start);
    tell(t, &range, op->is_heavy ? 2 * quarter : end - start);
}

void pw_sim_operators_tell(const struct pw_sim_params *p, const struct pw_sim_piece *piece,
                           pw_sim_range_taker *take, void *context)
{
    const int64_t rank = piece->rank, step = piece->step;
    const int64_t start = piece->start, end = piece->end;
    const enum pw_phase phase = piece->phase;
    struct telling t = {take, context, rank};
    int64_t length = (end - start) / 100 * 98, at = start + (end - start) / 100, alloc = 0;
    double all = 0, done = 0;
    if (end - start < SHORTEST_NS * p->operators || !nth_operator(phase, 0) || !p->operators)
        return;
    for (int64_t k = 0; k < p->operators; k++)
        all += weight_of(p, 0, rank, step, nth_operator(phase, k));
    struct pw_row_range frame = {.start = at, .name = TEXT_FRAME, .kind = PW_KIND_FUNCTION};
    frame.depth = 1;
    frame.sequence = -1;
    for (int64_t k = 0; k < p->operators; k++) {
        const struct operator* op = nth_operator(phase, k);
        done += weight_of(p, 0, rank, step, op);
        int64_t next = frame.start + (int64_t)((double)length * (done / all));
        tell_operator(&t, op, k, at, next);
        alloc += 4096 * (k + 1) + (op->is_heavy ? 1024 : 0);
        at = next;
    }
    frame.end = at;
    frame.alloc_bytes = alloc;
    tell(&t, &frame, 0);
    struct pw_row_range block = {.start = start, .end = end, .name = TEXT_BLOCK};
    block.kind = PW_KIND_USER;
    block.sequence = -1;
    block.alloc_bytes = alloc;
    tell(&t, &block, end - start - (at - frame.start));
}
