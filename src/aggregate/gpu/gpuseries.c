/* Means of /samples/gpu over stretches; see gpuseries.h. */
#include "aggregate/gpu/gpuseries.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/gpusamples.h"
#include "core/h5/h5reader.h"
#include "core/limits.h"
#include "core/sort.h"

enum { MOST_DEVICES = 32 };

struct mean {
    double sum;
    int64_t n;
};

/* A device's samples since its last row. */
struct stretch {
    int32_t device;
    int64_t samples, slowed, end, memory_used_bytes;
    struct mean clock, power, temperature, busy;
    struct pw_gpu_mean sm, tensor, dram; /* by the time that they are of */
};

struct pass {
    struct pw_gpuseries *out;
    const struct pw_input *input;
    struct stretch devices[MOST_DEVICES];
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

/* NULL when there are too many. */
static struct stretch *find_device(struct pass *p, int32_t device)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->devices[i].device == device)
            return &p->devices[i];
    if (p->n == MOST_DEVICES)
        return NULL;
    p->devices[p->n] = (struct stretch){.device = device};
    return &p->devices[p->n++];
}

static void take(struct pass *p, const struct pw_row_gpu *sample)
{
    struct stretch *s = pw_is_possible(sample->time) ? find_device(p, sample->device) : NULL;
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

static struct pw_row_c_gpu_series make_row(const struct pass *p, const struct stretch *s)
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

/* Ends the stretch of all devices. */
static int flush(struct pass *p)
{
    struct pw_gpuseries *out = p->out;
    struct pw_row_c_gpu_series *rows = realloc(out->rows, (out->n + p->n + 1) * sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    out->rows = rows;
    for (size_t i = 0; i < p->n; i++) {
        struct stretch *s = &p->devices[i];
        if (s->samples)
            rows[out->n++] = make_row(p, s);
        *s = (struct stretch){.device = s->device};
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

/* So many stretches that all devices together have at most `points` rows. */
static size_t count_stretches(hid_t file, size_t points)
{
    hsize_t devices[2] = {0, 0};
    if (pw_h5_extent(file, PW_TABLE_device, devices) || devices[0] < 2)
        return points;
    return devices[0] < points ? points / (size_t)devices[0] : 1;
}

int pw_gpuseries_read(struct pw_gpuseries *series, const struct pw_openfile *file, size_t points)
{
    struct pass p = {.out = series, .input = file->input};
    struct pw_cursor c;
    size_t first = series->n;
    uint64_t stretches = count_stretches(file->file, points), number = 0, stretch = 0;
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
