/* Reads /events/gpu_error and the counters of /samples/gpu; see gpuhealth.h. */
#include "aggregate/gpu/gpuhealth.h"

#include <stdlib.h>

#include "core/h5/h5reader.h"
#include "core/limits.h"
#include "core/text.h"

enum { DEVICES = 64, XIDS = 8, WORTH_SAYING_NS = 1000000 };

/* A counter: when it was first read, and last; -1 not readable. */
struct counter {
    int64_t first, last;
};

struct health {
    struct counter ecc, links, heat, brake;
    int pending, failed;
};

struct pass {
    struct health devices[DEVICES];
    struct pw_sentence sentence;
    int64_t n;
};

static struct pw_sentence *next(struct pass *p)
{
    if (p->sentence.used)
        pw_sentence_add(&p->sentence, "; ");
    return &p->sentence;
}

static void count(struct counter *c, int64_t value)
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

static void take_sample(struct pass *p, const struct pw_row_gpu *row)
{
    if (row->device < 0 || row->device >= DEVICES)
        return;
    struct health *h = &p->devices[row->device];
    count(&h->ecc, row->ecc_uncorrected);
    count(&h->links, row->nvlink_errors);
    count(&h->heat, row->heat_slowed_ns);
    count(&h->brake, row->brake_slowed_ns);
    h->pending = row->remap_pending > 0;
    h->failed = row->remap_failed > 0;
}

static void say_health(struct pass *p, int device)
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

/* Power limits lower the clocks of every GPU that has much to do. */
static void note_slowing(struct pw_job *job, const struct pw_input *input, const struct pass *p)
{
    char detail[256] = "";
    struct pass said = {.sentence = {detail, sizeof(detail), 0}};
    for (int i = 0; i < DEVICES; i++) {
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

static void read_errors(struct pass *p, hid_t file)
{
    void *rows;
    size_t n;
    if (pw_h5_read_all(file, PW_TABLE_gpu_error, &rows, &n))
        return;
    const struct pw_row_gpu_error *errors = rows;
    for (size_t i = 0; i < n && i < XIDS; i++)
        pw_sentence_add(next(p), "device %d: XID %d", (int)errors[i].device, (int)errors[i].xid);
    p->n += (int64_t)n;
    free(rows);
}

static void read_samples(struct pass *p, hid_t file)
{
    void *rows;
    size_t n;
    for (int i = 0; i < DEVICES; i++)
        p->devices[i] = (struct health){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, 0, 0};
    if (pw_h5_read_all(file, PW_TABLE_gpu, &rows, &n))
        return;
    for (size_t i = 0; i < n; i++)
        take_sample(p, &((const struct pw_row_gpu *)rows)[i]);
    free(rows);
    for (int i = 0; i < DEVICES; i++)
        say_health(p, i);
}

static void note_input(struct pw_job *job, const struct pw_input *input)
{
    char detail[256] = "";
    struct pass p = {.sentence = {detail, sizeof(detail), 0}};
    hid_t file;
    if (pw_h5_open(input->path, &file))
        return;
    read_errors(&p, file);
    read_samples(&p, file);
    H5Fclose(file);
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
