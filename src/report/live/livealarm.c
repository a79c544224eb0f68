/* Aligns the ranks' steps by their numbers, and keeps alarms; see livealarm.h. */
#include "report/live/livealarm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/alarm.h"
#include "analysis/cause.h"
#include "analysis/statistics.h"
#include "core/live.h"
#include "core/tables.h"
#include "core/text.h"
#include "report/writing/json_row.h"

/* ---- why a rank is slow: the kernel's counters of all ranks at the last answers, and the cause
 * that analysis/cause.h finds in them, as the report of the whole run does ---- */

enum { LIVECAUSE_LOOKS = 16 };

/* A rank at an answer: its counters, and the sums over the steps until then. */
struct livecause_look {
    struct pw_live_usage usage;
    double own_ns, total_ns;
};

struct livecause {
    size_t nranks;
    struct livecause_look *looks;   /* [LIVECAUSE_LOOKS * nranks] */
    int64_t steps[LIVECAUSE_LOOKS]; /* the last step of each look */
    int64_t nlooks;
    struct pw_usage *usage; /* [nranks] */
    int64_t *scratch;
};

static void livecause_fini(struct livecause *c)
{
    free(c->looks);
    free(c->usage);
    free(c->scratch);
    *c = (struct livecause){0};
}

/* Returns 0 or -ENOMEM. */
static int livecause_init(struct livecause *c, size_t nranks)
{
    *c = (struct livecause){.nranks = nranks};
    c->looks = calloc(LIVECAUSE_LOOKS * nranks, sizeof(*c->looks));
    c->usage = calloc(nranks, sizeof(*c->usage));
    c->scratch = calloc(nranks, sizeof(*c->scratch));
    if (c->looks && c->usage && c->scratch)
        return 0;
    livecause_fini(c);
    return -ENOMEM;
}

/* Forgets all looks. */
static void livecause_restart(struct livecause *c)
{
    c->nlooks = 0;
}

static struct livecause_look *look_at(const struct livecause *c, int64_t i)
{
    return &c->looks[(size_t)(i % LIVECAUSE_LOOKS) * c->nranks];
}

/* Begins the next look, whose last step is `step`. Returns its ranks, which the caller fills: usage
 * and sums since the restart. A rank that is not filled is not known in it. */
static struct livecause_look *livecause_add(struct livecause *c, int64_t step)
{
    struct livecause_look *look = look_at(c, c->nlooks);
    c->steps[c->nlooks++ % LIVECAUSE_LOOKS] = step;
    for (size_t r = 0; r < c->nranks; r++)
        look[r] = (struct livecause_look){.usage = {.samples = -1}};
    return look;
}

static int64_t grown(int64_t before, int64_t after)
{
    return before < 0 || after < before ? -1 : after - before;
}

static struct pw_usage usage_between(const struct livecause_look *a, const struct livecause_look *b)
{
    if (a->usage.samples < 0 || b->usage.samples < 0)
        return (struct pw_usage){.own_ns = -1, .total_ns = -1, .cpu_ns = -1};
    return (struct pw_usage){
        .own_ns = (int64_t)(b->own_ns - a->own_ns),
        .total_ns = (int64_t)(b->total_ns - a->total_ns),
        .cpu_ns = grown(a->usage.cpu_ns, b->usage.cpu_ns),
        .runq_ns = grown(a->usage.runq_ns, b->usage.runq_ns),
        .throttled_ns = -1,
        .involuntary_cs = grown(a->usage.involuntary_cs, b->usage.involuntary_cs),
        .major_faults = grown(a->usage.major_faults, b->usage.major_faults),
        .io_bytes = grown(a->usage.io_bytes, b->usage.io_bytes),
        .child_faults = grown(a->usage.child_faults, b->usage.child_faults),
        .samples = grown(a->usage.samples, b->usage.samples),
    };
}

