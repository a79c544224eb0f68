/* What sections of the text report lack: a section without data says so only where the user asks
 * for it, and the list at the end of the report says how to get what is not known. See sections.h.
 */
#include <string.h>

#include "analysis/advice/calls.h"
#include "report/content/operatorlist.h"
#include "report/content/runsummary.h"
#include "report/text/sections.h"
#include "report/writing/page.h"

static const char mark_parts[] =
    "Name parts of a step with profwrap_range_push() and _pop() of profwrap.h.";
static const char sample[] = "Record with --sample-hz above 0.";

struct pw_lack pw_lack_clocks(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    size_t several = 0;
    for (size_t r = 0; r < c->nclocks; r++)
        several |= c->clocks[r].domain > 0;
    return several      ? (struct pw_lack){0}
           : c->nclocks ? (struct pw_lack){"All ranks are on one clock.", NULL}
                        : (struct pw_lack){"Not known: this cluster file does not say.", NULL};
}

struct pw_lack pw_lack_steps(const struct pw_figures *f)
{
    if (f->measured)
        return (struct pw_lack){0};
    return (struct pw_lack){"No steps are known.",
                            "Call profwrap_step(n) of profwrap.h, or MPI_Pcontrol(10), at the "
                            "start of each iteration."};
}

struct pw_lack pw_lack_phases(const struct pw_figures *f)
{
    static const char none[] = "No phases are marked.";
    if (f->measured && pw_phases_are_known(f))
        return (struct pw_lack){0};
    if (!pw_figures_advice(f).is_training)
        return (struct pw_lack){none, mark_parts};
    return (struct pw_lack){none, "Mark data, forward, backward, allreduce and optimizer with "
                                  "profwrap_phase() of profwrap.h."};
}

struct pw_lack pw_lack_operators(const struct pw_figures *f)
{
    struct pw_optotals totals;
    pw_operators_totals(f->cluster, &totals);
    return totals.names ? (struct pw_lack){0} : (struct pw_lack){"None were recorded.", mark_parts};
}

struct pw_lack pw_lack_kernels(const struct pw_figures *f)
{
    return f->cluster->nkernels ? (struct pw_lack){0}
                                : (struct pw_lack){"None were recorded.", NULL};
}

struct pw_lack pw_lack_collectives(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    if (c->ncollective_stats)
        return (struct pw_lack){0};
    if (c->ncollectives)
        return (struct pw_lack){"None was recorded by all its members, so waits and bandwidth are "
                                "not known.",
                                NULL};
    if (pw_figures_advice(f).verdict.nccl.unmatched)
        return (struct pw_lack){"Which ranks the kernels of communication are of is not known, and "
                                "so are waits and bandwidth.",
                                NULL};
    return (struct pw_lack){
        "None were recorded.",
        f->expected > 1 && !c->np2p ? "If ranks communicate, record it: see --activities." : NULL};
}

struct pw_lack pw_lack_p2p(const struct pw_figures *f)
{
    return f->cluster->np2p ? (struct pw_lack){0} : (struct pw_lack){"None were recorded.", NULL};
}

struct pw_lack pw_lack_whatif(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    if ((c->nwhatif && !f->has_silent_ranks) || c->nhosts_slow || c->nnetwork || c->nlinks_slow)
        return (struct pw_lack){0};
    if (f->has_silent_ranks)
        return (struct pw_lack){"Not replayed: it needs the communication of all ranks, which was "
                                "not recorded.",
                                "See --activities."};
    return (struct pw_lack){"Not replayed: it needs steps.", NULL};
}

struct pw_lack pw_lack_efficiency(const struct pw_figures *f)
{
    if (pw_figures_efficiency(f))
        return (struct pw_lack){0};
    return f->has_silent_ranks ? (struct pw_lack){"No communication between ranks, or of some, was "
                                                  "recorded.",
                                                  "See --activities."}
                               : (struct pw_lack){"Not known: it needs measured steps.", NULL};
}

struct pw_lack pw_lack_queues(const struct pw_figures *f)
{
    static const char none[] = "No queue was sampled.";
    if (f->cluster->nqueues || f->cluster->npipeline_cpu)
        return (struct pw_lack){0};
    if (!pw_figures_advice(f).is_training)
        return (struct pw_lack){none, NULL};
    return (struct pw_lack){none, "profwrap_queue() records how full a queue is; that of "
                                  "PyTorch's DataLoader is recorded when it has workers."};
}

struct pw_lack pw_lack_utilisation(const struct pw_figures *f)
{
    return f->cluster->nutilisation ? (struct pw_lack){0}
                                    : (struct pw_lack){"Processes were not sampled.", sample};
}

struct pw_lack pw_lack_memory(const struct pw_figures *f)
{
    return f->cluster->nmemory
               ? (struct pw_lack){0}
               : (struct pw_lack){"Memory was not sampled.", f->cluster->nutilisation
                                                                 ? "Mark steps, so that it can be "
                                                                   "compared from step to step."
                                                                 : sample};
}

/* Prints a sentence with the names of calls that the program can make. */
static int print_named(const struct pw_page *page, size_t hang, const char *before,
                       const char *name, const struct pw_lack *lack)
{
    char how[192] = "";
    if (lack->how)
        strncat(how, lack->how, sizeof(how) - 1);
    pw_calls_name(page->figures->cluster, how);
    return pw_page_print(page, 2, hang, "%s%s%s%s%s", before, name, lack->reason, how[0] ? " " : "",
                         how);
}

int pw_lack_print(const struct pw_page *page, const struct pw_lack *lack)
{
    return print_named(page, 2, "", "", lack);
}

int pw_lack_list(const struct pw_page *page, const char *name, const struct pw_lack *lack)
{
    char before[64] = "";
    strncat(before, name, sizeof(before) - 3);
    strcat(before, ": ");
    return print_named(page, 4, "- ", before, lack);
}
