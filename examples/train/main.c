/* Owns the run: MPI, the training loop, what is printed, and the exit status (0; 1: the data or the
 * machine is not up to it; 2: the command line is wrong). */
#include <errno.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "inject.h"
#include "loader.h"
#include "model.h"
#include "options.h"
#include "pace.h"
#include "profwrap.h"
#include "text.h"

enum { EXIT_RUN = 1, EXIT_USAGE = 2 };

struct trainer {
    struct options options;
    int rank;
    int nrank;
    struct text_shard shard;
    struct loader *loader;
    struct model *model;
    MPI_Request sums[MODEL_LAYERS];
    int64_t computing_since;
};

/* Begins a phase that computes. */
static void begin(struct trainer *t, enum profwrap_phase phase, int64_t step)
{
    profwrap_phase(phase);
    inject_sleep(inject_delay_ns(&t->options.inject, t->rank, (int)phase, step));
    t->computing_since = pace_now();
}

static void keep_pace(const struct trainer *t)
{
    pace_until(t->computing_since, (int64_t)(t->options.pace * 1e6));
}

/* model_ready_fn. Every rank gets here for the same layers in the same order, as MPI demands. */
static void start_sum(void *arg, int layer)
{
    struct trainer *t = arg;
    if (layer == 0) /* the last: all is computed */
        keep_pace(t);
    struct model_span gradient = model_gradient(t->model, layer);
    MPI_Iallreduce(MPI_IN_PLACE, gradient.data, (int)gradient.count, MPI_FLOAT, MPI_SUM,
                   MPI_COMM_WORLD, &t->sums[layer]);
}

static void train_step(struct trainer *t, int64_t step)
{
    const float scale = 1.0f / (float)t->nrank; /* sums over ranks become means */

    profwrap_step(step);
    profwrap_phase(PROFWRAP_DATA);
    const struct model_batch *batch = loader_borrow(t->loader, step);

    begin(t, PROFWRAP_FORWARD, step);
    model_forward(t->model, batch);
    keep_pace(t);

    begin(t, PROFWRAP_BACKWARD, step);
    model_backward(t->model, batch, start_sum, t);
    loader_release(t->loader);

    profwrap_phase(PROFWRAP_ALLREDUCE);
    MPI_Waitall(MODEL_LAYERS, t->sums, MPI_STATUSES_IGNORE);

    begin(t, PROFWRAP_OPTIMIZER, step);
    model_update(t->model, (float)t->options.lr, scale);
    keep_pace(t);

    profwrap_phase(PROFWRAP_NO_PHASE);
    if (t->rank == 0) {
        printf("step %3" PRId64 "  loss %.4f\n", step, (double)model_loss(t->model, scale));
        fflush(stdout);
    }
}

static void train(struct trainer *t)
{
    /* All ranks draw the same weights; the broadcast is for machines whose libm differs. */
    for (int layer = 0; layer < MODEL_LAYERS; layer++) {
        struct model_span parameters = model_parameters(t->model, layer);
        MPI_Bcast(parameters.data, (int)parameters.count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    }

    MPI_Barrier(MPI_COMM_WORLD);
    int64_t start_ns = pace_now();
    for (int64_t step = 0; step < t->options.steps; step++)
        train_step(t, step);
    profwrap_step(PROFWRAP_NO_STEP);

    if (t->options.timing && t->rank == 0)
        fprintf(stderr, "loop %.6f s\n", (double)(pace_now() - start_ns) / 1e9);
}

/* Reads the shard and makes the model and the loader; on failure `why` says what was missing. */
static int trainer_open(struct trainer *t, char *why, size_t why_size)
{
    const struct options *options = &t->options;
    char part[256];
    int err = text_read(options->data, t->rank, t->nrank, MODEL_CONTEXT + 1, &t->shard, part,
                        sizeof part);
    if (err) {
        snprintf(why, why_size, "--data %s", part);
        return err;
    }

    err = model_create((size_t)options->batch, (size_t)options->hidden, (uint64_t)options->seed,
                       &t->model);
    if (err) {
        snprintf(why, why_size, "no memory for the model; try a smaller --hidden or --batch");
        return err;
    }

    const struct loader_config config = {.shard = &t->shard,
                                         .inject = &options->inject,
                                         .rank = t->rank,
                                         .steps = options->steps,
                                         .batch = (size_t)options->batch,
                                         .seed = (uint64_t)options->seed};
    err = loader_open(&config, &t->loader);
    if (err)
        snprintf(why, why_size, "cannot start the loader: %s", strerror(-err));
    return err;
}

/* Collective. 0 if no rank has an error; else the lowest rank that has one prints it, so that the
 * user reads one line and not one per rank. */
static int agree(const struct trainer *t, int err, const char *why)
{
    int lowest = err ? t->rank : t->nrank;
    MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (lowest == t->rank)
        fprintf(stderr, "train: %s\n", why);
    return lowest < t->nrank;
}

static int run(struct trainer *t)
{
    char why[320] = "";
    int err = trainer_open(t, why, sizeof why);
    err = agree(t, err, why);
    if (!err)
        train(t);

    loader_close(t->loader);
    model_destroy(t->model);
    text_fini(&t->shard);
    return err ? EXIT_RUN : 0;
}

static int check(const struct trainer *t)
{
    /* The same numbers on every rank: one speaks, all know. */
    FILE *to = t->rank == 0 ? stdout : fopen("/dev/null", "w");
    int wrong = to ? check_gradients(to) : -errno;
    if (to && to != stdout)
        fclose(to);
    return agree(t, wrong, "the gradients are wrong") ? EXIT_RUN : 0;
}

static int start(struct trainer *t, int argc, char **argv)
{
    char why[320];
    if (options_parse(argc, argv, t->nrank, &t->options, why, sizeof why)) {
        if (t->rank == 0)
            fprintf(stderr, "train: %s\n", why);
        return EXIT_USAGE;
    }
    if (t->options.help) {
        if (t->rank == 0)
            options_help(stdout);
        return 0;
    }
    return t->options.check_gradients ? check(t) : run(t);
}

int main(int argc, char **argv)
{
    /* The loader's thread makes no MPI calls. */
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);

    struct trainer t = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t.nrank);

    int status = EXIT_RUN;
    if (provided >= MPI_THREAD_FUNNELED)
        status = start(&t, argc, argv);
    else if (t.rank == 0)
        fputs("train: this MPI library does not support threads (MPI_THREAD_FUNNELED)\n", stderr);

    MPI_Finalize();
    return status;
}
