/* Reads /events/gpu_error and the counters of /samples/gpu; see gpuhealth.h. */
#include "aggregate/gpu/gpuhealth.h"

#include <stdlib.h>

#include "core/h5reader.h"
#include "core/sentence.h"

enum { DEVICES = 64, XIDS = 8 };

struct health {
    int64_t ecc_first, ecc, links_first, links; /* -1 not known */
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

static void take_sample(struct pass *p, const struct pw_row_gpu *row)
{
    if (row->device < 0 || row->device >= DEVICES)
        return;
    struct health *h = &p->devices[row->device];
    if (row->ecc_uncorrected >= 0) {
        h->ecc_first = h->ecc_first < 0 ? row->ecc_uncorrected : h->ecc_first;
        h->ecc = row->ecc_uncorrected;
    }
    if (row->nvlink_errors >= 0) {
        h->links_first = h->links_first < 0 ? row->nvlink_errors : h->links_first;
        h->links = row->nvlink_errors;
    }
    h->pending = row->remap_pending > 0;
    h->failed = row->remap_failed > 0;
}

static void say_health(struct pass *p, int device)
{
    const struct health *h = &p->devices[device];
    if (h->ecc > h->ecc_first) {
        pw_sentence_add(next(p), "device %d: %lld uncorrectable ECC errors", device,
                        (long long)(h->ecc - h->ecc_first));
        p->n += h->ecc - h->ecc_first;
    }
    if (h->links > h->links_first) {
        pw_sentence_add(next(p), "device %d: %lld errors of NVLink", device,
                        (long long)(h->links - h->links_first));
        p->n += h->links - h->links_first;
    }
    if (h->failed)
        pw_sentence_add(next(p), "device %d: rows of memory could not be remapped", device);
    else if (h->pending)
        pw_sentence_add(next(p), "device %d: rows of memory wait for a reset to be remapped",
                        device);
    p->n += h->failed || h->pending;
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
        p->devices[i] = (struct health){-1, -1, -1, -1, 0, 0};
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
}

void pw_gpuhealth_note(struct pw_job *job)
{
    for (size_t i = 0; i < job->ninputs; i++)
        if (job->inputs[i].kernel_rows.rows)
            note_input(job, &job->inputs[i]);
}
