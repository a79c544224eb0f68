/* Sums up what ran on each GPU, and what the driver and NVML reported of it; see gpudevices.h and
 * the definitions in docs/metrics.md. */
#include "aggregate/gpu/gpudevices.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/gpu.h"
#include "core/h5/h5file.h"
#include "core/limits.h"
#include "core/sort.h"
#include "core/text.h"

struct device {
    int is_used;
    struct pw_row_device known;
    struct pw_gputime time;
    struct pw_gpu_samples samples;
    int64_t errors;
    char xids[64]; /* such as "13, 79": each code once */
    int64_t kernels, copies, copied_bytes;
    double weighted, weight; /* over kernels with a known occupancy: the sum of occupancy x
                                duration, and of the duration (ns) */
};

struct pw_gpudevices {
    struct device all[PW_GPUDEVICES_MOST];
};

static struct device *find(struct pw_gpudevices *d, int32_t number)
{
    return number >= 0 && number < PW_GPUDEVICES_MOST ? &d->all[number] : NULL;
}

static void read_known(struct pw_gpudevices *d, const struct pw_h5_file *file)
{
    void *rows;
    size_t n = 0;
    if (pw_h5_file_read_all(file, PW_TABLE_device, &rows, &n))
        return;
    const struct pw_row_device *devices = rows;
    for (size_t i = 0; i < n; i++) {
        struct device *to = find(d, devices[i].device);
        if (to)
            to->known = devices[i];
    }
    free(rows);
}

