/* Reads the samples of each rank once; samples of GPUs become means over intervals. See
 * samples.h. */
#include "aggregate/samples/samples.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/gpu.h"
#include "core/h5/h5file.h"
#include "core/limits.h"
#include "core/sort.h"

/* ---- clocks, power and temperature of GPUs over the run ---- */

enum { MOST_DEVICES = 32 };

struct mean {
    double sum;
    int64_t n;
};

/* The sums of a device's samples in the current interval. An interval gives one row. */
struct interval {
    int32_t device;
    int64_t samples, slowed, end, memory_used_bytes;
    struct mean clock, power, temperature, busy;
    struct pw_gpu_mean sm, tensor, dram; /* weighted by the time that a sample covers */
};

struct pass {
    struct pw_gpuseries *out;
    const struct pw_input *input;
    struct interval devices[MOST_DEVICES];
    size_t n;
};

static void mean_add(struct mean *mean, int64_t value)
{
    if (value < 0)
        return;
    mean->sum += (double)value;
    mean->n++;
}

static void mean_measured(struct pw_gpu_mean *mean, double share, int64_t ns)
{
    if (!(share >= 0 && share <= 1) || ns <= 0)
        return;
    mean->sum += share * (double)ns;
    mean->weight += (double)ns;
}

static double mean_value(const struct mean *mean, double unit)
{
    return mean->n ? mean->sum / (double)mean->n / unit : -1;
}

/* Returns the device, which it adds if needed; NULL when there are too many. */
static struct interval *find_device(struct pass *p, int32_t device)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->devices[i].device == device)
            return &p->devices[i];
    if (p->n == MOST_DEVICES)
        return NULL;
    p->devices[p->n] = (struct interval){.device = device};
    return &p->devices[p->n++];
}

static void take(struct pass *p, const struct pw_row_gpu *sample)
{
    struct interval *s = pw_is_possible(sample->time) ? find_device(p, sample->device) : NULL;
    if (!s)
        return;
    s->samples++;
    s->slowed += (sample->clock_reasons & PW_CLOCKS_SLOWED) != 0;
    s->end = sample->time;
    s->memory_used_bytes = sample->memory_used_bytes;
    mean_add(&s->clock, sample->sm_clock_mhz);
    mean_add(&s->power, sample->power_mw);
    mean_add(&s->temperature, sample->temperature_c);
    mean_add(&s->busy, sample->busy_percent);
    mean_measured(&s->sm, sample->sm_active, sample->gpm_ns);
    mean_measured(&s->tensor, sample->tensor_active, sample->gpm_ns);
    mean_measured(&s->dram, sample->dram_active, sample->gpm_ns);
}

static struct pw_row_c_gpu_series make_row(const struct pass *p, const struct interval *s)
{
    return (struct pw_row_c_gpu_series){
        .rank = (int32_t)p->input->rank,
        .device = s->device,
        .time = pw_input_time(p->input, s->end),
        .samples = s->samples,
        .sm_clock_mhz = mean_value(&s->clock, 1),
        .slowed_share = (double)s->slowed / (double)s->samples,
        .power_w = mean_value(&s->power, 1e3),
        .temperature_c = mean_value(&s->temperature, 1),
        .busy_share = mean_value(&s->busy, 100),
        .memory_used_bytes = s->memory_used_bytes,
        .sm_active = pw_gpu_mean_value(&s->sm),
        .tensor_active = pw_gpu_mean_value(&s->tensor),
        .dram_active = pw_gpu_mean_value(&s->dram),
    };
}

/* Ends the current interval of all devices, and adds its rows. Returns 0 or -ENOMEM. */
static int flush(struct pass *p)
{
    struct pw_gpuseries *out = p->out;
    struct pw_row_c_gpu_series *rows = realloc(out->rows, (out->n + p->n + 1) * sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    out->rows = rows;
    for (size_t i = 0; i < p->n; i++) {
        struct interval *s = &p->devices[i];
        if (s->samples)
            rows[out->n++] = make_row(p, s);
        *s = (struct interval){.device = s->device};
    }
    return 0;
}

static int by_device(const void *a, const void *b)
{
    const struct pw_row_c_gpu_series *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (x->time > y->time) - (x->time < y->time);
}

/* Returns into how many intervals the run is divided, so that all devices together have at most
 * `points` rows. */
static size_t count_intervals(const struct pw_h5_file *file, size_t points)
{
    uint64_t devices;
    if (pw_h5_file_rows(file, PW_TABLE_device, &devices) || devices < 2)
        return points;
    return devices < points ? points / (size_t)devices : 1;
}

int pw_gpuseries_read(struct pw_gpuseries *series, const struct pw_openfile *file, size_t points)
{
    struct pass p = {.out = series, .input = file->input};
    struct pw_cursor c;
    size_t first = series->n;
    uint64_t stretches = count_intervals(file->file, points), number = 0, stretch = 0;
    int err = pw_cursor_open(&c, file, PW_TABLE_gpu);
    for (const struct pw_row_gpu *row; !err && (row = pw_cursor_next(&c)); number++) {
        uint64_t now = number * stretches / c.place.rows;
        if (now != stretch)
            err = flush(&p);
        stretch = now;
        take(&p, row);
    }
    err = err ? err : flush(&p);
    err = err ? err : c.err;
    pw_cursor_close(&c);
    pw_sort(series->rows ? series->rows + first : NULL, series->n - first, sizeof(*series->rows),
            by_device);
    return err;
}

void pw_gpuseries_fini(struct pw_gpuseries *series)
{
    free(series->rows);
    *series = (struct pw_gpuseries){0};
}

/* Numbers of points in a series: the most for one rank (as many as a screen can show), the least
 * for one rank, and the most for all ranks together (as many as a report can hold). */
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
    struct pw_openfile file = {.input = input};
    int err = pw_input_file(input, types, &file.file);
    if (err)
        return err;
    const int has_texts = pw_openfile_has(&file, PW_TABLE_queue) ||
                          pw_openfile_has(&file, PW_TABLE_hccl_link) ||
                          pw_reported_has_texts(&file);
    if (has_texts && pw_h5_file_strings(file.file, &file.texts, &file.ntexts))
        file.ntexts = 0;
    int queues = pw_queues_read(&s->queues, &file, points);
    int usage = pw_usage_read(&s->usages, &file, points);
    int gpus = pw_gpuseries_read(&s->gpus, &file, points);
    int hccl = pw_hccl_read(&s->hccl, &file);
    int reported = pw_reported_read(&s->reported, &file);
    hccl = hccl == -ENOMEM || !reported ? hccl : reported;
    free(file.texts);
    pw_h5_file_close(file.file);
    err = queues == -ENOMEM || !usage ? queues : usage;
    err = err == -ENOMEM || !gpus ? err : gpus;
    return err == -ENOMEM || !hccl ? err : hccl;
}

