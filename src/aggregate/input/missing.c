/* Notes lost records and unrecorded calls in words, and finds the spans of lost records; see
 * missing.h. */
#include "aggregate/input/missing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/input/cursor.h"
#include "core/limits.h"
#include "core/text.h"

/* 1 when calls are really missing. If only the loading of MPI was seen and the rank recorded other
 * communication, it did not use MPI. */
static int is_believed(const struct pw_input *input, const struct pw_row_unrecorded *row)
{
    return row->reason != PW_UNRECORDED_NONE && row->count > 0 &&
           (row->certain || input->event_rows.rows == 0);
}

static void note_row(struct pw_job *job, const struct pw_input *input,
                     const struct pw_row_unrecorded *row)
{
    char what[32], detail[256];
    struct pw_sentence s = {detail, sizeof(detail), 0};
    snprintf(what, sizeof(what), "unrecorded_%s", pw_enum_name(PW_F_UNRECORDED, row->reason));
    if (row->reason == PW_UNRECORDED_SPAWNED)
        pw_sentence_add(&s, "processes that it started by MPI_Comm_spawn");
    else if (row->reason == PW_UNRECORDED_NO_MEMORY && !row->certain)
        pw_sentence_add(&s, "nothing was recorded, because there was no shared memory");
    else if (row->certain)
        pw_sentence_add(&s, "MPI was started and its calls were not recorded");
    else
        pw_sentence_add(&s, "an MPI library was loaded, and none of its calls was recorded");
    if (row->program[0])
        pw_sentence_add(&s, ", in %.64s (process %d)", row->program, (int)row->pid);
    if (row->library[0])
        pw_sentence_add(&s, ", %.64s", row->library);
    pw_job_note(job, input->rank, what, row->count, detail);
}

/* 1 when an earlier row reports the same about the process: a collector that took over from a
 * killed one reports it again. */
static int is_repeated(const struct pw_input *input, size_t row)
{
    const struct pw_row_unrecorded *rows = input->unrecorded;
    for (size_t i = 0; i < row; i++)
        if (rows[i].pid == rows[row].pid && rows[i].reason == rows[row].reason &&
            strncmp(rows[i].program, rows[row].program, sizeof(rows[i].program)) == 0 &&
            is_believed(input, &rows[i]))
            return 1;
    return 0;
}

/* Writes the notes of one input. Spawned processes get one note together, because a program may
 * spawn often. */
static void note_input(struct pw_job *job, const struct pw_input *input)
{
    enum { MOST_ROWS = 64 };
    struct pw_row_unrecorded spawned = {.reason = PW_UNRECORDED_SPAWNED, .certain = 1};
    for (size_t i = 0; i < input->nunrecorded && i < MOST_ROWS; i++)
        if (input->unrecorded[i].reason != PW_UNRECORDED_SPAWNED &&
            is_believed(input, &input->unrecorded[i]) && !is_repeated(input, i))
            note_row(job, input, &input->unrecorded[i]);
    for (size_t i = 0; i < input->nunrecorded; i++)
        if (input->unrecorded[i].reason == PW_UNRECORDED_SPAWNED &&
            input->unrecorded[i].count > 0 && input->unrecorded[i].count < INT32_MAX)
            spawned.count += input->unrecorded[i].count;
    if (spawned.count)
        note_row(job, input, &spawned);
    if (input->gpu_unrecorded[0])
        pw_job_note(job, input->rank, "gpu_unrecorded", 1, input->gpu_unrecorded);
    if (input->gpu_lacking[0])
        pw_job_note(job, input->rank, "gpu_lacking", 1, input->gpu_lacking);
    if (input->gpu_processes > 0)
        pw_job_note(job, input->rank, "gpu_processes", input->gpu_processes,
                    "processes that the program started used GPUs and were not recorded");
    if (input->impossible_times > 0)
        pw_job_note(job, input->rank, "impossible_times", input->impossible_times,
                    "activities of devices that the import left out: their times contradict their "
                    "launch, their stream or the trace");
    if (input->nccl_unplaced > 0)
        pw_job_note(job, input->rank, "nccl_unplaced", input->nccl_unplaced,
                    "kernels of NCCL in replayed CUDA graphs whose operations are not known: waits "
                    "in them are not known");
}

void pw_unrecorded_note(struct pw_job *job)
{
    for (size_t i = 0; i < job->ninputs; i++)
        note_input(job, &job->inputs[i]);
}