/* The cause of a rank that is slow in `phase` since the step `first`, from the looks since then. */
static enum pw_cause livecause_find(struct livecause *c, size_t rank, enum pw_phase phase,
                                    int64_t first)
{
    const int64_t last = c->nlooks - 1;
    const int64_t oldest = c->nlooks > LIVECAUSE_LOOKS ? c->nlooks - LIVECAUSE_LOOKS : 0;
    int64_t from = oldest;
    while (from < last && c->steps[from % LIVECAUSE_LOOKS] + 1 < first)
        from++;
    if (from >= last)
        return PW_CAUSE_UNKNOWN;
    for (size_t r = 0; r < c->nranks; r++)
        c->usage[r] = usage_between(&look_at(c, from)[r], &look_at(c, last)[r]);
    return pw_cause_find(c->usage, c->nranks, rank, phase, c->scratch).cause;
}

/* ---- who is slow ---- */

/* WINDOW: steps that are kept, judged or not. A rank that is further behind than WAIT steps is not
 * waited for. PHASE_STEPS: first steps of an alarm, from which its phase and cause are found;
 * CAUSE_LOOKS: looks in which a cause is looked for in vain. After IDLE_S, and IDLE_STEPS times the
 * length of a step, without a step the program has no steps; after SILENT_STEPS without
 * communication it has none. After TELL_S, an alarm is told without its cause. */
enum {
    WINDOW = 256,
    WAIT = 192,
    PHASE_STEPS = 64,
    CAUSE_LOOKS = 8,
    MOST_ALARMS = 64,
    IDLE_S = 60,
    IDLE_STEPS = 3,
    TELL_S = 5,
    SILENT_STEPS = 32
};

/* A rank in a step, ns; own_ns -1: not known. Floats, because there are WINDOW of them for each
 * rank. */
struct cell {
    float ns, own_ns, phase_ns[PW_LIVE_PHASES];
};

struct pw_livealarms {
    double per_day;
    size_t nranks;
    struct pw_alarm test;
    void *memory;       /* of the test */
    struct cell *cells; /* [WINDOW * nranks]: step s is row s % WINDOW */
    int64_t *reached;   /* [nranks] last step of each rank; -1 none */
    int64_t *own;       /* [nranks] scratch, as the next one */
    int64_t *others;
    float *phases; /* [PW_LIVE_PHASES * nranks] time in steps phases_from .. phases_until - 1 */
    double usual_ns[PW_LIVE_PHASES]; /* of these: median of the ranks in no alarm, a step */
    int64_t phases_from, phases_until;
    char (*hostnames)[PW_LIVE_NAME];
    struct livecause cause;
    struct sums {
        double own_ns, total_ns;
    } * sums;            /* [nranks] of the steps that were judged */
    int64_t next;        /* first step that is not judged; -1: none has come */
    int64_t first;       /* first step in `cells` */
    time_t last_step_at; /* 0: none yet */
    int nsilent;         /* steps without communication since the last with it */
    struct pw_livealarm alarms[MOST_ALARMS];
    size_t nalarms;
};

struct pw_livealarms *pw_livealarms_create(double per_day)
{
    struct pw_livealarms *a = calloc(1, sizeof(*a));
    if (a) {
        a->per_day = per_day;
        a->next = a->first = -1;
    }
    return a;
}

static void forget(struct pw_livealarms *a)
{
    free(a->memory);
    free(a->cells);
    free(a->reached);
    free(a->own);
    free(a->others);
    free(a->phases);
    free(a->hostnames);
    free(a->sums);
    livecause_fini(&a->cause);
    a->sums = NULL;
    a->memory = a->cells = NULL;
    a->reached = a->own = a->others = NULL;
    a->phases = NULL;
    a->hostnames = NULL;
    a->nranks = 0;
}

void pw_livealarms_destroy(struct pw_livealarms *a)
{
    if (!a)
        return;
    forget(a);
    free(a);
}

static void end_alarm(struct pw_livealarm *alarm, time_t now)
{
    if (!alarm->ended)
        alarm->ended = now;
}

/* Begins with other ranks or other numbers of steps. Alarms end, because they are no longer
 * tested. */