/* Whether this process lacks a resource: then the file itself may be valid. */
static int is_shortage(int err)
{
    return err == -ENOMEM || err == -EMFILE || err == -ENFILE;
}

static int read_all(struct pw_samples *s, struct pw_job *job)
{
    struct pw_h5_types *types = pw_h5_types_create();
    int err = types ? 0 : -ENOMEM;
    for (size_t i = 0; i < job->ninputs && !err; i++) {
        int64_t unlisted = s->queues.unlisted, unkept = s->reported.unlisted;
        err = read_rank(s, &job->inputs[i], types, points_of_a_rank(&job->world));
        if (err && !is_shortage(err)) {
            pw_job_note(job, job->inputs[i].rank, "damaged", 1,
                        "its samples cannot be read to the end");
            err = 0;
        }
        unlisted = s->queues.unlisted - unlisted;
        if (unlisted)
            pw_job_note(job, job->inputs[i].rank, "queues_unlisted", unlisted,
                        "samples of queues beyond the number of queues that can be kept");
        unkept = s->reported.unlisted - unkept;
        if (unkept)
            pw_job_note(job, job->inputs[i].rank, "sums_unlisted", unkept,
                        "rows of other profilers' sums beyond the number that can be kept");
    }
    pw_h5_types_destroy(types);
    return err;
}

/* Replaces this process's rows by those of all processes. Collective. */
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
    pw_netcards_arrange(&s->usages.cards, &job->procs);
    pw_hccl_arrange(&s->hccl, &job->procs);
    pw_reported_arrange(&s->reported, &job->procs);
    return 0;
}

/* Writes the series of all processes, one process after another. Collective. */
static void write_series(struct pw_clusterfile *file, const struct pw_procs *procs,
                         enum pw_cluster_table_id table, size_t n, const void *rows)
{
    unsigned long mine = n, before = 0, total = 0;
    pw_ex_exscan(&mine, &before, 1, PW_EX_UNSIGNED_LONG, PW_EX_SUM, procs->comm);
    pw_ex_allreduce(&mine, &total, 1, PW_EX_UNSIGNED_LONG, PW_EX_SUM, procs->comm);
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
    pw_clusterfile_write_root(file, PW_TABLE_c_netcard, writes ? s->usages.cards.n : 0,
                              s->usages.cards.rows);
    write_series(file, procs, PW_TABLE_c_gpu_series, s->gpus.n, s->gpus.rows);
    pw_clusterfile_write_root(file, PW_TABLE_c_memory, writes ? s->usages.nmemory : 0,
                              s->usages.memory);
    pw_clusterfile_write_root(file, PW_TABLE_c_hccl_rank, writes ? s->hccl.nranks : 0,
                              s->hccl.ranks);
    pw_clusterfile_write_root(file, PW_TABLE_c_hccl_link, writes ? s->hccl.nlinks : 0,
                              s->hccl.links);
    pw_clusterfile_write_root(file, PW_TABLE_c_msprof_step, writes ? s->reported.nsteps : 0,
                              s->reported.steps);
    pw_clusterfile_write_root(file, PW_TABLE_c_pipeline_cpu, writes ? s->reported.ncpu : 0,
                              s->reported.cpu);
    pw_clusterfile_write_root(file, PW_TABLE_c_mindinsight_sum, writes ? s->reported.nsums : 0,
                              s->reported.sums);
}

void pw_samples_fini(struct pw_samples *s)
{
    pw_queues_fini(&s->queues);
    pw_usages_fini(&s->usages);
    pw_gpuseries_fini(&s->gpus);
    pw_hccl_fini(&s->hccl);
    pw_reported_fini(&s->reported);
}
