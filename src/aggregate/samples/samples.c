/* One pass over the samples of each rank; see samples.h. */
#include "aggregate/samples/samples.h"

#include <errno.h>
#include <stdlib.h>

#include "core/h5/h5reader.h"

/* Points of series: what a screen can show of a rank, and what a report can hold of all. */
enum { MOST_POINTS = 200, LEAST_POINTS = 8, ALL_POINTS = 1 << 18 };

static size_t points_of_a_rank(const struct pw_world *world)
{
    int64_t points = ALL_POINTS / (world->nranks > 0 ? world->nranks : 1);
    return (size_t)(points > MOST_POINTS    ? MOST_POINTS
                    : points < LEAST_POINTS ? LEAST_POINTS
                                            : points);
}

static int read_rank(struct pw_samples *s, const struct pw_input *input, struct pw_h5_types *types,
                     size_t points)
{
    struct pw_openfile file = {.input = input, .types = types};
    int err = pw_h5_open(input->path, &file.file);
    if (err)
        return err;
    hsize_t rows[2] = {0, 0};
    if (pw_h5_extent(file.file, PW_TABLE_queue, rows) == 0 && rows[0] &&
        pw_h5_read_strings(file.file, "/strings", &file.texts, &file.ntexts))
        file.ntexts = 0;
    int queues = pw_queues_read(&s->queues, &file, points);
    int usage = pw_usage_read(&s->usages, &file, points);
    int gpus = pw_gpuseries_read(&s->gpus, &file, points);
    free(file.texts);
    pw_h5_close(file.file);
    err = queues == -ENOMEM || !usage ? queues : usage;
    return err == -ENOMEM || !gpus ? err : gpus;
}

static int read_all(struct pw_samples *s, struct pw_job *job)
{
    struct pw_h5_types *types = pw_h5_types_create();
    int err = types ? 0 : -ENOMEM;
    for (size_t i = 0; i < job->ninputs && !err; i++) {
        int64_t unlisted = s->queues.unlisted;
        err = read_rank(s, &job->inputs[i], types, points_of_a_rank(&job->world));
        if (err && err != -ENOMEM) {
            pw_job_note(job, job->inputs[i].rank, "damaged", 1,
                        "its samples cannot be read to the end");
            err = 0;
        }
        unlisted = s->queues.unlisted - unlisted;
        if (unlisted)
            pw_job_note(job, job->inputs[i].rank, "queues_unlisted", unlisted,
                        "samples of queues beyond the number of queues that can be kept");
    }
    pw_h5_types_destroy(types);
    return err;
}

/* Replaces this process's rows by those of all. */
static void gather(const struct pw_procs *procs, void **rows, size_t *n, size_t size)
{
    void *all;
    *n = pw_procs_allgather(procs, *rows, *n, size, &all);
    free(*rows);
    *rows = all;
}

int pw_samples_make(struct pw_samples *s, struct pw_job *job)
{
    *s = (struct pw_samples){0};
    int err = read_all(s, job), worst;
    worst = pw_procs_worst(&job->procs, err);
    worst = worst ? worst : pw_queues_arrange(&s->queues, &job->procs);
    if (worst)
        return worst;
    void *rows = s->usages.rows, *memory = s->usages.memory;
    gather(&job->procs, &rows, &s->usages.n, sizeof(*s->usages.rows));
    gather(&job->procs, &memory, &s->usages.nmemory, sizeof(*s->usages.memory));
    s->usages.rows = rows;
    s->usages.memory = memory;
    return 0;
}

/* Each process's, one after the other. */
static void write_series(struct pw_clusterfile *file, const struct pw_procs *procs,
                         enum pw_cluster_table_id table, size_t n, const void *rows)
{
    unsigned long mine = n, before = 0, total = 0;
    MPI_Exscan(&mine, &before, 1, MPI_UNSIGNED_LONG, MPI_SUM, procs->comm);
    MPI_Allreduce(&mine, &total, 1, MPI_UNSIGNED_LONG, MPI_SUM, procs->comm);
    const struct pw_clusterfile_rows slab = {total, procs->process ? before : 0, n};
    pw_clusterfile_write(file, table, slab, rows);
}

void pw_samples_write(struct pw_clusterfile *file, const struct pw_procs *procs,
                      const struct pw_samples *s)
{
    int writes = procs->process == 0;
    pw_clusterfile_write_root(file, PW_TABLE_c_queue, writes ? s->queues.n : 0, s->queues.rows);
    write_series(file, procs, PW_TABLE_c_queue_series, s->queues.nseries, s->queues.series);
    pw_clusterfile_write_root(file, PW_TABLE_c_utilisation, writes ? s->usages.n : 0,
                              s->usages.rows);
    write_series(file, procs, PW_TABLE_c_utilisation_series, s->usages.nseries, s->usages.series);
    write_series(file, procs, PW_TABLE_c_gpu_series, s->gpus.n, s->gpus.rows);
    pw_clusterfile_write_root(file, PW_TABLE_c_memory, writes ? s->usages.nmemory : 0,
                              s->usages.memory);
}

void pw_samples_fini(struct pw_samples *s)
{
    pw_queues_fini(&s->queues);
    pw_usages_fini(&s->usages);
    pw_gpuseries_fini(&s->gpus);
}
