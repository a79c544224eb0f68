/* Joins the rows of /gpu_devices that belong to one GPU, by its UUID or bus address; see gpulist.h.
 */
#include "report/content/gpulist.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "core/sort.h"
#include "core/text.h"

enum { RANKS_TOLD = 6, HOST = 64 };

static const char *host_of(const struct pw_figures *f, int32_t rank)
{
    const int64_t row = pw_figures_row(f, rank);
    return row < 0 ? "" : f->cluster->ranks[row].hostname;
}

/* Returns what identifies the GPU on its host: its UUID, else its bus address; "": not known. Then
 * it counts as a GPU of this rank only. */
static const char *identity_of(const struct pw_row_c_gpu_device *row)
{
    return row->uuid[0] ? row->uuid : row->bus_id;
}

static int is_one(const struct pw_gpulist_row *gpu, const struct pw_row_c_gpu_device *row,
                  const char *hostname)
{
    const char *a = identity_of(&gpu->all), *b = identity_of(row);
    return *a && strncmp(a, b, sizeof(row->uuid)) == 0 &&
           strncmp(gpu->hostname, hostname, HOST) == 0;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static double most_of(double a, double b)
{
    return a > b ? a : b;
}

/* Joins the samples of one GPU by several ranks: the values of the rank with most samples, and the
 * largest of maxima. */
static void join_samples(struct pw_row_c_gpu_device *all, const struct pw_row_c_gpu_device *row)
{
    all->memory_most_bytes = most(all->memory_most_bytes, row->memory_most_bytes);
    all->power_most_w = most_of(all->power_most_w, row->power_most_w);
    all->temperature_most_c = most_of(all->temperature_most_c, row->temperature_most_c);
    all->power_capped_ns = most(all->power_capped_ns, row->power_capped_ns);
    all->heat_slowed_ns = most(all->heat_slowed_ns, row->heat_slowed_ns);
    all->brake_slowed_ns = most(all->brake_slowed_ns, row->brake_slowed_ns);
    if (row->samples > all->samples) {
        all->samples = row->samples;
        all->power_w = row->power_w;
        all->sm_clock_mhz = row->sm_clock_mhz;
        all->slowed_share = row->slowed_share;
    }
    if (row->errors > all->errors) {
        all->errors = row->errors;
        memcpy(all->xids, row->xids, sizeof(all->xids));
    }
#define COPY(type, name, unit, meaning) all->name = row->name;
    if (row->gpm_ns > all->gpm_ns) {
        all->gpm_ns = row->gpm_ns;
        memcpy(all->gpm, row->gpm, sizeof(all->gpm));
        PW_GPM_FIELDS(COPY)
    }
#undef COPY
}

static void join(struct pw_gpulist_row *gpu, const struct pw_row_c_gpu_device *row)
{
    struct pw_row_c_gpu_device *all = &gpu->all;
    all->kernels = pw_sum(all->kernels, row->kernels);
    all->copies = pw_sum(all->copies, row->copies);
    all->copied_bytes = pw_sum(all->copied_bytes, row->copied_bytes);
    all->span_ns = most(all->span_ns, row->span_ns);
    all->busy_ns = pw_sum(all->busy_ns, row->busy_ns);
    all->compute_ns = pw_sum(all->compute_ns, row->compute_ns);
    all->comm_ns = pw_sum(all->comm_ns, row->comm_ns);
    all->comm_exposed_ns = pw_sum(all->comm_exposed_ns, row->comm_exposed_ns);
    all->copy_ns = pw_sum(all->copy_ns, row->copy_ns);
    all->occupancy = -1;
    join_samples(all, row);
}

static void tell_rank(struct pw_gpulist_row *gpu, int32_t rank)
{
    struct pw_sentence s = {gpu->ranks, sizeof(gpu->ranks), strlen(gpu->ranks)};
    if (gpu->nranks < RANKS_TOLD)
        pw_sentence_add(&s, "%s%" PRId32, gpu->nranks ? ", " : "", rank);
    else if (gpu->nranks == RANKS_TOLD)
        pw_sentence_add(&s, " ...");
    gpu->nranks++;
}

static int by_host(const void *a, const void *b)
{
    const struct pw_gpulist_row *x = a, *y = b;
    const int host = strncmp(x->hostname, y->hostname, HOST);
    if (host)
        return host;
    if (x->all.rank != y->all.rank)
        return x->all.rank < y->all.rank ? -1 : 1;
    return (x->all.device > y->all.device) - (x->all.device < y->all.device);
}

static struct pw_roof roof_of(const struct pw_row_c_gpu_device *row)
{
    const struct pw_roofline_input in = {.engine = row->engine_active,
                                         .tensor = row->tensor_active,
                                         .fp64 = row->fp64_active,
                                         .fp32 = row->fp32_active,
                                         .fp16 = row->fp16_active,
                                         .dram = row->dram_active};
    return row->gpm_ns > 0 ? pw_roofline_nearest(&in) : (struct pw_roof){NULL, -1};
}

static void conclude(struct pw_gpulist *out)
{
    pw_sort(out->rows, out->n, sizeof(*out->rows), by_host);
    for (size_t i = 0; i < out->n; i++) {
        struct pw_gpulist_row *row = &out->rows[i];
        out->nhosts += !i || strncmp(row->hostname, row[-1].hostname, HOST) != 0;
        out->is_shared |= row->nranks > 1;
        out->is_sampled |= row->all.power_w > 0 || row->all.memory_most_bytes > 0;
        out->is_measured |= row->all.gpm_ns > 0;
        row->roof = roof_of(&row->all);
    }
}

/* Returns the row of the GPU, or NULL. Searches the latest rows only, because a host has few
 * ranks. */
static struct pw_gpulist_row *find(struct pw_gpulist *out, const struct pw_row_c_gpu_device *row,
                                   const char *hostname)
{
    enum { LOOK_BACK = 512 };
    for (size_t i = out->n, left = LOOK_BACK; i-- > 0 && left-- > 0;)
        if (is_one(&out->rows[i], row, hostname))
            return &out->rows[i];
    return NULL;
}

int pw_gpulist_make(const struct pw_figures *f, struct pw_gpulist *out)
{
    const struct pw_cluster *c = f->cluster;
    *out = (struct pw_gpulist){.rows = calloc(c->ngpu_devices + 1, sizeof(*out->rows))};
    if (!out->rows)
        return -ENOMEM;
    for (size_t i = 0; i < c->ngpu_devices; i++) {
        const struct pw_row_c_gpu_device *row = &c->gpu_devices[i];
        const char *hostname = host_of(f, row->rank);
        struct pw_gpulist_row *gpu = find(out, row, hostname);
        if (gpu) {
            join(gpu, row);
        } else {
            gpu = &out->rows[out->n++];
            gpu->all = *row;
            gpu->hostname = hostname;
        }
        tell_rank(gpu, row->rank);
    }
    conclude(out);
    return 0;
}

void pw_gpulist_fini(struct pw_gpulist *list)
{
    free(list->rows);
    *list = (struct pw_gpulist){0};
}
