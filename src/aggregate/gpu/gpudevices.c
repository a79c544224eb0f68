/* Sums up what ran on each GPU; see gpudevices.h and the definitions in docs/metrics.md. */
#include "aggregate/gpu/gpudevices.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/gpusamples.h"
#include "analysis/occupancy.h"
#include "core/h5/h5reader.h"
#include "core/limits.h"
#include "core/sort.h"
#include "core/text.h"

struct device {
    int is_used;
    struct pw_row_device known;
    struct pw_gputime time;
    struct pw_gpu_samples samples;
    int64_t errors;
    char xids[64]; /* "13, 79": each once */
    int64_t kernels, copies, copied_bytes;
    double weighted, weight; /* occupancy by ns of kernels of which it is known */
};

struct pw_gpudevices {
    struct device all[PW_GPUDEVICES_MOST];
};

static struct device *find(struct pw_gpudevices *d, int32_t number)
{
    return number >= 0 && number < PW_GPUDEVICES_MOST ? &d->all[number] : NULL;
}

static void read_known(struct pw_gpudevices *d, hid_t file)
{
    void *rows;
    size_t n = 0;
    if (pw_h5_read_all(file, PW_TABLE_device, &rows, &n))
        return;
    const struct pw_row_device *devices = rows;
    for (size_t i = 0; i < n; i++) {
        struct device *to = find(d, devices[i].device);
        if (to)
            to->known = devices[i];
    }
    free(rows);
}

static void read_samples(struct pw_gpudevices *d, hid_t file)
{
    void *rows;
    size_t n = 0;
    if (pw_h5_read_all(file, PW_TABLE_gpu, &rows, &n))
        return;
    const struct pw_row_gpu *samples = rows;
    for (size_t i = 0; i < n; i++) {
        struct device *to = find(d, samples[i].device);
        if (to)
            pw_gpu_samples_add(&to->samples, &samples[i]);
    }
    free(rows);
}

static void add_error(struct device *to, int32_t xid)
{
    char text[16];
    struct pw_sentence s = {to->xids, sizeof(to->xids), strlen(to->xids)};
    to->errors++;
    snprintf(text, sizeof(text), "%" PRId32, xid);
    for (const char *at = to->xids; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strncmp(at, text, strlen(text)) == 0 && strchr(", ", at[strlen(text)]))
            return;
    pw_sentence_add(&s, "%s%s", to->xids[0] ? ", " : "", text);
}

static void read_errors(struct pw_gpudevices *d, hid_t file)
{
    void *rows;
    size_t n = 0;
    if (pw_h5_read_all(file, PW_TABLE_gpu_error, &rows, &n))
        return;
    const struct pw_row_gpu_error *errors = rows;
    for (size_t i = 0; i < n; i++) {
        struct device *to = find(d, errors[i].device);
        if (to)
            add_error(to, errors[i].xid);
    }
    free(rows);
}

struct pw_gpudevices *pw_gpudevices_create(const struct pw_input *input)
{
    struct pw_gpudevices *d = calloc(1, sizeof(*d));
    hid_t file;
    if (!d)
        return NULL;
    for (int i = 0; i < PW_GPUDEVICES_MOST; i++)
        pw_gputime_begin(&d->all[i].time, NULL, 0);
    if (pw_h5_open(input->path, &file))
        return d;
    read_known(d, file);
    read_samples(d, file);
    read_errors(d, file);
    pw_h5_close(file);
    return d;
}

void pw_gpudevices_kernel(struct pw_gpudevices *devices, const struct pw_row_kernel *kernel)
{
    struct device *to = find(devices, kernel->device);
    if (!to)
        return;
    const double occupancy = pw_occupancy(&to->known, kernel);
    const double ns = (double)(kernel->end - kernel->start);
    to->kernels++;
    if (occupancy < 0)
        return;
    to->weighted += occupancy * ns;
    to->weight += ns;
}

void pw_gpudevices_copy(struct pw_gpudevices *devices, const struct pw_row_memcpy *copy)
{
    struct device *to = find(devices, copy->device);
    if (!to)
        return;
    to->copies++;
    if (copy->bytes > 0 && pw_is_possible(copy->bytes))
        to->copied_bytes = pw_sum(to->copied_bytes, copy->bytes);
}

void pw_gpudevices_activity(struct pw_gpudevices *devices, const struct pw_gpu_activity *activity)
{
    struct device *to = find(devices, activity->device);
    if (!to)
        return;
    to->is_used = 1;
    pw_gputime_add(&to->time, activity);
}

static double occupancy_of(double weighted, double weight)
{
    return weight > 0 ? weighted / weight : -1;
}

static void copy_text(pw_type_S64 to, const pw_type_S64 from)
{
    memcpy(to, from, sizeof(pw_type_S64));
    to[sizeof(pw_type_S64) - 1] = '\0';
}

static struct pw_row_c_gpu_device make_row(const struct device *d, int number, int32_t rank)
{
    const struct pw_gpu_window *all = &d->time.all;
    struct pw_row_c_gpu_device row = {
        .rank = rank,
        .device = number,
        .kernels = d->kernels,
        .copies = d->copies,
        .copied_bytes = d->copied_bytes,
        .span_ns = all->end - all->start,
        .busy_ns = all->busy_ns,
        .compute_ns = all->compute_ns,
        .comm_ns = all->comm_ns,
        .comm_exposed_ns = all->comm_exposed_ns,
        .copy_ns = all->copy_ns,
        .occupancy = occupancy_of(d->weighted, d->weight),
        .multiprocessors = d->known.multiprocessors,
    };
    copy_text(row.name, d->known.name);
    copy_text(row.uuid, d->known.uuid);
    copy_text(row.bus_id, d->known.bus_id);
    snprintf(row.gpm, sizeof(row.gpm), "%.31s", d->known.gpm);
    snprintf(row.xids, sizeof(row.xids), "%s", d->xids);
    row.errors = d->errors;
    pw_gpu_samples_fill(&d->samples, &row);
    return row;
}

size_t pw_gpudevices_finish(struct pw_gpudevices *devices, struct pw_row_c_gpu_rank *rank,
                            struct pw_row_c_gpu_device rows[PW_GPUDEVICES_MOST])
{
    double weighted = 0, weight = 0;
    size_t n = 0;
    for (int i = 0; i < PW_GPUDEVICES_MOST; i++) {
        struct device *d = &devices->all[i];
        if (!d->is_used)
            continue;
        pw_gputime_end(&d->time);
        weighted += d->weighted;
        weight += d->weight;
        rows[n++] = make_row(d, i, rank->rank);
    }
    rank->devices_used = (int32_t)n;
    rank->occupancy = occupancy_of(weighted, weight);
    return n;
}

void pw_gpudevices_destroy(struct pw_gpudevices *devices)
{
    free(devices);
}

static int by_rank(const void *a, const void *b)
{
    const struct pw_row_c_gpu_device *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->device > y->device) - (x->device < y->device);
}

size_t pw_gpudevices_gather(const struct pw_procs *procs, const struct pw_row_c_gpu_device *mine,
                            size_t nmine, struct pw_row_c_gpu_device **all)
{
    void *rows;
    size_t n = pw_procs_allgather(procs, mine, nmine, sizeof(*mine), &rows);
    *all = rows;
    pw_sort(rows, n, sizeof(*mine), by_rank);
    return n;
}
