/* Work for windows of recording to cut, by its first argument:
 *
 *     cross STEPS: what begins in one step and ends in the next, and communicators that are made
 *         and freed while nothing is recorded
 *     verbs STEPS: profwrap_stop() and profwrap_start() by turns, with ranges over the edges
 *     levels STEPS: MPI_Pcontrol(0), (1), (2) by turns
 *     drift MS [R:MS:FIRST-LAST]: steps without any communication for MS ms, or until there is a
 *         file "enough"; those of rank r 4 + r / 2 ms long; rank R's by MS longer from FIRST
 *         to LAST
 *     plain MS: an Allreduce each ms for MS ms, or until there is a file "enough", without marks
 *     usr1 STEPS: as cross, with a handler for SIGUSR1 that counts, until a rank has got one
 *     astray STEPS: steps 0 .. STEPS-1, again from the middle as after a restart, the last one
 *         three times, one of a number that is none, and the greatest of all
 *     epochs STEPS: twice as many steps, and after each half one more that is cancelled
 *
 * It prints the sum of what it got, by which a test sees that the tool changed nothing. */
#include <mpi.h>
#include <profwrap.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static volatile sig_atomic_t signals;

static void sleep_ms(double ms)
{
    struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms * 1e6) % 1000000000};
    nanosleep(&t, NULL);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* One step: an Iallreduce, an Irecv and an Isend that the next step waits for, a persistent send
 * and receive, a communicator with a collective on it, an Allreduce. */
static double cross_step(long n, MPI_Request *open, double *slots, MPI_Request *kept)
{
    double in = (double)n, out = 0;
    MPI_Comm made;
    MPI_Waitall(3, open, MPI_STATUSES_IGNORE); /* of the step before */
    in += slots[0] + slots[1];
    MPI_Iallreduce(&slots[2], &slots[0], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &open[0]);
    MPI_Irecv(&slots[1], 1, MPI_DOUBLE, (rank + size - 1) % size, 7, MPI_COMM_WORLD, &open[1]);
    MPI_Isend(&slots[2], 1, MPI_DOUBLE, (rank + 1) % size, 7, MPI_COMM_WORLD, &open[2]);
    MPI_Startall(2, kept);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &made);
    MPI_Barrier(made);
    MPI_Comm_free(&made);
    MPI_Waitall(2, kept, MPI_STATUSES_IGNORE);
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return out;
}

static double reduce(double in)
{
    double out = 0;
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return out;
}

static double cross(long steps, int until_signalled)
{
    MPI_Request open[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL}, kept[2];
    double slots[3] = {0, 0, rank}, from = 0, sum = 0;
    MPI_Recv_init(&from, 1, MPI_DOUBLE, (rank + size - 1) % size, 8, MPI_COMM_WORLD, &kept[0]);
    MPI_Send_init(&slots[2], 1, MPI_DOUBLE, (rank + 1) % size, 8, MPI_COMM_WORLD, &kept[1]);
    for (long n = 0; n < steps && !(until_signalled && reduce(signals) > 0); n++) {
        profwrap_step(n);
        profwrap_phase(PROFWRAP_FORWARD);
        sum += cross_step(n, open, slots, kept) + from;
        sleep_ms(2);
    }
    profwrap_step(PROFWRAP_NO_STEP);
    MPI_Waitall(3, open, MPI_STATUSES_IGNORE);
    MPI_Request_free(&kept[0]);
    MPI_Request_free(&kept[1]);
    return sum;
}

/* Each step: "kept" is begun and ends outside the pause; "into" ends in it; "out of" begins in it;
 * "inside" is all in it. */
static double verbs(long steps)
{
    double sum = 0;
    for (long n = 0; n < steps; n++) {
        profwrap_step(n);
        profwrap_range_push("kept");
        sum += reduce(1);
        profwrap_range_push("into");
        if (n % 2)
            profwrap_stop();
        profwrap_range_pop();
        profwrap_range_push("inside");
        sum += reduce(2) + 100 * profwrap_active();
        profwrap_range_pop();
        profwrap_range_push("out of");
        if (n % 2)
            profwrap_start();
        profwrap_range_pop();
        sum += reduce(3);
        profwrap_range_pop();
    }
    profwrap_step(PROFWRAP_NO_STEP);
    return sum;
}

static double levels(long steps)
{
    double sum = 0;
    for (long n = 0; n < steps; n++) {
        int flag;
        MPI_Pcontrol(10);
        MPI_Pcontrol((int)(n % 3));
        sum += reduce(1);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Pcontrol(1);
    return sum;
}

static double drift(double ms, const char *late)
{
    int who = -1;
    long first = 0, last = -1;
    double more = 0, end = now_ms() + ms;
    if (late && sscanf(late, "%d:%lf:%ld-%ld", &who, &more, &first, &last) != 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    long n = 0;
    for (; now_ms() < end && access("enough", F_OK) != 0; n++) {
        profwrap_step(n);
        sleep_ms(4 + 0.5 * rank + (who == rank && n >= first && n <= last ? more : 0));
    }
    profwrap_step(PROFWRAP_NO_STEP);
    return reduce(1);
}

static double plain(double ms)
{
    double calls = 0, end = now_ms() + ms, go = 1;
    while (go > 0) {
        double mine = now_ms() < end && access("enough", F_OK) != 0;
        MPI_Allreduce(&mine, &go, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
        calls++;
        sleep_ms(1);
    }
    return calls;
}

static void count_signal(int signal)
{
    (void)signal;
    signals++;
}

static double astray(long steps)
{
    const long last = steps - 1, order[] = {last, last, last, -7, INT64_MAX};
    double in = 1, out = 0, sum = 0;
    for (long n = 0; n < steps + steps / 2 + 5; n++) {
        profwrap_step(n < steps               ? n
                      : n < steps + steps / 2 ? n - steps / 2
                                              : order[n - steps - steps / 2]);
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        sum += out;
    }
    profwrap_step(PROFWRAP_NO_STEP);
    return sum;
}

static double epochs(long steps)
{
    double sum = 0;
    for (long n = 0; n < 2 * steps; n++) {
        profwrap_step(n);
        sum += reduce(1);
        if (n % steps < steps - 1)
            continue;
        profwrap_step(n + 1);
        profwrap_phase(PROFWRAP_DATA);
        sum += reduce(1);
        profwrap_step(PROFWRAP_CANCEL_STEP);
        sum += reduce(1);
    }
    return sum;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    double amount = argc > 2 ? atof(argv[2]) : 0, sum = -1;
    if (strcmp(mode, "usr1") == 0)
        signal(SIGUSR1, count_signal);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(mode, "cross") == 0 || strcmp(mode, "usr1") == 0)
        sum = cross((long)amount, strcmp(mode, "usr1") == 0);
    else if (strcmp(mode, "verbs") == 0)
        sum = verbs((long)amount);
    else if (strcmp(mode, "levels") == 0)
        sum = levels((long)amount);
    else if (strcmp(mode, "drift") == 0)
        sum = drift(amount, argc > 3 ? argv[3] : NULL);
    else if (strcmp(mode, "plain") == 0)
        sum = plain(amount);
    else if (strcmp(mode, "astray") == 0)
        sum = astray((long)amount);
    else if (strcmp(mode, "epochs") == 0)
        sum = epochs((long)amount);
    if (rank == 0)
        printf("sum %g signals %d\n", sum, (int)signals);
    MPI_Finalize();
    return sum < 0;
}
