/* Rules about data, processors and memory, from /utilisation, /queues and /memory; see rules.h. */
#include "analysis/advice/rules.h"

#include <inttypes.h>
#include <stddef.h>

#include "analysis/advice/findings.h"
#include "analysis/pipeline.h"
#include "analysis/thresholds.h"
#include "core/limits.h"
#include "core/text.h"

/* A leak: at least so many steps, and so much growth over them in bytes. Then the least fit of a
 * line, and the least growth as a share. */
enum { LEAK_STEPS = 20, LEAK_BYTES = 8 << 20 };

/* How long a step of the rank waits for data: the whole time before forward if known, else its data
 * wait. */
static int64_t interval_of(const struct pw_row_c_step_trace *trace)
{
    return trace->interval_ns >= 0 ? trace->interval_ns : trace->data_wait_ns;
}

/* How long a step of a rank waits for data, and how long it is: means over the measured steps, or
 * over those from the first to the last that found the queue empty. */
struct waiting {
    int64_t interval_ns, total_ns;
    int is_window;
};

static struct waiting waiting_of(const struct pw_advice_input *in, size_t row,
                                 const struct pw_pipeline *p)
{
    const struct pw_cluster *c = in->cluster;
    const struct pw_row_c_queue *queue =
        p->verdict == PW_PIPELINE_TRANSFER || (p->is_of_steps && p->device) ? p->device : p->host;
    const struct waiting whole = {interval_of(&in->trace[row]), in->trace[row].total_ns, 0};
    int64_t waits = 0, total = 0, n = 0;
    if (!queue || !p->is_of_steps || !pw_cells_is_known(&c->step_trace) ||
        !pw_pipeline_has_window(queue))
        return whole;
    for (size_t s = 0; s < c->nstep_rows; s++) {
        struct pw_row_c_step_trace cell;
        if (c->steps[s].step < queue->first_empty_step || c->steps[s].step > queue->last_empty_step)
            continue;
        pw_cells_rows(&c->step_trace, &(struct pw_cells_area){s, 1, row, 1}, &cell);
        if (interval_of(&cell) < 0 || cell.total_ns < 0)
            continue;
        waits = pw_sum(waits, interval_of(&cell));
        total = pw_sum(total, cell.total_ns);
        n++;
    }
    return n ? (struct waiting){waits / n, total / n, 1} : whole;
}

/* The verdict of the queues of the rank in this row of /ranks; UNKNOWN when the rank does not wait
 * long enough to matter. */
static enum pw_pipeline_verdict verdict_of(const struct pw_advice_input *in, size_t row,
                                           struct pw_pipeline *pipeline)
{
    const struct pw_cluster *c = in->cluster;
    size_t n;
    const struct pw_row_c_queue *queues =
        pw_pipeline_of_rank(c->queues, c->nqueues, c->ranks[row].rank, &n);
    pw_pipeline_judge(queues, n, pipeline);
    const struct waiting waiting = waiting_of(in, row, pipeline);
    if (!pw_pipeline_hurts(waiting.interval_ns, waiting.total_ns))
        return PW_PIPELINE_UNKNOWN;
    return pipeline->verdict;
}

static int is_slow(enum pw_pipeline_verdict verdict)
{
    return verdict == PW_PIPELINE_PROCESSING || verdict == PW_PIPELINE_TRANSFER;
}

int pw_advice_is_starved(const struct pw_advice_input *in, int32_t rank)
{
    struct pw_pipeline pipeline;
    for (size_t r = 0; r < in->cluster->nrank_rows && in->cluster->nqueues; r++)
        if (in->cluster->ranks[r].rank == rank)
            return is_slow(verdict_of(in, r, &pipeline));
    return 0;
}

/* The saving by faster data. If all ranks wait for data, it is the shortest of their waits in a
 * step, for all steps. The gains of stragglers with this verdict are added. -1: not known. */