static int start(struct pw_livealarms *a, size_t nranks, time_t now)
{
    for (size_t i = 0; i < a->nalarms; i++)
        end_alarm(&a->alarms[i], now);
    a->next = a->first = a->phases_from = -1;
    if (nranks != a->nranks) {
        forget(a);
        a->memory = malloc(pw_alarm_size(nranks));
        a->cells = calloc(WINDOW * nranks, sizeof(*a->cells));
        a->reached = calloc(nranks, sizeof(*a->reached));
        a->own = calloc(nranks, sizeof(*a->own));
        a->others = calloc(nranks, sizeof(*a->others));
        a->phases = calloc(PW_LIVE_PHASES * nranks, sizeof(*a->phases));
        a->hostnames = calloc(nranks, sizeof(*a->hostnames));
        a->sums = calloc(nranks, sizeof(*a->sums));
        if (!a->memory || !a->cells || !a->reached || !a->own || !a->others || !a->phases ||
            !a->hostnames || !a->sums || livecause_init(&a->cause, nranks)) {
            forget(a);
            return -ENOMEM;
        }
        a->nranks = nranks;
    }
    for (size_t r = 0; r < nranks; r++)
        a->reached[r] = -1;
    livecause_restart(&a->cause);
    const struct pw_alarm_setup setup = {nranks, nranks, a->per_day, PW_ALARM_DELTA};
    pw_alarm_init(&a->test, &setup, a->memory);
    return 0;
}

int64_t pw_livealarms_after(const struct pw_livealarms *a)
{
    return a->next < 0 ? -1 : a->next - 1;
}

/* ---- steps ---- */

static struct cell *row_of(const struct pw_livealarms *a, int64_t step)
{
    return &a->cells[(size_t)(step % WINDOW) * a->nranks];
}

/* Makes room for steps up to `step`. */
static void make_room(struct pw_livealarms *a, int64_t *end, int64_t step)
{
    for (; *end <= step; (*end)++) {
        struct cell *row = row_of(a, *end);
        for (size_t r = 0; r < a->nranks; r++)
            row[r] = (struct cell){.own_ns = -1};
    }
}

static void add_step(struct pw_livealarms *a, const struct pw_live *rank,
                     const struct pw_live_step *step)
{
    struct cell *cell = &row_of(a, step->step)[rank->rank];
    cell->ns = (float)step->ns;
    if (rank->unrecorded == PW_UNRECORDED_NONE)
        cell->own_ns = (float)(step->ns - step->mpi_ns);
    for (int p = 0; p < PW_LIVE_PHASES; p++)
        cell->phase_ns[p] = (float)step->phase_ns[p];
}

/* The number of steps that an answer has of the present numbers: those of earlier numbers are not
 * below the step that the rank is in. */
static size_t present_steps(const struct pw_live *rank)
{
    size_t n = rank->nlast_steps;
    while (n && rank->step >= 0 && rank->last_steps[n - 1].step >= rank->step)
        n--;
    return n;
}

/* The step from which all ranks have steps, and the last step of any. */
static void find_range(const struct pw_live *ranks, size_t n, int64_t *first, int64_t *last)
{
    *first = *last = -1;
    for (size_t i = 0; i < n; i++) {
        const size_t present = present_steps(&ranks[i]);
        if (!present)
            continue;
        const int64_t begins = ranks[i].last_steps[0].step;
        const int64_t ends = ranks[i].last_steps[present - 1].step;
        *first = begins > *first ? begins : *first;
        *last = ends > *last ? ends : *last;
    }
}

/* Puts the answers into the rows. Returns the end of the steps that came. */
static int64_t add_steps(struct pw_livealarms *a, const struct pw_live *ranks, size_t n)
{
    int64_t first, last, end = a->next;
    find_range(ranks, n, &first, &last);
    if (last < 0)
        return a->next;
    if (a->next < 0 || last - a->next >= WINDOW) {
        a->next = first > last - WINDOW ? first : last - WINDOW + 1;
        a->first = end = a->next;
    }
    make_room(a, &end, last);
    a->first = end - WINDOW > a->first ? end - WINDOW : a->first;
    for (size_t i = 0; i < n; i++) {
        const struct pw_live *rank = &ranks[i];
        const size_t present = present_steps(rank);
        for (size_t s = 0; s < present; s++) {
            const struct pw_live_step *step = &rank->last_steps[s];
            if (step->step >= a->next && step->ns > 0)
                add_step(a, rank, step);
        }
        if (present)
            a->reached[rank->rank] = rank->last_steps[present - 1].step;
    }
    return last + 1;
}

