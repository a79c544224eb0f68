/* truth.json: what a report on the run should have found; see runwrite.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/newfile.h"
#include "sim/dataqueues.h"
#include "sim/effects.h"
#include "sim/gputruth.h"
#include "sim/kinds.h"
#include "sim/noise.h"
#include "sim/optruth.h"
#include "sim/play.h"
#include "sim/runwrite.h"
#include "sim/unequal.h"

static void print_hit_ranks(FILE *out, const struct pw_sim_params *p, const struct pw_sim_fault *f)
{
    const char *comma = "";
    fprintf(out, "\"ranks\": [");
    for (int64_t r = 0; r < p->ranks; r++)
        if (pw_sim_fault_on_rank(p, f, r)) {
            fprintf(out, "%s%" PRId64, comma, r);
            comma = ", ";
        }
    fprintf(out, "]");
}

static int is_stop(const struct pw_sim_fault *f)
{
    enum pw_sim_how how = pw_sim_kind_of(f->kind)->how;
    return how == PW_SIM_STOPS || how == PW_SIM_STOPS_ONCE;
}

/* Where they are not declared but come of times: the steps that were hit. */
static void print_hit_steps(FILE *out, const struct pw_sim_params *p, const struct pw_sim_fault *f,
                            const struct pw_sim_effect *effect)
{
    int64_t rank = f->kind == PW_SIM_SLOW_HOST ? f->host * p->ranks_per_host : f->rank;
    const char *comma = "";
    fprintf(out, "\"steps\": [");
    for (int64_t s = 0; s < p->steps; s++)
        if (is_stop(f) ? effect->steps[s] : pw_sim_fault_hits(p, f, rank < 0 ? 0 : rank, s)) {
            fprintf(out, "%s%" PRId64, comma, s);
            comma = ", ";
        }
    fprintf(out, "]");
}

static void print_advice(FILE *out, const struct pw_sim_params *p, const struct pw_sim_fault *f)
{
    const char *slowest = p->queues ? pw_sim_queue_slowest(f->kind) : NULL;
    if (slowest)
        fprintf(out, ", \"advice\": \"%s\", \"slowest\": \"%s\"",
                f->kind == PW_SIM_SLOW_TRANSFER ? "data_transfer_slow" : "data_processing_slow",
                slowest);
}

static int print_fault(FILE *out, const struct pw_sim_params *p, size_t i, int64_t elapsed,
                       const struct pw_sim_effect *effect)
{
    const struct pw_sim_fault *f = &p->faults[i];
    const struct pw_sim_kind *kind = pw_sim_kind_of(f->kind);
    struct pw_sim_result without;
    int err = pw_sim_play(p, (uint32_t)1 << i, NULL, &without);
    if (err)
        return err;
    fprintf(out, "%s    {\"kind\": \"%s\", ", i ? ",\n" : "\n", kind->name);
    print_hit_ranks(out, p, f);
    fprintf(out, ", \"rank\": %" PRId64 ", \"peer\": %" PRId64 ", \"host\": %" PRId64, f->rank,
            f->peer, f->host);
    fprintf(out, ", \"first_step\": %" PRId64 ", \"last_step\": %" PRId64 ",\n     ", f->first,
            f->last);
    print_hit_steps(out, p, f, effect);
    fprintf(out, ",\n     \"phase\": \"%s\", \"percent\": %.6g, \"extra_ns\": %.0f",
            pw_enum_name(PW_F_PHASE, f->phase), f->percent, f->percent / 100 * (double)p->step_ns);
    if (f->kind == PW_SIM_SLOW_OPERATOR)
        fprintf(out, ", \"operator\": \"%s\", \"factor\": %.6g", f->name, f->factor);
    print_advice(out, p, f);
    fprintf(out, ", \"gain_ns\": %" PRId64 ",\n     ", elapsed - without.elapsed_ns);
    fprintf(out, "\"scope\": \"%s\", \"part\": \"%s\", \"cause\": \"%s\", \"lost_ns\": %" PRId64,
            pw_sim_scope_name(pw_sim_scope_of(f)), pw_sim_part_of(f), kind->cause,
            elapsed - without.elapsed_ns);
    fprintf(out, ", \"start_ns\": %" PRId64 ", \"end_ns\": %" PRId64 ", \"held_ns\": %" PRId64 "}",
            effect->start_ns, effect->end_ns, effect->held_ns);
    return 0;
}

static int print_faults(FILE *out, const struct pw_sim_params *p, int64_t elapsed)
{
    struct pw_sim_effect effects[PW_SIM_FAULTS];
    int err = pw_sim_effects_play(p, effects);
    fprintf(out, "  \"faults\": [");
    for (size_t i = 0; i < p->nfaults && !err; i++)
        err = print_fault(out, p, i, elapsed, &effects[i]);
    fprintf(out, "%s],\n", p->nfaults ? "\n  " : "");
    pw_sim_effects_free(p, effects);
    return err;
}

static int print_truth(FILE *out, const struct pw_sim_params *p)
{
    struct pw_sim_result with, without;
    int err = pw_sim_play(p, 0, NULL, &with);
    err = err ? err : pw_sim_play(p, UINT32_MAX, NULL, &without);
    if (err)
        return err;
    fprintf(out, "{\n  \"seed\": %" PRIu64 ",\n  \"pattern\": \"%s\",\n", p->seed,
            pw_sim_pattern_name(p->pattern));
    fprintf(out, "  \"ranks\": %" PRId64 ",\n  \"steps\": %" PRId64 ",\n", p->ranks, p->steps);
    fprintf(out, "  \"collectives\": %" PRId64 ",\n  \"ranks_per_host\": %" PRId64 ",\n",
            p->collectives, p->ranks_per_host);
    fprintf(out, "  \"noise_all\": %.6g,\n", pw_sim_noise_all(p));
    fprintf(out, "  \"noise\": %.6g,\n  \"step_work_ns\": %" PRId64 ",\n", p->noise, p->step_ns);
    fprintf(out, "  \"ends_work_ns\": %" PRId64 ",\n", p->ends_ns);
    fprintf(out, "  \"elapsed_ns\": %" PRId64 ",\n  \"elapsed_without_faults_ns\": %" PRId64 ",\n",
            with.elapsed_ns, without.elapsed_ns);
    err = print_faults(out, p, with.elapsed_ns);
    fprintf(out, "  \"design\": ");
    err = err ? err : pw_sim_unequal_print(out, p, with.elapsed_ns);
    fprintf(out, ",\n  \"operators\": ");
    err = err ? err : pw_sim_optruth_print(out, p);
    fprintf(out, ",\n  \"gpu\": ");
    err = err ? err : pw_sim_gputruth_print(out, p);
    fprintf(out, "\n}\n");
    return err;
}

int pw_sim_write_truth(const char *dir, const struct pw_sim_params *p, char *problem, size_t size)
{
    char path[4096];
    snprintf(path, sizeof(path), "%.4000s/truth.json", dir);
    struct pw_newfile file;
    int err = pw_newfile_open(path, 0600, &file);
    if (!err)
        err = pw_newfile_close(&file, print_truth(file.out, p));
    if (err)
        snprintf(problem, size, "cannot write %.200s: %s", path, strerror(-err));
    return err;
}
