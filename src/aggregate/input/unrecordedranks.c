/* Notes what was not recorded, for /completeness; see unrecordedranks.h. */
#include "aggregate/input/unrecordedranks.h"

#include <stdio.h>
#include <string.h>

#include "core/sentence.h"

/* Where MPI was not seen to be started, what the rank recorded of other communication shows that it
 * was not needed. */
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
        pw_sentence_add(&s, "processes that its calls of MPI_Comm_spawn started");
    else if (row->reason == PW_UNRECORDED_NO_MEMORY && !row->certain)
        pw_sentence_add(&s, "nothing of it was recorded, for want of shared memory");
    else if (row->certain)
        pw_sentence_add(&s, "MPI was started and its calls were not recorded");
    else
        pw_sentence_add(&s, "an MPI library was there, and no call of it was recorded");
    if (row->program[0])
        pw_sentence_add(&s, ", in %.64s (process %d)", row->program, (int)row->pid);
    if (row->library[0])
        pw_sentence_add(&s, ", %.64s", row->library);
    pw_job_note(job, input->rank, what, row->count, detail);
}

/* Whether one of the rows before says the same of the process: a collector that took over from one
 * that was killed finds it again. */
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

/* Spawned processes are summed up: a program may spawn often. */
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
}

void pw_unrecorded_note(struct pw_job *job)
{
    for (size_t i = 0; i < job->ninputs; i++)
        note_input(job, &job->inputs[i]);
}

void pw_unrecorded_note_silence(struct pw_job *job)
{
    int mine = 0, any = 0;
    for (size_t i = 0; i < job->ninputs; i++)
        mine |= job->inputs[i].communicates;
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_LOR, job->comm);
    if (job->process == 0 && job->nranks > 1 && !any)
        pw_job_note(job, -1, "no_communication", job->nranks,
                    "no collective and no message between its ranks was recorded");
}