static int64_t savings(const struct pw_advice_input *in, const struct pw_advice *advice,
                       int64_t least_ns, enum pw_pipeline_verdict verdict)
{
    const struct pw_cluster *c = in->cluster;
    int64_t gain = -1;
    int are_all = advice->nranks > 0 && (int64_t)advice->nranks == in->present;
    if (are_all)
        gain = pw_advice_of_all_steps(in, (double)least_ns);
    for (size_t i = 0; i < c->nstragglers; i++) {
        const struct pw_row_c_straggler *row = &c->stragglers[i];
        struct pw_pipeline pipeline;
        if (row->phase != PW_PHASE_DATA && row->cause != PW_CAUSE_DATA_STARVATION)
            continue;
        for (size_t r = 0; r < c->nrank_rows; r++)
            if (c->ranks[r].rank == row->rank && verdict_of(in, r, &pipeline) == verdict &&
                row->gain_ns > 0)
                gain = pw_sum(gain < 0 ? 0 : gain, row->gain_ns);
    }
    return gain;
}

static void write_queue(struct pw_sentence *s, const struct pw_pipeline *p,
                        const struct pw_row_c_queue *queue)
{
    const double usage = pw_pipeline_usage(p, queue);
    pw_sentence_add(s, "'%.*s'", (int)sizeof(queue->queue), queue->queue);
    if (usage >= 0)
        pw_sentence_add(s, " (%.0f %% full)", 100 * usage);
}

/* "the slowest part is 'decode', between the queues 'read' (97 % full) and 'ready' (4 % full)". */
static void write_culprit(struct pw_sentence *s, const struct pw_pipeline *p,
                          const struct pw_pipeline_operator *op)
{
    if (!op)
        return;
    if (op->name[0])
        pw_sentence_add(s, "; the slowest part is '%.64s', ", op->name);
    else
        pw_sentence_add(s, "; the slowest part is what ");
    if (op->left && op->right) {
        pw_sentence_add(s, op->name[0] ? "between the queues " : "is between the queues ");
        write_queue(s, p, op->left);
        pw_sentence_add(s, " and ");
        write_queue(s, p, op->right);
    } else {
        pw_sentence_add(s, op->name[0] ? "which fills " : "fills ");
        write_queue(s, p, op->right ? op->right : op->left);
    }
    if (p->is_of_steps)
        pw_sentence_add(s, " in the steps that had to wait");
}

/* How often the queue that the verdict names was empty on the worst rank. */
static void write_evidence(const struct pw_advice_input *in, size_t row,
                           const struct pw_pipeline *p, enum pw_pipeline_verdict verdict,
                           struct pw_sentence *s)
{
    const struct pw_row_c_queue *queue = verdict == PW_PIPELINE_PROCESSING ? p->host : p->device;
    char wait[32], step[32];
    pw_sentence_add(s, "rank %" PRId32 ": queue '%.*s' empty in %.0f %% of %" PRId64 " samples",
                    queue->rank, (int)sizeof(queue->queue), queue->queue, 100 * queue->empty_share,
                    queue->samples);
    if (queue->steps_empty > 0)
        pw_sentence_add(
            s, ", in %" PRId64 " of %" PRId64 " steps (%" PRId64 "-%" PRId64 ") when it was needed",
            queue->steps_empty, queue->steps, queue->first_empty_step, queue->last_empty_step);
    const struct waiting waiting = waiting_of(in, row, p);
    pw_sentence_add(s, "; %s before forward in a step of %s%s",
                    pw_text_ns(wait, sizeof(wait), waiting.interval_ns),
                    pw_text_ns(step, sizeof(step), waiting.total_ns),
                    waiting.is_window ? ", on average of these steps" : "");
}

/* What the processes that load the data did: at their limit, waiting for disks, or neither. */
static void write_workers(const struct pw_cluster *c, int32_t rank, struct pw_sentence *s)
{
    for (size_t i = 0; i < c->nutilisation; i++) {
        const struct pw_row_c_utilisation *u = &c->utilisation[i];
        if (u->rank != rank || u->workers_max <= 0 || u->workers_cpu_share < 0)
            continue;
        pw_sentence_add(s, "; its %" PRId32 " worker processes used %.1f CPUs", u->workers_max,
                        u->workers_cpu_share);
        if (u->workers_io_share >= 0)
            pw_sentence_add(s, " and waited %.0f %% of the time for disks",
                            100 * u->workers_io_share);
    }
}

