/* Writes metrics from a table with one row per metric; see liveview.h. */
#include "report/live/liveview.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>

#include "core/ops.h"
#include "core/tables.h"
#include "report/writing/safenames.h"

enum kind { COUNT, NS, FLAG };

static int64_t get_communicates(const struct pw_live *live)
{
    return live->mpi_ns < 0 ? -1 : live->mpi_ns > 0;
}

static int64_t get_recording(const struct pw_live *live)
{
    return live->recording != 0;
}

static int64_t get_unrecorded(const struct pw_live *live)
{
    return live->unrecorded != 0;
}

/* Returns how long the rank has been in its call, ns; 0 between calls. */
static int64_t get_call(const struct pw_live *live)
{
    const struct pw_live_thread *thread = pw_live_main(live);
    return thread && thread->op != PW_OP_None ? thread->since_ns : 0;
}

#define AT(field) offsetof(struct pw_live, field)

/* The metrics. Names of counters get the suffix "_total"; names of times end in "seconds", their
 * unit. */
static const struct metric {
    const char *name;
    int is_counter;
    enum kind kind;
    size_t offset; /* of an int64_t in struct pw_live; a negative value is not known */
    int64_t (*get)(const struct pw_live *live); /* used instead, unless NULL */
    const char *help;
} metrics[] = {
    {"profwrap_steps", 1, COUNT, AT(steps), NULL, "Steps that have ended."},
    {"profwrap_steps_seconds", 1, NS, AT(steps_ns), NULL, "Time in the steps that have ended."},
    {"profwrap_current_step", 0, COUNT, AT(step), NULL, "Number of the step that the rank is in."},
    {"profwrap_step_seconds", 0, NS, AT(step_last_ns), NULL, "Length of the last step."},
    {"profwrap_step_mean_seconds", 0, NS, AT(step_mean_ns), NULL,
     "Mean length of the last 32 steps."},
    {"profwrap_step_mpi_seconds", 0, NS, AT(step_mpi_ns), NULL,
     "Mean time inside MPI calls in the last 32 steps."},
    {"profwrap_mpi_seconds", 1, NS, AT(mpi_ns), NULL,
     "Time inside MPI calls that have ended, of all threads together."},
    {"profwrap_call_seconds", 0, NS, 0, get_call,
     "Time since the rank entered its current MPI call; 0 between calls."},
    {"profwrap_communication_recorded", 0, FLAG, 0, get_communicates,
     "Whether any communication of the rank was recorded since its start."},
    {"profwrap_events", 1, COUNT, AT(events), NULL, "Records that the collector has processed."},
    {"profwrap_dropped_events", 1, COUNT, AT(dropped), NULL, "Events that were lost, and counted."},
    {"profwrap_recording", 0, FLAG, 0, get_recording, "Whether the rank is being recorded."},
    {"profwrap_mpi_unrecorded", 0, FLAG, 0, get_unrecorded,
     "Whether the rank is known to use MPI without its calls being recorded."},
};
enum { METRICS = sizeof(metrics) / sizeof(metrics[0]) };

/* Whether the metric is left out for a rank whose communication is not recorded: 0 would mean that
 * it does not communicate. */
static int is_of_communication(const struct metric *m)
{
    return !m->get && (m->offset == AT(step_mpi_ns) || m->offset == AT(mpi_ns));
}

static int64_t value_of(const struct metric *m, const struct pw_live *live)
{
    return m->get ? m->get(live) : *(const int64_t *)(const void *)((const char *)live + m->offset);
}

static void print_value(FILE *out, enum kind kind, int64_t value)
{
    if (kind == NS) /* with integers, so that neither locale nor rounding matters */
        fprintf(out, "%" PRId64 ".%09" PRId64 "\n", value / 1000000000, value % 1000000000);
    else
        fprintf(out, "%" PRId64 "\n", value);
}

static void print_head(FILE *out, const char *name, const char *type, int has_unit,
                       const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
    if (has_unit)
        fprintf(out, "# UNIT %s seconds\n", name);
}

/* Several ranks, of which no communication was recorded. */
static int is_silent(const struct pw_live_view *view)
{
    for (size_t i = 0; i < view->n; i++)
        if (get_communicates(&view->ranks[i]) != 0) /* -1: not known */
            return 0;
    return view->n + view->nsilent > 1;
}

static void print_metric(FILE *out, const struct metric *m, const struct pw_live_view *view)
{
    print_head(out, m->name, m->is_counter ? "counter" : "gauge", m->kind == NS, m->help);
    for (size_t i = 0; i < view->n; i++) {
        int64_t value = value_of(m, &view->ranks[i]);
        if (value < 0 || (is_of_communication(m) && is_silent(view)))
            continue;
        fprintf(out, "%s%s{rank=\"%" PRId32 "\"} ", m->name, m->is_counter ? "_total" : "",
                view->ranks[i].rank);
        print_value(out, m->kind, value);
    }
}