static void read_samples(struct pw_gpudevices *d, const struct pw_h5_file *file)
{
    void *rows;
    size_t n = 0;
    if (pw_h5_file_read_all(file, PW_TABLE_gpu, &rows, &n))
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

static void read_errors(struct pw_gpudevices *d, const struct pw_h5_file *file)
{
    void *rows;
    size_t n = 0;
    if (pw_h5_file_read_all(file, PW_TABLE_gpu_error, &rows, &n))
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
    struct pw_h5_file *file;
    if (!d)
        return NULL;
    for (int i = 0; i < PW_GPUDEVICES_MOST; i++)
        pw_gputime_begin(&d->all[i].time, NULL, 0);
    if (pw_input_file(input, NULL, &file))
        return d;
    read_known(d, file);
    read_samples(d, file);
    read_errors(d, file);
    pw_h5_file_close(file);
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

/* ---- the devices of a rank, and the samples of their clocks ---- */

static void read_devices(const struct pw_h5_file *file, struct pw_row_c_gpu_rank *row)
{
    void *rows;
    size_t n = 0;
    if (pw_h5_file_read_all(file, PW_TABLE_device, &rows, &n))
        return;
    const struct pw_row_device *devices = rows;
    row->devices = (int32_t)n;
    if (n)
        memcpy(row->device, devices[0].name, sizeof(row->device));
    row->device[sizeof(row->device) - 1] = '\0';
    free(rows);
}

static void read_clocks(const struct pw_h5_file *file, struct pw_row_c_gpu_rank *row)
{
    struct pw_gpu_clocks clocks = {0};
    void *rows;
    size_t n = 0;
    if (pw_h5_file_read_all(file, PW_TABLE_gpu, &rows, &n))
        return;
    const struct pw_row_gpu *samples = rows;
    for (size_t i = 0; i < n; i++)
        pw_gpu_clocks_add(&clocks, &samples[i]);
    row->samples = clocks.samples;
    row->sm_clock_mhz = pw_gpu_clocks_mean(&clocks);
    row->clock_reasons = pw_gpu_clocks_reasons(&clocks);
    row->slowed_share =
        clocks.samples ? (double)clocks.slowed / (double)clocks.samples : row->slowed_share;
    free(rows);
}

void pw_gpuclocks_read(const struct pw_input *input, struct pw_row_c_gpu_rank *row)
{
    struct pw_h5_file *file;
    row->sm_clock_mhz = row->slowed_share = -1;
    if (pw_input_file(input, NULL, &file))
        return;
    read_devices(file, row);
    read_clocks(file, row);
    pw_h5_file_close(file);
}

/* ---- GPUs with errors, or with lowered clocks, for /completeness ---- */

enum { XIDS = 8, WORTH_SAYING_NS = 1000000 };

/* A counter: its first and its last value; -1: not readable. */
struct counter {
    int64_t first, last;
};

struct health {
    struct counter ecc, links, heat, brake;
    int pending, failed;
};

struct checkup {
    struct health devices[PW_GPUDEVICES_MOST];
    struct pw_sentence sentence;
    int64_t n;
};

static struct pw_sentence *next(struct checkup *p)
{
    if (p->sentence.used)
        pw_sentence_add(&p->sentence, "; ");
    return &p->sentence;
}

static void read_counter(struct counter *c, int64_t value)
{
    if (!pw_is_possible(value) || value < 0)
        return;
    c->first = c->first < 0 ? value : c->first;
    c->last = value;
}

static int64_t rise(const struct counter *c)
{
    return c->last > c->first ? c->last - c->first : 0;
}

static void take_sample(struct checkup *p, const struct pw_row_gpu *row)
{
    if (row->device < 0 || row->device >= PW_GPUDEVICES_MOST)
        return;
    struct health *h = &p->devices[row->device];
    read_counter(&h->ecc, row->ecc_uncorrected);
    read_counter(&h->links, row->nvlink_errors);
    read_counter(&h->heat, row->heat_slowed_ns);
    read_counter(&h->brake, row->brake_slowed_ns);
    h->pending = row->remap_pending > 0;
    h->failed = row->remap_failed > 0;
}

static void say_health(struct checkup *p, int device)
{
    const struct health *h = &p->devices[device];
    if (rise(&h->ecc))
        pw_sentence_add(next(p), "device %d: %lld uncorrectable ECC errors", device,
                        (long long)rise(&h->ecc));
    if (rise(&h->links))
        pw_sentence_add(next(p), "device %d: %lld errors of NVLink", device,
                        (long long)rise(&h->links));
    if (h->failed)
        pw_sentence_add(next(p), "device %d: rows of memory could not be remapped", device);
    else if (h->pending)
        pw_sentence_add(next(p), "device %d: rows of memory wait for a reset to be remapped",
                        device);
    p->n = pw_sum(p->n, pw_sum(rise(&h->ecc), rise(&h->links)));
    p->n += h->failed || h->pending;
}

/* Notes clocks lowered by heat or the power brake. Power limits are normal: they lower the clocks
 * of every busy GPU. */
static void note_slowing(struct pw_job *job, const struct pw_input *input, const struct checkup *p)
{
    char detail[256] = "";
    struct checkup said = {.sentence = {detail, sizeof(detail), 0}};
    for (int i = 0; i < PW_GPUDEVICES_MOST; i++) {
        const struct health *h = &p->devices[i];
        const int64_t heat = rise(&h->heat), brake = rise(&h->brake);
        if (heat >= WORTH_SAYING_NS)
            pw_sentence_add(next(&said), "device %d: heat lowered the clocks for %.3f s", i,
                            (double)heat / 1e9);
        if (brake >= WORTH_SAYING_NS)
            pw_sentence_add(next(&said), "device %d: the power brake lowered the clocks for %.3f s",
                            i, (double)brake / 1e9);
        said.n += heat >= WORTH_SAYING_NS || brake >= WORTH_SAYING_NS;
    }
    if (said.n)
        pw_job_note(job, input->rank, "gpu_slowed", said.n, detail);
}

static void say_xids(struct checkup *p, const struct pw_h5_file *file)
{
    void *rows;
    size_t n;
    if (pw_h5_file_read_all(file, PW_TABLE_gpu_error, &rows, &n))
        return;
    const struct pw_row_gpu_error *errors = rows;
    for (size_t i = 0; i < n && i < XIDS; i++)
        pw_sentence_add(next(p), "device %d: XID %d", (int)errors[i].device, (int)errors[i].xid);
    p->n += (int64_t)n;
    free(rows);
}

static void say_counters(struct checkup *p, const struct pw_h5_file *file)
{
    void *rows;
    size_t n;
    for (int i = 0; i < PW_GPUDEVICES_MOST; i++)
        p->devices[i] = (struct health){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, 0, 0};
    if (pw_h5_file_read_all(file, PW_TABLE_gpu, &rows, &n))
        return;
    for (size_t i = 0; i < n; i++)
        take_sample(p, &((const struct pw_row_gpu *)rows)[i]);
    free(rows);
    for (int i = 0; i < PW_GPUDEVICES_MOST; i++)
        say_health(p, i);
}

static void note_input(struct pw_job *job, const struct pw_input *input)
{
    char detail[256] = "";
    struct checkup p = {.sentence = {detail, sizeof(detail), 0}};
    struct pw_h5_file *file;
    if (pw_input_file(input, NULL, &file))
        return;
    say_xids(&p, file);
    say_counters(&p, file);
    pw_h5_file_close(file);
    if (p.n)
        pw_job_note(job, input->rank, "gpu_errors", p.n, detail);
    note_slowing(job, input, &p);
}

void pw_gpuhealth_note(struct pw_job *job)
{
    for (size_t i = 0; i < job->ninputs; i++)
        if (job->inputs[i].kernel_rows.rows)
            note_input(job, &job->inputs[i]);
}
