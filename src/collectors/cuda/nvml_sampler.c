/* The thread that reads NVML; see nvml_sampler.h. The lock is held only while data is copied, never
 * during a call of NVML. */
#include "collectors/cuda/nvml_sampler.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collectors/cuda/nvml.h"
#include "rank/ring/tick.h"

/* Counters that change slowly and take longer to read are read at every SLOW-th sample. */
enum { DEVICES = 64, SLOW = 10, GAPS = 16, ERRORS = 64 };

struct device {
    int number;
    char uuid[64], bus_id[32];
    struct pw_row_gpu row;
    char gpm_state[PW_GPM_STATE_BYTES];
    bool is_ready; /* `row` is finished and was not taken yet */
    /* Used by the thread only. */
    struct pw_nvml_target nvml;
    struct pw_gpm *gpm; /* NULL: no GPM */
    bool is_open, is_part;
    int samples;
};

struct pw_nvml_sampler {
    pthread_mutex_t lock;
    pthread_cond_t asked, answered;
    pthread_t thread;
    bool is_running, is_asked, is_reading, stops, has_ended;
    bool is_left;               /* the thread hangs in NVML, so this struct is never freed */
    int64_t row_time, asked_at; /* time of the requested sample, by the rank's clock and by ours */
    int64_t answered_at;        /* time at which it was finished, by the rank's clock */
    struct device devices[DEVICES];
    int ndevices;
    struct pw_nvml_gap open, gaps[GAPS]; /* open.lost 0: none */
    int ngaps;
    struct pw_row_gpu_error errors[ERRORS]; /* errors that were not taken yet */
    int nerrors;
    int64_t missed, nread, cost_ns;
};

struct pw_nvml_sampler *pw_nvml_sampler_create(void)
{
    struct pw_nvml_sampler *s = calloc(1, sizeof(*s));
    pthread_condattr_t monotonic;
    if (!s)
        return NULL;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->asked, NULL);
    pthread_cond_init(&s->answered, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return s;
}

/* ---- the thread ---- */

/* Finds the device in NVML by its UUID, because CUDA may number devices differently. */
static void open_device(struct pw_nvml_sampler *s, struct device *d, struct pw_nvml *nvml)
{
    char bus_id[sizeof(d->bus_id)] = "", state[PW_GPM_STATE_BYTES] = "";
    if (d->is_open)
        return;
    d->is_open = true;
    d->nvml = pw_nvml_find(nvml, d->uuid);
    if (d->nvml.device) {
        pw_nvml_bus(nvml, &d->nvml, bus_id, sizeof(bus_id));
        pw_nvml_watch(nvml, &d->nvml);
        d->gpm = pw_gpm_open(nvml, &d->nvml, state);
    }
    pthread_mutex_lock(&s->lock);
    memcpy(d->bus_id, bus_id, sizeof(bus_id));
    memcpy(d->gpm_state, state, sizeof(state));
    d->is_part = d->nvml.memory != d->nvml.device;
    pthread_mutex_unlock(&s->lock);
}

static void read_device(struct pw_nvml_sampler *s, struct device *d, struct pw_nvml *nvml)
{
    struct pw_row_gpu row = d->row;
    char state[PW_GPM_STATE_BYTES];
    open_device(s, d, nvml);
    if (!d->nvml.device)
        return;
    const int64_t begin = pw_local_ns();
    const bool is_slow = d->samples++ % SLOW == 0;
    memcpy(state, d->gpm_state, sizeof(state));
    pw_nvml_read(nvml, &d->nvml, is_slow, &row);
    pw_gpm_clear(&row);
    if (d->gpm && is_slow)
        pw_gpm_read(d->gpm, pw_local_ns(), &row, state);
    const int64_t end = pw_local_ns();
    pthread_mutex_lock(&s->lock);
    memcpy(d->gpm_state, state, sizeof(state));
    row.time = s->row_time + (end - s->asked_at);
    row.device = d->number;
    d->row = row;
    d->is_ready = true;
    s->cost_ns += end - begin;
    s->nread++;
    pthread_mutex_unlock(&s->lock);
}