/* The end of the steps that all ranks have which answered and mark steps; ranks that are far behind
 * are not waited for. */
static int64_t end_of_complete(const struct pw_livealarms *a, const struct pw_live *ranks, size_t n,
                               int64_t end)
{
    int64_t least = end;
    for (size_t i = 0; i < n; i++) {
        const int64_t reached = a->reached[ranks[i].rank];
        if (reached >= 0 && reached + 1 < least)
            least = reached + 1;
    }
    return least > end - WAIT ? least : end - WAIT;
}

/* ---- alarms ---- */

static int64_t median_of(int64_t *values, size_t n)
{
    return n ? pw_median_i64(values, n) : 0;
}

/* Sums up the phases of all ranks in a range of steps. */
static void sum_phases(struct pw_livealarms *a, int64_t from, int64_t until)
{
    const double steps = (double)(until - from);
    if (a->phases_from == from && a->phases_until == until)
        return;
    memset(a->phases, 0, PW_LIVE_PHASES * a->nranks * sizeof(*a->phases));
    for (int64_t s = from; s < until; s++)
        for (size_t r = 0; r < a->nranks; r++)
            for (int p = 0; p < PW_LIVE_PHASES; p++)
                a->phases[r * PW_LIVE_PHASES + (size_t)p] += row_of(a, s)[r].phase_ns[p];
    for (int p = 0; p < PW_LIVE_PHASES; p++) {
        size_t n = 0;
        for (size_t r = 0; r < a->nranks; r++)
            if (!a->test.ranks[r].is_slow && row_of(a, until - 1)[r].own_ns >= 0)
                a->others[n++] = (int64_t)a->phases[r * PW_LIVE_PHASES + (size_t)p];
        a->usual_ns[p] = (double)median_of(a->others, n) / steps;
    }
    a->phases_from = from;
    a->phases_until = until;
}

/* The phase with the largest excess, if it has at least half of the rank's excess. */
static void find_phase(struct pw_livealarms *a, struct pw_livealarm *alarm)
{
    const int64_t from = alarm->first > a->first ? alarm->first : a->first;
    const int64_t until = from + PHASE_STEPS < a->next ? from + PHASE_STEPS : a->next;
    const float *phases = &a->phases[(size_t)alarm->rank * PW_LIVE_PHASES];
    double most = alarm->excess_ns / 2;
    alarm->phase = PW_PHASE_NONE;
    if (from >= until)
        return;
    sum_phases(a, from, until);
    for (int p = 0; p < PW_LIVE_PHASES; p++) {
        const double excess = (double)phases[p] / (double)(until - from) - a->usual_ns[p];
        alarm->has_phases |= a->usual_ns[p] > 0 || phases[p] > 0;
        if (excess > most) {
            most = excess;
            alarm->phase = p + 1;
        }
    }
}

static void update(struct pw_livealarms *a, struct pw_livealarm *alarm)
{
    const struct pw_alarm_rank *rank = &a->test.ranks[alarm->rank];
    alarm->first = rank->from.step + 1;
    alarm->last = rank->sums.step;
    alarm->excess_ns = pw_alarm_excess_ns(rank);
    alarm->cost_ns = rank->sums.cost_ns - rank->from.cost_ns;
    alarm->step_ns = a->test.step_ns;
    alarm->is_uncalibrated |= a->test.is_uncalibrated;
}

static struct pw_livealarm *find_alarm(struct pw_livealarms *a, int32_t rank)
{
    for (size_t i = a->nalarms; i-- > 0;)
        if (a->alarms[i].rank == rank && !a->alarms[i].ended)
            return &a->alarms[i];
    return NULL;
}