void pw_unrecorded_note_silence(struct pw_job *job, int is_incomplete)
{
    int mine = 0, any = 0;
    for (size_t i = 0; i < job->ninputs; i++)
        mine |= job->inputs[i].communicates;
    pw_ex_allreduce(&mine, &any, 1, PW_EX_INT, PW_EX_LOR, job->procs.comm);
    if (job->procs.process == 0 && job->world.nranks > 1 && !any)
        pw_job_note(job, -1, "no_communication", job->world.nranks,
                    "no collective and no message between its ranks was recorded");
    mine = 0;
    for (size_t i = 0; i < job->ninputs; i++) {
        struct pw_input *input = &job->inputs[i];
        input->is_silent = job->world.nranks > 1 && !input->communicates && (is_incomplete || !any);
        mine |= input->is_silent;
    }
    pw_ex_allreduce(&mine, &job->world.is_silent, 1, PW_EX_INT, PW_EX_LOR, job->procs.comm);
    for (size_t i = 0; i < job->ninputs; i++)
        if (job->inputs[i].device_ops && job->world.nranks > 1)
            pw_job_note(job, job->inputs[i].rank, "waits_unknown", job->inputs[i].device_ops,
                        "kernels of communication of which is not told which ranks they are of: "
                        "waits in them are not known");
    for (size_t i = 0; i < job->ninputs && any && is_incomplete; i++)
        if (!job->inputs[i].communicates)
            pw_job_note(job, job->inputs[i].rank, "no_communication", 1,
                        "none of its collectives and messages was recorded, while others' were");
}

enum { KINDS = PW_LOST_OTHER + 1 };

#define WORTH_SAYING 0.001 /* share of the run from which on waits for room are noted */

struct sums {
    int64_t lost[KINDS], without_ring;
    const char *library;  /* the library that records GPUs; records that it lost: */
    int64_t without_room; /* without room in its buffers */
    int64_t untimed;      /* without times */
    int64_t waits, waited_ns;
    int64_t taken, taken_ns; /* periods in which the program itself used CUPTI: number, ns */
    int64_t late, late_ns;   /* periods without an answer of NVML: number, ns */
};

static int is_full(const struct pw_row_gap *row)
{
    return row->reason == PW_REASON_CUPTI_FULL || row->reason == PW_REASON_ROCPROFILER_FULL;
}

static int is_untimed(const struct pw_row_gap *row)
{
    return row->reason == PW_REASON_CUPTI_UNTIMED || row->reason == PW_REASON_ROCPROFILER_UNTIMED;
}

static const char *library_of(const struct pw_row_gap *row)
{
    return row->reason >= PW_REASON_ROCPROFILER_FULL ? "rocprofiler" : "CUPTI";
}

static void add_row(void *context, const struct pw_row_gap *row)
{
    struct sums *sums = context;
    if (row->reason == PW_REASON_RING_WAIT) {
        sums->waits++;
        sums->waited_ns += row->end > row->start ? row->end - row->start : 0;
    } else if (row->reason == PW_REASON_CUPTI_TAKEN) {
        sums->taken++;
        sums->taken_ns += row->end > row->start ? row->end - row->start : 0;
    } else if (row->reason == PW_REASON_NVML_LATE) {
        sums->late += row->lost > 0 ? row->lost : 0;
        sums->late_ns += row->end > row->start ? row->end - row->start : 0;
    } else if (row->lost > 0 && row->reason == PW_REASON_NO_RING) {
        sums->without_ring += row->lost;
    } else if (row->lost > 0 && is_full(row)) {
        sums->without_room += row->lost;
        sums->library = library_of(row);
    } else if (row->lost > 0 && is_untimed(row)) {
        sums->untimed += row->lost;
        sums->library = library_of(row);
    } else if (row->lost > 0) {
        sums->lost[row->kind < KINDS ? row->kind : PW_LOST_OTHER] += row->lost;
    }
}

void pw_gaps_visit(const struct pw_input *input, pw_gap_visitor *visit, void *context)
{
    struct pw_cursor c;
    int err = pw_cursor_at(&c, input, &input->gap_rows, PW_TABLE_gap);
    for (const struct pw_row_gap *row; !err && (row = pw_cursor_next(&c));)
        visit(context, row);
    pw_cursor_close(&c);
}

static void note_losses(struct pw_job *job, const struct pw_input *input, const struct sums *sums)
{
    char detail[400] = "";
    size_t used = 0;
    int64_t unexplained = input->dropped - sums->without_ring - sums->without_room - sums->untimed;
    for (int kind = 0; kind < KINDS; kind++) {
        unexplained -= sums->lost[kind];
        if (sums->lost[kind])
            used +=
                (size_t)snprintf(detail + used, sizeof(detail) - used, "%s%lld %s",
                                 used ? ", " : "the ring was full: ", (long long)sums->lost[kind],
                                 pw_enum_name(PW_F_LOST, kind));
    }
    if (sums->without_ring)
        used += (size_t)snprintf(detail + used, sizeof(detail) - used,
                                 "%s%lld calls of threads that got no ring", used ? "; " : "",
                                 (long long)sums->without_ring);
    if (sums->without_room)
        used += (size_t)snprintf(detail + used, sizeof(detail) - used,
                                 "%s%lld records of GPUs that %s had no room for", used ? "; " : "",
                                 (long long)sums->without_room, sums->library);
    if (sums->untimed)
        used += (size_t)snprintf(detail + used, sizeof(detail) - used,
                                 "%s%lld records of GPUs for which %s had no times",
                                 used ? "; " : "", (long long)sums->untimed, sums->library);
    if (unexplained > 0)
        snprintf(detail + used, sizeof(detail) - used, "%s%lld could not be written to the file",
                 used ? "; " : "", (long long)unexplained);
    pw_job_note(job, input->rank, "dropped_events", input->dropped, detail);
}