/* Adds an error. On a divided GPU, each instance that the program uses gets it. */
static void add_error(struct pw_nvml_sampler *s, struct pw_row_gpu_error *error,
                      const struct pw_nvml_device *whose)
{
    pthread_mutex_lock(&s->lock);
    error->time = s->row_time + (pw_local_ns() - s->asked_at);
    for (int i = 0; i < s->ndevices; i++)
        if (s->devices[i].nvml.device == whose && s->nerrors < ERRORS) {
            error->device = s->devices[i].number;
            s->errors[s->nerrors++] = *error;
        }
    pthread_mutex_unlock(&s->lock);
}

static void read_errors(struct pw_nvml_sampler *s, const struct pw_nvml *nvml)
{
    struct pw_row_gpu_error error;
    struct pw_nvml_device *whose;
    for (int i = 0; i < ERRORS && pw_nvml_next_error(nvml, &error, &whose); i++)
        add_error(s, &error, whose);
}

/* Waits for a request. Returns the number of devices to read; -1: the thread must end. */
static int wait_for_request(struct pw_nvml_sampler *s)
{
    pthread_mutex_lock(&s->lock);
    while (!s->is_asked && !s->stops)
        pthread_cond_wait(&s->asked, &s->lock);
    const int n = s->is_asked ? s->ndevices : -1;
    s->is_asked = false;
    s->is_reading = n >= 0;
    pthread_mutex_unlock(&s->lock);
    return n;
}

static void answer(struct pw_nvml_sampler *s, bool ends)
{
    pthread_mutex_lock(&s->lock);
    if (s->is_reading)
        s->answered_at = s->row_time + (pw_local_ns() - s->asked_at);
    s->is_reading = false;
    s->has_ended = ends;
    pthread_cond_signal(&s->answered);
    pthread_mutex_unlock(&s->lock);
}

static void *run(void *sampler)
{
    struct pw_nvml_sampler *s = sampler;
    struct pw_nvml *nvml = NULL;
    bool has_looked = false;
    for (int n; (n = wait_for_request(s)) >= 0; answer(s, false)) {
        if (!has_looked)
            nvml = pw_nvml_open();
        has_looked = true;
        for (int i = 0; i < n && nvml; i++)
            read_device(s, &s->devices[i], nvml);
        if (nvml)
            read_errors(s, nvml);
    }
    for (int i = 0; i < DEVICES; i++)
        pw_gpm_close(s->devices[i].gpm);
    pw_nvml_close(nvml);
    answer(s, true);
    return NULL;
}

static void begin_thread(struct pw_nvml_sampler *s)
{
    sigset_t all, before;
    sigfillset(&all);
    /* The main thread handles signals. */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    s->is_running = pthread_create(&s->thread, NULL, run, s) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void pw_nvml_sampler_add(struct pw_nvml_sampler *s, int device, const char *uuid)
{
    pthread_mutex_lock(&s->lock);
    if (s->ndevices < DEVICES) {
        struct device *d = &s->devices[s->ndevices++];
        d->number = device;
        snprintf(d->uuid, sizeof(d->uuid), "%s", uuid);
    }
    pthread_mutex_unlock(&s->lock);
    if (!s->is_running)
        begin_thread(s);
}

/* ---- requests and results ---- */

static void end_gap(struct pw_nvml_sampler *s, int64_t end_ns)
{
    if (s->open.lost && end_ns - s->open.start >= PW_NVML_LATE_NS && s->ngaps < GAPS) {
        s->open.end = end_ns;
        s->gaps[s->ngaps++] = s->open;
    }
    s->open = (struct pw_nvml_gap){0};
}

void pw_nvml_sampler_ask(struct pw_nvml_sampler *s, int64_t now_ns)
{
    if (!s->is_running)
        return;
    pthread_mutex_lock(&s->lock);
    if (s->is_asked || s->is_reading) {
        if (!s->open.lost)
            s->open.start = now_ns;
        s->open.lost += s->ndevices;
        s->missed += s->ndevices;
    } else {
        end_gap(s, s->answered_at);
        s->is_asked = true;
        s->row_time = now_ns;
        s->asked_at = pw_local_ns();
        pthread_cond_signal(&s->asked);
    }
    pthread_mutex_unlock(&s->lock);
}

bool pw_nvml_sampler_take(struct pw_nvml_sampler *s, struct pw_row_gpu *row)
{
    bool is_there = false;
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->ndevices && !is_there; i++) {
        struct device *d = &s->devices[i];
        is_there = d->is_ready;
        d->is_ready = false;
        *row = is_there ? d->row : *row;
    }
    pthread_mutex_unlock(&s->lock);
    return is_there;
}