static int judge_pipeline(const struct pw_advice_input *in, enum pw_pipeline_verdict verdict,
                          const char *what, struct pw_advice *advice)
{
    struct pw_sentence text = pw_sentence_on(advice->text, sizeof(advice->text));
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    struct pw_pipeline p;
    int64_t least_ns = INT64_MAX, most_ns = -1;
    size_t worst = 0;
    for (size_t r = 0; r < in->cluster->nrank_rows && in->cluster->nqueues; r++) {
        int64_t waits = interval_of(&in->trace[r]);
        if (verdict_of(in, r, &p) != verdict)
            continue;
        pw_advice_add_rank(advice, in->cluster->ranks[r].rank);
        worst = waits > most_ns ? r : worst;
        most_ns = waits > most_ns ? waits : most_ns;
        least_ns = waits < least_ns ? waits : least_ns;
    }
    if (!advice->nranks)
        return 0;
    verdict_of(in, worst, &p);
    const struct pw_pipeline_operator *culprit = pw_pipeline_culprit(&p);
    write_evidence(in, worst, &p, verdict, &evidence);
    write_workers(in->cluster, in->cluster->ranks[worst].rank, &evidence);
    pw_sentence_add(&text, "Rank%s ", advice->nranks > 1 ? "s" : "");
    pw_advice_write_ranks(advice, &text);
    pw_sentence_add(&text, ": %s", what);
    write_culprit(&text, &p, culprit);
    pw_sentence_add(
        &text, ". %s",
        pw_pipeline_remedy(culprit ? pw_pipeline_kind_of(culprit->name) : PW_PIPELINE_OTHER));
    if ((int64_t)advice->nranks < in->present)
        pw_sentence_add(&text, " Compare the shard and storage with those of the other ranks.");
    advice->saves_ns = savings(in, advice, least_ns, verdict);
    return 1;
}

int pw_judge_data_processing(const struct pw_advice_input *in, struct pw_advice *advice)
{
    return judge_pipeline(in, PW_PIPELINE_PROCESSING,
                          "data are read and processed more slowly than they are used", advice);
}

int pw_judge_data_transfer(const struct pw_advice_input *in, struct pw_advice *advice)
{
    return judge_pipeline(in, PW_PIPELINE_TRANSFER,
                          "data are ready on the host, but reach the device too late", advice);
}

/* Applies when half of the ranks or more wait for data, and no queue says why. */
int pw_judge_data_wait(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence s = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    struct pw_pipeline pipeline;
    int64_t least_ns = INT64_MAX, waiting = 0;
    for (size_t r = 0; r < in->cluster->nrank_rows; r++) {
        const struct pw_row_c_step_trace *trace = &in->trace[r];
        if (!((double)trace->data_wait_ns > PW_DATA_WAIT_OF_RANK * (double)trace->total_ns))
            continue;
        if (is_slow(verdict_of(in, r, &pipeline)))
            return 0;
        waiting++;
        least_ns = trace->data_wait_ns < least_ns ? trace->data_wait_ns : least_ns;
    }
    char mean[32];
    pw_sentence_add(&s, "%" PRId64 " of %" PRId64 " ranks wait, on average %s a step", waiting,
                    in->present, pw_text_ns(mean, sizeof(mean), in->mean.data_wait_ns));
    advice->saves_ns = waiting ? pw_advice_of_all_steps(in, (double)least_ns) : -1;
    return waiting > 0 && 2 * waiting >= in->present;
}