static void note_waits(struct pw_job *job, const struct pw_input *input, const struct sums *sums)
{
    int64_t run_ns = input->end_unix_ns - input->start_unix_ns;
    char detail[256];
    if (run_ns <= 0 || (double)sums->waited_ns <= WORTH_SAYING * (double)run_ns)
        return;
    snprintf(detail, sizeof(detail),
             "waited %.3f s in all (%.1f %% of its run) for room in a full ring: this is not the "
             "program's own work, although it is measured as such",
             (double)sums->waited_ns / 1e9, 100 * (double)sums->waited_ns / (double)run_ns);
    pw_job_note(job, input->rank, "ring_wait", sums->waits, detail);
}

static void note_taken(struct pw_job *job, const struct pw_input *input, const struct sums *sums)
{
    char detail[400];
    const char *by = input->cupti_taken_by;
    if (!sums->taken)
        return;
    snprintf(detail, sizeof(detail),
             "the program used CUPTI itself%s%s%s: GPU activity was not recorded for %.3f s",
             *by ? " (" : "", by, *by ? ")" : "", (double)sums->taken_ns / 1e9);
    pw_job_note(job, input->rank, "cupti_taken", sums->taken, detail);
}

static void note_late(struct pw_job *job, const struct pw_input *input, const struct sums *sums)
{
    char detail[256];
    if (!sums->late)
        return;
    snprintf(detail, sizeof(detail),
             "NVML did not answer: clocks, power, temperature and errors of GPUs are not known for "
             "%.3f s",
             (double)sums->late_ns / 1e9);
    pw_job_note(job, input->rank, "nvml_late", sums->late, detail);
}

void pw_gaps_note(struct pw_job *job)
{
    for (size_t i = 0; i < job->ninputs; i++) {
        const struct pw_input *input = &job->inputs[i];
        struct sums sums = {.waits = 0};
        pw_gaps_visit(input, add_row, &sums);
        if (input->dropped)
            note_losses(job, input, &sums);
        note_waits(job, input, &sums);
        note_taken(job, input, &sums);
        note_late(job, input, &sums);
    }
}

/* ---- when records of a rank were lost ---- */

struct finding {
    unsigned kinds;
    struct pw_spans *out;
};

static void add_lost(void *context, const struct pw_row_gap *row)
{
    const struct finding *f = context;
    const int is_lost =
        row->lost > 0 && row->reason != PW_REASON_NO_RING && row->reason != PW_REASON_CUPTI_FULL &&
        row->reason != PW_REASON_ROCPROFILER_FULL && row->reason != PW_REASON_NVML_LATE;
    if (is_lost && row->kind <= PW_LOST_DEVICE && f->kinds >> row->kind & 1 &&
        pw_is_possible(row->start) && pw_is_possible(row->end))
        pw_spans_add(f->out, row->start, row->end + 1);
}

void pw_lost_find(const struct pw_input *input, unsigned kinds, struct pw_spans *out)
{
    struct finding f = {kinds, out};
    if (input->dropped)
        pw_gaps_visit(input, add_lost, &f);
    pw_spans_join(out);
}

int pw_lost_in(struct pw_spans *lost, const struct pw_row_step *step)
{
    return pw_spans_within(lost, (struct pw_interval){step->start, step->end}) > 0;
}

void pw_lost_find_work(const struct pw_input *input, struct pw_spans *out)
{
    const unsigned kinds = 1U << PW_LOST_COMMUNICATION | 1U << PW_LOST_STEP;
    struct pw_spans amounts = {0};
    size_t known = 0;
    pw_lost_find(input, kinds, out);
    if (!input->dropped || !input->work_rows.rows)
        return;
    pw_lost_find(input, kinds | 1U << PW_LOST_RANGE, &amounts);
    for (size_t i = 0; i < input->nsteps; i++)
        known += !pw_lost_in(&amounts, &input->steps[i]);
    if (known) {
        pw_spans_fini(&amounts);
        return;
    }
    pw_spans_fini(out);
    *out = amounts;
}

void pw_lost_clear_bins(const struct pw_spans *lost, const struct pw_input *input,
                        const struct pw_world *world, struct pw_row_c_bin_trace *bins)
{
    const struct pw_binning *of = &world->bins;
    for (size_t i = 0; i < lost->n && of->n; i++) {
        const int64_t start = pw_input_time(input, lost->v[i].start);
        const int64_t end = pw_input_time(input, lost->v[i].end);
        const int64_t from = (start - of->start_ns) / of->bin_ns;
        for (size_t b = from > 0 ? (size_t)from : 0; b < of->n; b++) {
            if (of->start_ns + (int64_t)b * of->bin_ns >= end)
                break;
            memset(&bins[b], 0xff, sizeof(bins[b]));
        }
    }
}