bool pw_nvml_sampler_gap(struct pw_nvml_sampler *s, struct pw_nvml_gap *gap)
{
    const bool is_there = s->ngaps > 0;
    if (is_there)
        *gap = s->gaps[--s->ngaps];
    return is_there;
}

bool pw_nvml_sampler_error(struct pw_nvml_sampler *s, struct pw_row_gpu_error *error)
{
    pthread_mutex_lock(&s->lock);
    const bool is_there = s->nerrors > 0;
    if (is_there) {
        *error = s->errors[0];
        memmove(&s->errors[0], &s->errors[1], (size_t)--s->nerrors * sizeof(s->errors[0]));
    }
    pthread_mutex_unlock(&s->lock);
    return is_there;
}

bool pw_nvml_sampler_describe(struct pw_nvml_sampler *s, int device, struct pw_row_device *row)
{
    bool is_part = false;
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->ndevices; i++)
        if (s->devices[i].number == device) {
            snprintf(row->bus_id, sizeof(row->bus_id), "%s", s->devices[i].bus_id);
            snprintf(row->gpm, sizeof(row->gpm), "%s", s->devices[i].gpm_state);
            is_part = s->devices[i].is_part;
        }
    pthread_mutex_unlock(&s->lock);
    return is_part;
}

/* ---- the end ---- */

static bool wait_for_end(struct pw_nvml_sampler *s)
{
    struct timespec until;
    int err = 0;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PW_NVML_LATE_NS / 1000000000;
    while (!s->has_ended && !err)
        err = pthread_cond_timedwait(&s->answered, &s->lock, &until);
    return s->has_ended;
}

void pw_nvml_sampler_stop(struct pw_nvml_sampler *s, int64_t now_ns)
{
    if (!s->is_running || s->stops)
        return;
    pthread_mutex_lock(&s->lock);
    s->stops = true;
    pthread_cond_signal(&s->asked);
    const int64_t begin = pw_local_ns();
    const bool has_ended = wait_for_end(s);
    end_gap(s, has_ended ? s->answered_at : now_ns + (pw_local_ns() - begin));
    s->is_left = !has_ended;
    pthread_mutex_unlock(&s->lock);
    if (has_ended)
        pthread_join(s->thread, NULL);
    else
        pthread_detach(s->thread);
}

void pw_nvml_sampler_costs(struct pw_nvml_sampler *s, struct pw_nvml_costs *out)
{
    pthread_mutex_lock(&s->lock);
    *out = (struct pw_nvml_costs){
        .missed = s->missed, .sample_ns = s->nread ? (double)s->cost_ns / (double)s->nread : 0};
    pthread_mutex_unlock(&s->lock);
}

void pw_nvml_sampler_destroy(struct pw_nvml_sampler *s)
{
    if (!s)
        return;
    pw_nvml_sampler_stop(s, 0);
    if (s->is_left)
        return;
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->asked);
    pthread_cond_destroy(&s->answered);
    free(s);
}