/* Prints the value of a label. Quotes, backslashes and newlines are escaped; characters that
 * control a terminal are replaced. */
static void print_label(FILE *out, const char *text, size_t size)
{
    char safe[4 * PW_LIVE_NAME];
    for (const char *c = pw_names_printable(safe, sizeof(safe), text, size); *c; c++) {
        if (*c == '"' || *c == '\\')
            fputc('\\', out);
        fputc(*c, out);
    }
}

static void print_info(FILE *out, const struct pw_live_view *view)
{
    print_head(out, "profwrap_rank", "info", 0, "Where the rank runs.");
    for (size_t i = 0; i < view->n; i++) {
        const struct pw_live *live = &view->ranks[i];
        fprintf(out, "profwrap_rank_info{rank=\"%" PRId32 "\",host=\"", live->rank);
        print_label(out, live->hostname, sizeof(live->hostname));
        fprintf(out, "\",pid=\"%" PRId64 "\"} 1\n", live->pid);
    }
}

/* Prints a value for each rank that is in an alarm now: `of_alarm` is the offset of a double, ns.
 */
static void print_alarms(FILE *out, const char *name, size_t of_alarm, const char *help,
                         const struct pw_livealarms *alarms)
{
    size_t n;
    const struct pw_livealarm *one = pw_livealarms_borrow(alarms, &n);
    print_head(out, name, "gauge", 1, help);
    for (size_t i = 0; i < n; i++) {
        if (one[i].ended)
            continue;
        fprintf(out, "%s{rank=\"%" PRId32 "\"} ", name, one[i].rank);
        print_value(out, NS,
                    (int64_t) * (const double *)(const void *)((const char *)&one[i] + of_alarm));
    }
}

/* Phase and cause are of their own: they are known later, and a label that changes makes another
 * series. */
static void print_alarm_info(FILE *out, const struct pw_livealarms *alarms)
{
    size_t n;
    const struct pw_livealarm *one = pw_livealarms_borrow(alarms, &n);
    print_head(out, "profwrap_slow_rank", "info", 0,
               "In which phase a slow rank is slow, and why.");
    for (size_t i = 0; i < n; i++)
        if (!one[i].ended)
            fprintf(out,
                    "profwrap_slow_rank_info{rank=\"%" PRId32 "\",phase=\"%s\",cause=\"%s\"} 1\n",
                    one[i].rank, pw_enum_name(PW_F_PHASE, one[i].phase),
                    pw_enum_name(PW_F_CAUSE, one[i].cause));
}

/* What is said of slow ranks is left out while it is not known who is slow: 0 means that none is.
 */
static void print_slow_ranks(FILE *out, const struct pw_livealarms *alarms)
{
    const struct pw_livealarms_state state = pw_livealarms_state(alarms, time(NULL));
    print_head(out, "profwrap_compared_steps", "counter", 0,
               "Steps in which the ranks were compared to find slow ones.");
    fprintf(out, "profwrap_compared_steps_total %" PRId64 "\n", state.tested);
    if (!state.tested || state.is_idle || state.is_silent)
        return;
    print_head(out, "profwrap_slow_ranks", "gauge", 0, "Ranks that are slow now.");
    fprintf(out, "profwrap_slow_ranks %zu\n", state.nslow);
    print_alarm_info(out, alarms);
    print_alarms(out, "profwrap_slow_rank_excess_seconds", offsetof(struct pw_livealarm, excess_ns),
                 "Mean own work of a slow rank in a step beyond that of the others.", alarms);
    print_alarms(out, "profwrap_slow_rank_cost_seconds", offsetof(struct pw_livealarm, cost_ns),
                 "What a slow rank has cost the job since it became slow.", alarms);
}

int pw_openmetrics_print(const struct pw_live_view *view, const struct pw_livealarms *alarms,
                         FILE *out)
{
    print_info(out, view);
    print_head(out, "profwrap_ranks", "gauge", 0, "Running ranks, by whether they answered.");
    fprintf(out, "profwrap_ranks{answered=\"yes\"} %zu\nprofwrap_ranks{answered=\"no\"} %zu\n",
            view->n, view->nsilent);
    for (int i = 0; i < METRICS; i++)
        print_metric(out, &metrics[i], view);
    if (alarms)
        print_slow_ranks(out, alarms);
    fprintf(out, "# EOF\n");
    return ferror(out) ? -EIO : 0;
}
