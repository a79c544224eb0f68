/* Ranks with unequal work by design. Work is sleeping, so that a busy machine makes it no longer in
 * proportion.
 *
 *     unequal pipeline STEPS STAGES HEAVY PERCENT [SLOW]
 *         STAGES stages of equal numbers of ranks, 2 microbatches forth and back; stage HEAVY has
 *         PERCENT of the others' work, rank SLOW twice its own.
 *     unequal cells STEPS RANK PERCENT [SLOW]
 *         a ring of exchanges; rank RANK has PERCENT of the others' cells, and messages as large.
 *     unequal phases STEPS RANK PERCENT [SLOW]
 *         a barrier in the data phase, for which RANK has PERCENT of the others' work, and one
 * after backward.
 *
 * PROFWRAP_TEST_SAYS=roles says the roles, =work the amounts of work; =both both. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profwrap.h"

enum { MICROBATCHES = 2, USUAL_US = 20000, BYTES = 4096 };

static int rank, size, slow = -1;

static void work_us(long us)
{
    us = rank == slow ? 2 * us : us;
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

static int says(const char *what)
{
    const char *said = getenv("PROFWRAP_TEST_SAYS");
    return said && (strcmp(said, what) == 0 || strcmp(said, "both") == 0);
}

/* From the stage before, work, to the stage after; -1: there is none. */
static void pass_on(int from, int to, long us)
{
    static char buffer[BYTES];
    if (from >= 0)
        MPI_Recv(buffer, BYTES, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    work_us(us);
    if (to >= 0)
        MPI_Send(buffer, BYTES, MPI_CHAR, to, 0, MPI_COMM_WORLD);
}

static void pipeline(long steps, int stages, int heavy, long percent)
{
    const int replicas = size / stages, stage = rank / replicas;
    const int before = stage > 0 ? rank - replicas : -1;
    const int after = stage + 1 < stages ? rank + replicas : -1;
    const long us = USUAL_US * (stage == heavy ? percent : 100) / 100;
    double gradient = 1, sum;
    MPI_Comm same;
    MPI_Comm_split(MPI_COMM_WORLD, stage, rank, &same);
    if (says("roles"))
        profwrap_role(stage == heavy ? "heavy" : "light");
    for (long s = 0; s < steps; s++) {
        profwrap_step(s);
        profwrap_phase(PROFWRAP_FORWARD);
        for (int m = 0; m < MICROBATCHES; m++)
            pass_on(before, after, us);
        profwrap_phase(PROFWRAP_BACKWARD);
        for (int m = 0; m < MICROBATCHES; m++)
            pass_on(after, before, us);
        profwrap_phase(PROFWRAP_ALLREDUCE);
        MPI_Allreduce(&gradient, &sum, 1, MPI_DOUBLE, MPI_SUM, same);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    profwrap_step(PROFWRAP_NO_STEP);
    MPI_Comm_free(&same);
}

static void cells(long steps, int heavy, long percent)
{
    const int more = rank == heavy, left = (rank + size - 1) % size, right = (rank + 1) % size;
    const int bytes = (int)(BYTES * (more ? percent : 100) / 100);
    static char out[16 * BYTES], in[16 * BYTES];
    for (long s = 0; s < steps; s++) {
        profwrap_step(s);
        if (says("work"))
            profwrap_work(more ? 10 * percent : 1000);
        work_us(USUAL_US * 4 * (more ? percent : 100) / 100);
        MPI_Sendrecv(out, bytes, MPI_CHAR, right, 0, in, sizeof(in), MPI_CHAR, left, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    profwrap_step(PROFWRAP_NO_STEP);
}

static void phases(long steps, int late, long percent)
{
    for (long s = 0; s < steps; s++) {
        profwrap_step(s);
        profwrap_phase(PROFWRAP_DATA);
        work_us(USUAL_US * (rank == late ? percent : 100) / 100);
        MPI_Barrier(MPI_COMM_WORLD);
        profwrap_phase(PROFWRAP_BACKWARD);
        work_us(USUAL_US);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    profwrap_step(PROFWRAP_NO_STEP);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int is_pipeline = argc > 5 && strcmp(argv[1], "pipeline") == 0,
              last = is_pipeline ? 6 : 5;
    if (argc > last)
        slow = atoi(argv[last]);
    if (is_pipeline)
        pipeline(atol(argv[2]), atoi(argv[3]), atoi(argv[4]), atol(argv[5]));
    else if (argc > 4 && strcmp(argv[1], "phases") == 0)
        phases(atol(argv[2]), atoi(argv[3]), atol(argv[4]));
    else if (argc > 4)
        cells(atol(argv[2]), atoi(argv[3]), atol(argv[4]));
    MPI_Finalize();
    return 0;
}