/* Which alarm is forgotten first: the oldest of which all has been told, else the oldest that has
 * ended, else the oldest. */
static size_t least_wanted(const struct pw_livealarms *a)
{
    size_t told = MOST_ALARMS, ended = MOST_ALARMS;
    for (size_t i = MOST_ALARMS; i-- > 0;) {
        told = a->alarms[i].told == 2 ? i : told;
        ended = a->alarms[i].ended ? i : ended;
    }
    return told < MOST_ALARMS ? told : ended < MOST_ALARMS ? ended : 0;
}

/* Makes room for an alarm. */
static struct pw_livealarm *add_alarm(struct pw_livealarms *a)
{
    if (a->nalarms == MOST_ALARMS) {
        const size_t oldest = least_wanted(a);
        memmove(&a->alarms[oldest], &a->alarms[oldest + 1],
                (MOST_ALARMS - oldest - 1) * sizeof(*a->alarms));
        a->nalarms--;
    }
    a->alarms[a->nalarms] = (struct pw_livealarm){0};
    return &a->alarms[a->nalarms++];
}

static void note_changes(struct pw_livealarms *a, time_t now)
{
    for (size_t r = 0; r < a->nranks; r++) {
        const enum pw_alarm_change change = a->test.ranks[r].change;
        if (change == PW_ALARM_SAME)
            continue;
        struct pw_livealarm *alarm =
            change == PW_ALARM_BEGUN ? add_alarm(a) : find_alarm(a, (int32_t)r);
        if (!alarm)
            continue;
        if (change == PW_ALARM_BEGUN) {
            alarm->rank = (int32_t)r;
            alarm->begun = now;
            snprintf(alarm->hostname, sizeof(alarm->hostname), "%s", a->hostnames[r]);
        }
        if (change == PW_ALARM_ENDED)
            end_alarm(alarm, now);
        update(a, alarm);
        if (change == PW_ALARM_BEGUN)
            find_phase(a, alarm);
    }
}

/* Judges the step a->next. Returns the number of alarms that began or ended. */
static size_t judge_step(struct pw_livealarms *a, time_t now)
{
    const int64_t step = a->next++;
    const struct cell *row = row_of(a, step);
    double inside = 0;
    size_t n = 0;
    for (size_t r = 0; r < a->nranks; r++) {
        a->own[r] = (int64_t)row[r].own_ns;
        if (row[r].own_ns < 0)
            continue;
        inside += (double)(row[r].ns - row[r].own_ns);
        a->sums[r].own_ns += (double)row[r].own_ns;
        a->sums[r].total_ns += (double)row[r].ns;
        a->others[n++] = (int64_t)row[r].ns;
    }
    if (!n)
        return 0; /* no rank has a step of this number */
    if (n > 1 && inside <= 0) {
        a->nsilent++;
        return 0;
    }
    a->nsilent = 0;
    const size_t changes = pw_alarm_step(&a->test, step, median_of(a->others, n), a->own);
    if (changes)
        note_changes(a, now);
    return changes;
}

/* Whether the program counts steps anew: every rank is in a step before those that were judged. */
static int is_anew(const struct pw_livealarms *a, const struct pw_live *ranks, size_t n)
{
    size_t anew = 0, known = 0;
    for (size_t i = 0; i < n; i++) {
        known += ranks[i].step >= 0;
        anew += ranks[i].step >= 0 && ranks[i].step + 1 < a->next;
    }
    return known && anew == known;
}

static void add_look(struct pw_livealarms *a, const struct pw_live *ranks, size_t n)
{
    struct livecause_look *look = livecause_add(&a->cause, a->next - 1);
    for (size_t i = 0; i < n; i++) {
        const struct sums *sums = &a->sums[ranks[i].rank];
        look[ranks[i].rank] = (struct livecause_look){ranks[i].usage, sums->own_ns, sums->total_ns};
    }
}

/* What is known of the alarms that last. Phases and causes are looked for until an alarm has
 * PHASE_STEPS steps: they are clearer from more steps, but the last steps of an alarm may be those
 * after its fault. */