/* The cost is not given, because with fewer ranks the same work remains to be done. */
int pw_judge_oversubscribed(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence s = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    const struct pw_oversubscribed found = pw_oversubscribed_find(in->cluster);
    if (!found.worst)
        return 0;
    pw_sentence_add(&s,
                    "%zu of %zu ranks of %.64s wait for a CPU; rank %" PRId32
                    " for %.0f %% of its time, %.0f involuntary context switches a second",
                    found.waiting, found.ranks, found.worst->hostname, found.worst->rank,
                    100 * found.worst->runq_share, found.worst->involuntary_cs_per_s);
    if (found.hosts > 1)
        pw_sentence_add(&s, "; %zu hosts in all", found.hosts);
    if (pw_nocpu_find(in->cluster).is_quota)
        pw_advice_set_text(advice->text, sizeof(advice->text),
                           "The ranks use up the CPU quota of their cgroups: raise it (cpu.max, or "
                           "the CPU limit of the container or job), or start no more ranks and "
                           "threads than it allows.");
    return 1;
}

/* Returns whether the ranks share a loss of this kind. */
static int has_shared(const struct pw_advice_input *in, enum pw_shared_kind kind,
                      struct pw_shared *out)
{
    struct pw_shared found[PW_SHARED_KINDS];
    const size_t n = pw_shared_find(in, found);
    for (size_t i = 0; i < n; i++)
        if (found[i].kind == kind) {
            *out = found[i];
            return 1;
        }
    return 0;
}

/* Applies when the loss is reported; a rank that stands out may have a rule of its own. */
int pw_judge_gpus_idle(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence s = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    struct pw_shared found;
    if (!has_shared(in, PW_SHARED_HOST_LATE, &found))
        return 0;
    pw_sentence_add(&s, "%s%.0f %% of the GPUs' time", found.is_least ? "at least " : "",
                    100 * found.share);
    advice->saves_ns = found.cost_ns;
    if (found.rank >= 0)
        pw_advice_add_rank(advice, found.rank);
    return 1;
}

int pw_judge_mpi_call_long(const struct pw_advice_input *in, struct pw_advice *advice)
{
    const struct {
        enum pw_shared_kind kind;
        const char *name;
    } calls[] = {{PW_SHARED_INIT, pw_source_init(in->cluster->init_source)},
                 {PW_SHARED_FINALIZE, "MPI_Finalize"}};
    struct pw_sentence s = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    char time[32];
    const char *separator = "";
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        struct pw_shared found;
        if (!has_shared(in, calls[i].kind, &found))
            continue;
        pw_sentence_add(&s, "%s%s in %s on every rank, %.0f %% of the run", separator,
                        pw_text_ns(time, sizeof(time), found.cost_ns), calls[i].name,
                        100 * found.share);
        separator = "; ";
    }
    return separator[0] != '\0';
}

static int leaks(const struct pw_row_c_memory *m)
{
    double grown = m->bytes_per_step * (double)m->steps;
    return m->steps >= LEAK_STEPS && m->fit >= PW_LEAK_FIT && grown >= LEAK_BYTES &&
           grown >= PW_LEAK_SHARE * (double)m->peak_bytes &&
           m->later_bytes_per_step >= m->bytes_per_step / 2;
}

int pw_judge_memory_growth(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence s = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    const struct pw_row_c_memory *worst = NULL;
    int32_t last = -1;
    for (size_t i = 0; i < in->cluster->nmemory; i++) {
        const struct pw_row_c_memory *m = &in->cluster->memory[i];
        if (!leaks(m))
            continue;
        if (m->rank != last)
            pw_advice_add_rank(advice, m->rank);
        last = m->rank;
        worst = !worst || m->bytes_per_step > worst->bytes_per_step ? m : worst;
    }
    if (!worst)
        return 0;
    char slope[32], grown[32], peak[32];
    double bytes = worst->bytes_per_step * (double)worst->steps;
    pw_sentence_add(&s, "rank %" PRId32 ": %.16s memory", worst->rank, worst->what);
    if (worst->device >= 0)
        pw_sentence_add(&s, " of device %" PRId32, worst->device);
    pw_sentence_add(
        &s, " grows by %s a step, %s in %" PRId64 " steps (peak %s; a line explains %.0f %% of it)",
        pw_text_bytes(slope, sizeof(slope), pw_whole(worst->bytes_per_step)),
        pw_text_bytes(grown, sizeof(grown), pw_whole(bytes)), worst->steps,
        pw_text_bytes(peak, sizeof(peak), worst->peak_bytes), 100 * worst->fit);
    return 1;
}
