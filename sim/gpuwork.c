/* Divides a piece of work into kernels by a table of weights; see gpuwork.h. */
#include "sim/gpuwork.h"

#include "sim/filetexts.h"
#include "sim/play.h"

/* LEAD: how far the host is ahead; LATE: how late it is with a fault; GAP: time between kernels.
 * Work shorter than SHORTEST is one kernel. */
enum { LEAD_NS = 100000, LATE_NS = 5000, GAP_NS = 2000, SHORTEST_NS = 100000 };

static const struct kernel {
    enum pw_phase phase;
    uint32_t name, launched_by;
    int weight;
    int32_t grid;
} kernels[] = {
    {PW_PHASE_FORWARD, TEXT_K_GEMM, TEXT_CONV, 8, 512},
    {PW_PHASE_FORWARD, TEXT_K_POINT, TEXT_RELU, 1, 2048},
    {PW_PHASE_FORWARD, TEXT_K_ATTENTION, TEXT_ATTENTION, 10, 256},
    {PW_PHASE_FORWARD, TEXT_K_NORM, TEXT_NORM, 2, 1024},
    {PW_PHASE_FORWARD, TEXT_K_GEMM, TEXT_LINEAR, 5, 128},
    {PW_PHASE_BACKWARD, TEXT_K_GEMM, TEXT_LINEAR_B, 10, 256},
    {PW_PHASE_BACKWARD, TEXT_K_NORM, TEXT_NORM_B, 4, 1024},
    {PW_PHASE_BACKWARD, TEXT_K_ATTENTION, TEXT_ATTENTION_B, 20, 512},
    {PW_PHASE_BACKWARD, TEXT_K_POINT, TEXT_RELU_B, 2, 4096},
    {PW_PHASE_BACKWARD, TEXT_K_GEMM, TEXT_CONV_B, 16, 1024},
    {PW_PHASE_OPTIMIZER, TEXT_K_ADAM, TEXT_ADAM, 3, 320},
    {PW_PHASE_OPTIMIZER, TEXT_K_POINT, TEXT_ADAM, 1, 64},
};
enum { KERNELS = sizeof(kernels) / sizeof(kernels[0]) };

static int is_late(const struct pw_sim_params *p, int64_t rank, int64_t step)
{
    for (size_t i = 0; i < p->nfaults; i++)
        if (p->faults[i].kind == PW_SIM_HOST_BOUND &&
            pw_sim_fault_hits(p, &p->faults[i], rank, step))
            return 1;
    return 0;
}

int64_t pw_sim_gpu_lead(const struct pw_sim_params *p, int64_t rank, int64_t step)
{
    return is_late(p, rank, step) ? LATE_NS : LEAD_NS;
}

double pw_sim_gpu_growth(const struct pw_sim_params *p, uint32_t without, int64_t rank,
                         int64_t step, enum pw_phase phase)
{
    double growth = 1;
    for (size_t i = 0; i < p->nfaults; i++)
        if (p->faults[i].kind == PW_SIM_SLOW_GPU && !(without >> i & 1) && phase != PW_PHASE_DATA &&
            pw_sim_fault_hits(p, &p->faults[i], rank, step))
            growth += p->faults[i].percent / 100;
    return growth;
}

/* Returns the time in which the GPU is idle in a piece of work because the host launches late. */
static int64_t dry_ns(const struct pw_sim_params *p, int64_t rank, int64_t step,
                      enum pw_phase phase)
{
    double dry = 0;
    int64_t pieces = phase == PW_PHASE_BACKWARD && p->collectives > 0 ? p->collectives : 1;
    for (size_t i = 0; i < p->nfaults; i++)
        if (p->faults[i].kind == PW_SIM_HOST_BOUND && p->faults[i].phase == phase &&
            pw_sim_fault_hits(p, &p->faults[i], rank, step))
            dry += p->faults[i].percent / 100 * (double)p->step_ns / (double)pieces;
    return (int64_t)dry;
}

struct kernels_of_phase {
    const struct kernel *first;
    int64_t n, weight;
};

static struct kernels_of_phase kernels_of(enum pw_phase phase)
{
    struct kernels_of_phase of = {kernels, 0, 0};
    while (of.first < kernels + KERNELS && of.first->phase != phase)
        of.first++;
    while (of.first + of.n < kernels + KERNELS && of.first[of.n].phase == phase)
        of.weight += of.first[of.n++].weight;
    return of;
}

/* The phase data: the GPU is idle for half of it, then a batch is copied. */
static void tell_data(const struct pw_sim_piece *work, int64_t lead, pw_sim_gpu_taker *take,
                      void *context)
{
    int64_t middle = work->start + (work->end - work->start) / 2;
    struct pw_sim_gpu_event copy = {
        .is_copy = 1, .start = middle, .end = work->end, .launch = middle - lead};
    copy.launched_by = TEXT_COPY_OP;
    take(context, work->rank, &copy);
}

void pw_sim_gpu_tell(const struct pw_sim_params *p, const struct pw_sim_piece *work,
                     pw_sim_gpu_taker *take, void *context)
{
    struct kernels_of_phase of = kernels_of(work->phase);
    int64_t lead = pw_sim_gpu_lead(p, work->rank, work->step);
    int64_t dry = dry_ns(p, work->rank, work->step, work->phase);
    if (work->phase == PW_PHASE_DATA)
        tell_data(work, lead, take, context);
    if (!of.n)
        return;
    int64_t on_gpu = work->end - work->start - dry;
    if (on_gpu < SHORTEST_NS)
        of.n = 1, of.weight = of.first->weight;
    int64_t busy = on_gpu - GAP_NS * (of.n - 1), at = work->start, done = 0;
    for (int64_t k = 0; k < of.n; k++) {
        const struct kernel *kernel = &of.first[k];
        int64_t began = busy * done / of.weight;
        done += kernel->weight;
        at += dry / of.n + (k ? GAP_NS : 0);
        struct pw_sim_gpu_event event = {
            .start = at,
            .end = at + busy * done / of.weight - began,
            .launch = at - lead,
            .name = kernel->name,
            .launched_by = kernel->launched_by,
            .grid = kernel->grid,
        };
        take(context, work->rank, &event);
        at = event.end;
    }
}