static void update_alarms(struct pw_livealarms *a)
{
    for (size_t i = 0; i < a->nalarms; i++) {
        struct pw_livealarm *alarm = &a->alarms[i];
        if (alarm->ended)
            continue;
        update(a, alarm);
        if (alarm->cause_known)
            continue;
        find_phase(a, alarm);
        alarm->cause = (int)livecause_find(&a->cause, (size_t)alarm->rank,
                                           (enum pw_phase)alarm->phase, alarm->first);
        alarm->looks++;
        alarm->cause_known = alarm->last - alarm->first >= PHASE_STEPS &&
                             (alarm->cause != PW_CAUSE_UNKNOWN || alarm->looks >= CAUSE_LOOKS);
    }
}

int pw_livealarms_take(struct pw_livealarms *a, const struct pw_live *ranks, size_t n, time_t now)
{
    size_t nranks = 0, changes = 0;
    for (size_t i = 0; i < n; i++) {
        nranks = (size_t)ranks[i].world_size > nranks ? (size_t)ranks[i].world_size : nranks;
        nranks = (size_t)ranks[i].rank >= nranks ? (size_t)ranks[i].rank + 1 : nranks;
    }
    if (!n)
        return 0;
    if (nranks != a->nranks || is_anew(a, ranks, n)) {
        const int err = start(a, nranks, now);
        if (err)
            return err;
        if (a->last_step_at)
            return 0; /* the answers are of the old numbers */
    }
    for (size_t i = 0; i < n; i++)
        memcpy(a->hostnames[ranks[i].rank], ranks[i].hostname, sizeof(*a->hostnames));
    const int64_t end = add_steps(a, ranks, n);
    const int64_t until = a->next < 0 ? -1 : end_of_complete(a, ranks, n, end);
    if (a->next >= 0 && a->next < until)
        a->last_step_at = now;
    while (a->next >= 0 && a->next < until)
        changes += judge_step(a, now);
    a->first = a->next - WINDOW > a->first ? a->next - WINDOW : a->first;
    if (a->next >= 0)
        add_look(a, ranks, n);
    update_alarms(a);
    return (int)changes;
}

const struct pw_livealarm *pw_livealarms_borrow(const struct pw_livealarms *a, size_t *n)
{
    *n = a->nalarms;
    return a->alarms;
}

const struct pw_livealarm *pw_livealarms_tell(struct pw_livealarms *a, time_t now)
{
    for (size_t i = 0; i < a->nalarms; i++) {
        struct pw_livealarm *alarm = &a->alarms[i];
        const int is_due = alarm->cause_known || now - alarm->begun >= TELL_S;
        const int tells = alarm->ended ? 2 : is_due ? 1 : 0;
        if (tells <= alarm->told)
            continue;
        alarm->told = tells;
        return alarm;
    }
    return NULL;
}

int pw_livealarms_is_slow(const struct pw_livealarms *a, int32_t rank)
{
    return rank >= 0 && (size_t)rank < a->nranks && a->test.ranks[rank].is_slow;
}

/* ---- state ---- */

struct pw_livealarms_state pw_livealarms_state(const struct pw_livealarms *a, time_t now)
{
    static const double shares[] = {0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1};
    const int64_t idle_s = a->last_step_at ? (int64_t)(now - a->last_step_at) : 0;
    const double least_s = a->nranks ? IDLE_STEPS * a->test.step_ns / 1e9 : 0;
    struct pw_livealarms_state state = {
        .per_day = a->per_day,
        .nslow = a->nranks ? a->test.nslow : 0,
        .tested = a->nranks ? a->test.tested : 0,
        .share = -1,
        .delay = -1,
        .idle_s = (double)idle_s < least_s ? 0 : idle_s,
        .is_idle = idle_s >= IDLE_S && (double)idle_s >= least_s,
        .is_silent = a->nsilent >= SILENT_STEPS,
        .is_uncalibrated = a->test.is_uncalibrated,
        .measured = a->nranks && a->test.npeers > 1 ? a->test.dependence.blocks * a->test.block : 0,
    };
    for (size_t i = 0; i < sizeof(shares) / sizeof(*shares) && state.delay < 0; i++) {
        const double delay = state.tested ? pw_alarm_delay(&a->test, shares[i]) : -1;
        if (delay < 0 || delay > (double)state.tested)
            continue;
        state.share = shares[i];
        state.delay = delay;
    }
    return state;
}

