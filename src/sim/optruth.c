/* Plays the run once more and sums up what it hands out; see optruth.h. */
#include "sim/optruth.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "sim/clock.h"
#include "sim/play.h"
#include "sim/workranges.h"

enum { MOST_TEXTS = 64 };

struct sum {
    uint32_t type;
    uint8_t kind;
    int64_t calls, total_ns, self_ns, min_ns, max_ns, alloc_bytes;
};

struct sums {
    const struct pw_sim_params *params;
    struct sum all[MOST_TEXTS];
    int64_t *self_ns; /* [MOST_TEXTS * ranks] */
};

static void take_range(void *context, int64_t rank, const struct pw_row_range *range,
                       int64_t self_ns)
{
    struct sums *sums = context;
    struct sum *sum = &sums->all[range->name];
    int64_t ns = range->end - range->start;
    sum->min_ns = !sum->calls || ns < sum->min_ns ? ns : sum->min_ns;
    sum->max_ns = ns > sum->max_ns ? ns : sum->max_ns;
    sum->type = range->category;
    sum->kind = range->kind;
    sum->calls++;
    sum->total_ns += ns;
    sum->self_ns += self_ns;
    sum->alloc_bytes += range->alloc_bytes;
    sums->self_ns[range->name * sums->params->ranks + rank] += self_ns;
}

static void take_work(void *context, int64_t rank, int64_t step, enum pw_phase phase, int64_t start,
                      int64_t end)
{
    struct sums *sums = context;
    struct pw_sim_clock clock = pw_sim_clock_of(sums->params, rank);
    pw_sim_operators_tell(sums->params, rank, step, phase, pw_sim_local_time(&clock, start),
                          pw_sim_local_time(&clock, end), take_range, sums);
}

static void ignore_event(void *context, int64_t rank, const struct pw_row_comm_event *event)
{
    (void)context, (void)rank, (void)event;
}

static void ignore_phase(void *context, int64_t rank, enum pw_phase phase, int64_t start,
                         int64_t end)
{
    (void)context, (void)rank, (void)phase, (void)start, (void)end;
}

static void ignore_step(void *context, int64_t rank, int64_t step, int64_t start, int64_t end)
{
    (void)context, (void)rank, (void)step, (void)start, (void)end;
}

static void print_sum(FILE *out, const struct sums *sums, uint32_t name)
{
    const struct sum *sum = &sums->all[name];
    fprintf(out, "    {\"name\": \"%s\", \"type\": \"%s\", \"kind\": \"%s\", ", pw_sim_text(name),
            pw_sim_text(sum->type), pw_enum_name(PW_F_KIND, sum->kind));
    fprintf(out, "\"calls\": %" PRId64 ", \"total_ns\": %" PRId64 ", \"self_ns\": %" PRId64,
            sum->calls, sum->total_ns, sum->self_ns);
    fprintf(out, ", \"min_ns\": %" PRId64 ", \"max_ns\": %" PRId64 ", \"alloc_bytes\": %" PRId64,
            sum->min_ns, sum->max_ns, sum->alloc_bytes);
    fprintf(out, ",\n     \"rank_self_ns\": [");
    for (int64_t r = 0; r < sums->params->ranks; r++)
        fprintf(out, "%s%" PRId64, r ? ", " : "", sums->self_ns[name * sums->params->ranks + r]);
    fprintf(out, "]}");
}

int pw_sim_optruth_print(FILE *out, const struct pw_sim_params *p)
{
    struct sums *sums = calloc(1, sizeof(*sums));
    int64_t *self_ns = calloc((size_t)p->ranks * MOST_TEXTS, sizeof(*self_ns));
    struct pw_sim_sink sink = {sums,         0,         p->ranks - 1, ignore_event,
                               ignore_phase, take_work, ignore_step,  NULL};
    struct pw_sim_result result;
    const char *comma = "";
    int err = sums && self_ns ? 0 : -ENOMEM;
    if (!err) {
        sums->params = p;
        sums->self_ns = self_ns;
        err = p->operators ? pw_sim_play(p, 0, &sink, &result) : 0;
    }
    fprintf(out, "[");
    for (uint32_t name = 0; pw_sim_text(name) && !err; name++) {
        if (!sums->all[name].calls)
            continue;
        fprintf(out, "%s\n", comma);
        print_sum(out, sums, name);
        comma = ",";
    }
    fprintf(out, "]");
    free(self_ns);
    free(sums);
    return err;
}