/* ---- words ---- */

static int64_t whole(double ns)
{
    return ns < 9e18 ? (int64_t)ns : INT64_MAX;
}

static const char *time_text(double ns, char *out, size_t size)
{
    pw_text_ns(out, size, whole(ns));
    return out;
}

const char *pw_livealarm_text(const struct pw_livealarm *alarm, char *out, size_t size)
{
    char where[64] = "";
    if (alarm->phase)
        snprintf(where, sizeof(where), " in %s", pw_enum_name(PW_F_PHASE, alarm->phase));
    else if (alarm->has_phases)
        snprintf(where, sizeof(where), " outside any phase");
    if (alarm->ended)
        snprintf(out, size, "rank %" PRId32 " on %s was slow%s in steps %" PRId64 "-%" PRId64,
                 alarm->rank, alarm->hostname, where, alarm->first, alarm->last);
    else
        snprintf(out, size, "rank %" PRId32 " on %s is slow%s since step %" PRId64, alarm->rank,
                 alarm->hostname, where, alarm->first);
    return out;
}

const char *pw_livealarm_figures(const struct pw_livealarm *alarm, char *out, size_t size)
{
    char excess[32], step[32], cost[32];
    const char *cause = pw_cause_title(alarm->cause);
    snprintf(out, size, "%s more than the others in a step of %s; cost %s%s%s%s%s",
             time_text(alarm->excess_ns, excess, sizeof(excess)),
             time_text(alarm->step_ns, step, sizeof(step)), alarm->ended ? "" : "so far ",
             time_text(alarm->cost_ns, cost, sizeof(cost)), cause[0] ? "; cause: " : "", cause,
             alarm->is_uncalibrated ? "; uncalibrated" : "");
    return out;
}

json_t *pw_livealarm_json(const struct pw_livealarm *alarm, const char *line)
{
    return json_pack(
        "{s:s, s:o, s:I, s:I, s:o, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b}", "event",
        alarm->ended ? "over" : "slow_rank", "text", pw_json_text(line, strlen(line)), "time",
        (json_int_t)(alarm->ended ? alarm->ended : alarm->begun), "rank", (json_int_t)alarm->rank,
        "hostname", pw_json_text(alarm->hostname, sizeof(alarm->hostname)), "phase",
        pw_enum_name(PW_F_PHASE, alarm->phase), "cause", pw_enum_name(PW_F_CAUSE, alarm->cause),
        "first_step", (json_int_t)alarm->first, "last_step", (json_int_t)alarm->last, "excess_ns",
        (json_int_t)whole(alarm->excess_ns), "step_ns", (json_int_t)whole(alarm->step_ns),
        "cost_ns", (json_int_t)whole(alarm->cost_ns), "is_calibrated", !alarm->is_uncalibrated);
}

const char *pw_livealarms_state_text(const struct pw_livealarms_state *state, char *out,
                                     size_t size)
{
    if (state->is_idle)
        snprintf(out, size, "cannot tell: no steps for %" PRId64 " s", state->idle_s);
    else if (state->is_silent)
        snprintf(out, size, "cannot tell: no communication was recorded in the last steps");
    else if (!state->tested && state->measured)
        snprintf(out, size, "cannot tell yet: the noise of %" PRId64 " steps was measured",
                 state->measured);
    else if (!state->tested)
        snprintf(out, size, "cannot tell: no step of two ranks or more has been compared");
    else if (state->delay < 0)
        snprintf(out, size, "none in %" PRId64 " steps, too few to see a slow rank", state->tested);
    else
        snprintf(out, size,
                 "none in %" PRId64 " steps; %.0f %% of a step more work would show after %.0f",
                 state->tested, 100 * state->share, state->delay);
    return out;
}
