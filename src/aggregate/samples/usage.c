/* Takes the differences of counters between the first and the last sample of the measured steps;
 * see usage.h. */
#include "aggregate/samples/usage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"
#include "core/limits.h"
#include "core/sort.h"

/* Returns 0 or -errno; the reading must be closed in both cases. */
static int netcards_open(struct pw_netcard_reading *r, const struct pw_openfile *file)
{
    *r = (struct pw_netcard_reading){.input = file->input, .is_open = 1};
    return pw_cursor_open(&r->cursor, file, PW_TABLE_netcard);
}

static void netcards_close(struct pw_netcard_reading *r)
{
    if (r->is_open)
        pw_cursor_close(&r->cursor);
    r->is_open = 0;
}

static void read_next(struct pw_netcard_reading *r)
{
    const struct pw_row_netcard *row;
    do
        row = pw_cursor_next(&r->cursor);
    while (row && !pw_is_possible(row->time));
    r->has_coming = row != NULL;
    if (row)
        r->coming = *row;
}

/* Returns the card of a sample; a new one begins with it. NULL: there are too many. */
static struct pw_netcard *find(struct pw_netcard_reading *r, const struct pw_row_netcard *row)
{
    for (size_t i = 0; i < r->n; i++)
        if (strncmp(r->cards[i].last.card, row->card, sizeof(row->card)) == 0)
            return &r->cards[i];
    if (r->n == PW_NETCARDS_MOST)
        return NULL;
    r->cards[r->n] = (struct pw_netcard){*row, *row};
    return &r->cards[r->n++];
}

/* Returns the growth of a counter; -1: not known. */
static int64_t grown(int64_t before, int64_t after)
{
    return before < 0 || after < before || !pw_is_possible(after) ? -1 : after - before;
}

/* The traffic of IP over InfiniBand counts in the port, too. */
static int is_in_port(const struct pw_netcard_reading *r, const struct pw_netcard *card)
{
    int has_ports = 0;
    for (size_t i = 0; i < r->n; i++)
        has_ports |= memchr(r->cards[i].last.card, '/', sizeof(r->cards[i].last.card)) != NULL;
    return has_ports && strncmp(card->last.card, "ib", 2) == 0 &&
           !memchr(card->last.card, '/', sizeof(card->last.card));
}

/* Takes the samples up to a local time, which must not be before that of the last call. */
static struct pw_netcard_sums netcards_advance(struct pw_netcard_reading *r, int64_t local_ns)
{
    struct pw_netcard_sums sums = {-1, -1};
    if (!r->has_coming && !r->n)
        read_next(r);
    while (r->has_coming && r->coming.time <= local_ns) {
        struct pw_netcard *card = find(r, &r->coming);
        if (card)
            card->last = r->coming;
        read_next(r);
    }
    for (size_t i = 0; i < r->n; i++) {
        const struct pw_netcard *card = &r->cards[i];
        const int64_t received = grown(card->first.recv_bytes, card->last.recv_bytes);
        const int64_t sent = grown(card->first.sent_bytes, card->last.sent_bytes);
        if (received < 0 || sent < 0 || is_in_port(r, card))
            continue;
        sums.recv_bytes = pw_sum(sums.recv_bytes < 0 ? 0 : sums.recv_bytes, received);
        sums.sent_bytes = pw_sum(sums.sent_bytes < 0 ? 0 : sums.sent_bytes, sent);
    }
    return sums;
}

static double per_second(int64_t count, int64_t ns)
{
    return count < 0 || ns <= 0 ? -1 : (double)count * 1e9 / (double)ns;
}

static struct pw_row_c_netcard make_row(const struct pw_input *input, const struct pw_netcard *card,
                                        int64_t span)
{
    const struct pw_row_netcard *a = &card->first, *b = &card->last;
    struct pw_row_c_netcard row = {
        .rank = (int32_t)input->rank,
        .span_ns = span,
        .recv_bytes = grown(a->recv_bytes, b->recv_bytes),
        .sent_bytes = grown(a->sent_bytes, b->sent_bytes),
        .recv_packets = grown(a->recv_packets, b->recv_packets),
        .sent_packets = grown(a->sent_packets, b->sent_packets),
        .errors = grown(a->errors, b->errors),
        .drops = grown(a->drops, b->drops),
    };
    row.recv_bytes_per_s = per_second(row.recv_bytes, span);
    row.sent_bytes_per_s = per_second(row.sent_bytes, span);
    memcpy(row.hostname, input->hostname, sizeof(row.hostname));
    memcpy(row.card, b->card, sizeof(row.card));
    return row;
}

/* Adds a row for each card, over [from, until) in local time; reads the samples again. Returns 0,
 * -ENOMEM, or another -errno when the table is damaged. */
static int netcards_add(struct pw_netcards *out, struct pw_netcard_reading *r, int64_t from,
                        int64_t until)
{
    r->n = 0;
    pw_cursor_rewind(&r->cursor);
    for (read_next(r); r->has_coming && r->coming.time <= until; read_next(r)) {
        struct pw_netcard *card = find(r, &r->coming);
        if (!card)
            continue;
        card->last = r->coming;
        if (r->coming.time <= from)
            card->first = r->coming;
    }
    struct pw_row_c_netcard *rows = realloc(out->rows, (out->n + r->n + 1) * sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    out->rows = rows;
    for (size_t i = 0; i < r->n; i++)
        rows[out->n++] = make_row(r->input, &r->cards[i], until - from);
    return r->cursor.err;
}

/* By host, rank, and card. */
static int by_host(const void *a, const void *b)
{
    const struct pw_row_c_netcard *x = a, *y = b;
    const int order = strncmp(x->hostname, y->hostname, sizeof(x->hostname));
    if (order)
        return order;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return strncmp(x->card, y->card, sizeof(x->card));
}

void pw_netcards_arrange(struct pw_netcards *cards, const struct pw_procs *procs)
{
    void *all;
    size_t kept = 0;
    const size_t n = pw_procs_allgather(procs, cards->rows, cards->n, sizeof(*cards->rows), &all);
    free(cards->rows);
    struct pw_row_c_netcard *rows = all;
    cards->rows = rows;
    pw_sort(rows, n, sizeof(*rows), by_host);
    for (size_t i = 0; i < n; i++) {
        const struct pw_row_c_netcard *before = kept ? &rows[kept - 1] : NULL;
        if (!before || before->rank == rows[i].rank ||
            strncmp(before->hostname, rows[i].hostname, sizeof(rows[i].hostname)) != 0)
            rows[kept++] = rows[i];
    }
    cards->n = kept;
}

static void netcards_fini(struct pw_netcards *cards)
{
    free(cards->rows);
    *cards = (struct pw_netcards){0};
}

/* ---- growth of memory: a line through the amount that was allocated at the end of each measured
 * step ---- */

struct pw_growth {
    const struct pw_input *input;
    /* `all`: over all measured steps; `later`: over their second half */
    struct pw_trend all, later;
    /* first, middle and last measured step, as rows of the input's steps */
    ptrdiff_t first, half, last;
    ptrdiff_t at, near; /* the step of the last amount, -1: none; the step looked up last */
    int64_t samples, peak, end, open; /* open: the last amount */
};

static int is_measured(const struct pw_input *input, ptrdiff_t s)
{
    return input->steps[s].recorded == PW_RECORDED_ACTIVE;
}

static void pw_growth_begin(struct pw_growth *g, const struct pw_input *input)
{
    *g = (struct pw_growth){.input = input, .first = -1, .last = -1, .at = -1, .near = -1};
    for (ptrdiff_t s = 0; s < (ptrdiff_t)input->nsteps; s++)
        if (is_measured(input, s)) {
            g->first = g->first < 0 ? s : g->first;
            g->last = s;
        }
    g->half = g->first + (g->last - g->first) / 2;
}

/* Adds the last amount for all steps from `at` to the one before `next`. */
static void carry(struct pw_growth *g, ptrdiff_t next)
{
    for (ptrdiff_t s = g->at; s >= 0 && s < next; s++) {
        if (!is_measured(g->input, s))
            continue;
        pw_trend_add(&g->all, (double)s, (double)g->open);
        if (s > g->half)
            pw_trend_add(&g->later, (double)s, (double)g->open);
    }
}

/* Adds an amount. Amounts are nearly in order of time; one of an earlier step counts in the last
 * step. */
static void pw_growth_add(struct pw_growth *g, int64_t local_ns, int64_t bytes)
{
    ptrdiff_t s = pw_input_step_near(g->input, local_ns, &g->near);
    g->samples++;
    g->peak = bytes > g->peak ? bytes : g->peak;
    g->end = bytes;
    if (s > g->at) {
        carry(g, s);
        g->at = s;
    }
    g->open = bytes;
}

/* To be called once, after the last amount. Fills all but rank, what and device. */
static void pw_growth_finish(struct pw_growth *g, struct pw_row_c_memory *row)
{
    carry(g, g->last + 1);
    row->samples = g->samples;
    row->peak_bytes = g->peak;
    row->end_bytes = g->end;
    row->steps = g->all.n;
    row->bytes_per_step = pw_trend_slope(&g->all);
    row->later_bytes_per_step = pw_trend_slope(&g->later);
    row->fit = pw_trend_fit(&g->all);
}

/* With fewer samples inside the measured steps, all samples are used. */
enum { LEAST_SAMPLES = 3 };

/* A sample of the process, with the last sample of the host before it. */
struct moment {
    struct pw_row_process process;
    struct pw_row_host host;
    struct pw_netcard_sums net;
};

/* The first and the last sample of a part of the run. */
struct stretch {
    struct moment first, last;
    int64_t samples;
};

struct pass {
    const struct pw_input *input;
    struct pw_cursor process, host;
    /* samples of the host: the last before the process's sample, and the next */
    struct pw_row_host now, coming;
    int has_coming;
    struct pw_netcard_reading net;
    int64_t begin, end; /* local times of the measured steps */
    struct stretch whole, measured;
    int64_t rss_max;
    int32_t threads_max;
    struct pw_growth rss;
    struct pw_row_c_utilisation_series *series;
    size_t nseries, points;
    struct moment drawn; /* the end of the last interval of the series */
};

static const struct pw_row_host no_host = {
    .busy_ns = -1, .idle_ns = -1, .steal_ns = -1, .throttled_ns = -1};

static void read_host(struct pass *p)
{
    const struct pw_row_host *row = pw_cursor_next(&p->host);
    p->has_coming = row != NULL;
    if (row)
        p->coming = *row;
}

static void advance_host(struct pass *p, int64_t time)
{
    while (p->has_coming && p->coming.time <= time) {
        p->now = p->coming;
        read_host(p);
    }
}

/* Returns part / whole; -1 when one is not known, or the whole is not positive. */
static double share(int64_t part, int64_t whole)
{
    return part < 0 || whole <= 0 ? -1 : (double)part / (double)whole;
}

static int64_t both(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? -1 : pw_sum(a, b);
}

#define GROWN(from, to, part, field) grown((from)->part.field, (to)->part.field)

static double host_share(const struct moment *from, const struct moment *to, int64_t part)
{
    int64_t busy = GROWN(from, to, host, busy_ns), idle = GROWN(from, to, host, idle_ns);
    int64_t steal = GROWN(from, to, host, steal_ns);
    /* Imported files do not tell stolen time: it is in the other two. */
    return share(part, both(both(busy, idle), steal < 0 ? 0 : steal));
}

static void draw(struct pass *p, const struct moment *to)
{
    const struct moment *from = &p->drawn;
    int64_t span = to->process.time - from->process.time;
    if (span <= 0)
        return;
    int64_t io = both(GROWN(from, to, process, read_bytes), GROWN(from, to, process, write_bytes));
    int64_t faults =
        both(GROWN(from, to, process, minor_faults), GROWN(from, to, process, major_faults));
    int64_t cpu = both(GROWN(from, to, process, cpu_user_ns), GROWN(from, to, process, cpu_sys_ns));
    p->series[p->nseries++] = (struct pw_row_c_utilisation_series){
        .rank = (int32_t)p->input->rank,
        .time = pw_input_time(p->input, to->process.time),
        .cpu_share = share(cpu, span),
        .runq_share = share(GROWN(from, to, process, runq_wait_ns), span),
        .involuntary_cs_per_s = per_second(GROWN(from, to, process, involuntary_cs), span),
        .rss_bytes = to->process.rss_bytes,
        .faults_per_s = per_second(faults, span),
        .io_bytes_per_s = per_second(io, span),
        .host_busy_share = host_share(from, to, GROWN(from, to, host, busy_ns)),
        .net_recv_bytes_per_s = per_second(GROWN(from, to, net, recv_bytes), span),
        .net_sent_bytes_per_s = per_second(GROWN(from, to, net, sent_bytes), span),
    };
    p->drawn = *to;
}

static void extend(struct stretch *s, const struct moment *m)
{
    if (!s->samples++)
        s->first = *m;
    s->last = *m;
}

static void take(struct pass *p, const struct pw_row_process *row, uint64_t number)
{
    advance_host(p, row->time);
    struct moment m = {*row, p->now, netcards_advance(&p->net, row->time)};
    uint64_t n = p->process.place.rows;
    p->rss_max = row->rss_bytes > p->rss_max ? row->rss_bytes : p->rss_max;
    p->threads_max = row->threads > p->threads_max ? row->threads : p->threads_max;
    if (row->rss_bytes > 0)
        pw_growth_add(&p->rss, row->time, row->rss_bytes);
    if (!p->whole.samples)
        p->drawn = m;
    else if (number * p->points / n != (number - 1) * p->points / n || number + 1 == n)
        draw(p, &m);
    extend(&p->whole, &m);
    if (row->time >= p->begin && row->time <= p->end)
        extend(&p->measured, &m);
}

/* 1 for a possible sample with memory: a process that has ended has none. Where only its CPU time
 * was readable, as in imported files, its memory is -1. */
static int is_believed(const struct pw_row_process *row)
{
    return pw_is_possible(row->time) && pw_is_possible(row->rss_bytes) &&
           (row->rss_bytes > 0 || (row->rss_bytes == -1 && row->cpu_user_ns >= 0));
}

static void read_process(struct pass *p)
{
    uint64_t number = 0;
    read_host(p);
    for (const struct pw_row_process *row; (row = pw_cursor_next(&p->process)); number++)
        if (is_believed(row))
            take(p, row, number);
}

/* The samples of the processes that the program started, within a part of the run. */
struct workers {
    struct pw_row_workers first, last;
    int64_t samples;
    int32_t most;
};

static int read_workers(const struct pw_openfile *file, int64_t begin, int64_t end,
                        struct workers *out)
{
    struct pw_cursor c;
    *out = (struct workers){.most = -1};
    int err = pw_cursor_open(&c, file, PW_TABLE_workers);
    for (const struct pw_row_workers *row; !err && (row = pw_cursor_next(&c));) {
        if (!pw_is_possible(row->time) || row->time < begin || row->time > end)
            continue;
        if (!out->samples++)
            out->first = *row;
        out->last = *row;
        out->most = row->processes > out->most ? row->processes : out->most;
    }
    err = err ? err : c.err;
    pw_cursor_close(&c);
    return err;
}

/* The processes may have run in a part of the time only. So their shares refer to the time between
 * their own first and last sample. */
static void add_workers(struct pw_row_c_utilisation *row, const struct workers *w)
{
    const struct pw_row_workers *from = &w->first, *to = &w->last;
    const int64_t span = to->time - from->time;
    const int64_t cpu =
        both(grown(from->cpu_user_ns, to->cpu_user_ns), grown(from->cpu_sys_ns, to->cpu_sys_ns));
    const int is_known = w->samples > 1;
    row->workers_max = w->most;
    row->workers_cpu_share = is_known ? share(cpu, span) : -1;
    row->workers_read_bytes = is_known ? grown(from->read_bytes, to->read_bytes) : -1;
    row->workers_write_bytes = is_known ? grown(from->write_bytes, to->write_bytes) : -1;
    row->workers_io_share = is_known ? share(grown(from->io_wait_ns, to->io_wait_ns), span) : -1;
}

/* The part of the run that counts. */
static const struct stretch *counted(const struct pass *p)
{
    return p->measured.samples >= LEAST_SAMPLES ? &p->measured : &p->whole;
}

static struct pw_row_c_utilisation usage_make_row(const struct pass *p)
{
    const struct stretch *s = counted(p);
    const struct moment *from = &s->first, *to = &s->last;
    int64_t span = to->process.time - from->process.time;
    struct pw_row_c_utilisation row = {
        .rank = (int32_t)p->input->rank,
        .samples = s->samples,
        .span_ns = span,
        .cpu_user_share = share(GROWN(from, to, process, cpu_user_ns), span),
        .cpu_sys_share = share(GROWN(from, to, process, cpu_sys_ns), span),
        .main_cpu_share = share(GROWN(from, to, process, main_cpu_ns), span),
        .runq_share = share(GROWN(from, to, process, runq_wait_ns), span),
        .involuntary_cs_per_s = per_second(GROWN(from, to, process, involuntary_cs), span),
        .voluntary_cs_per_s = per_second(GROWN(from, to, process, voluntary_cs), span),
        .rss_max_bytes = p->rss_max,
        .minor_faults = GROWN(from, to, process, minor_faults),
        .major_faults = GROWN(from, to, process, major_faults),
        .read_bytes = GROWN(from, to, process, read_bytes),
        .write_bytes = GROWN(from, to, process, write_bytes),
        .threads_max = p->threads_max,
        .host_busy_share = host_share(from, to, GROWN(from, to, host, busy_ns)),
        .host_steal_share = host_share(from, to, GROWN(from, to, host, steal_ns)),
        .throttled_share = share(GROWN(from, to, host, throttled_ns), span),
    };
    memcpy(row.hostname, p->input->hostname, sizeof(row.hostname));
    return row;
}

static int add_memory(struct pw_usages *out, const struct pw_row_c_memory *row)
{
    struct pw_row_c_memory *memory = realloc(out->memory, (out->nmemory + 1) * sizeof(*memory));
    if (!memory)
        return -ENOMEM;
    out->memory = memory;
    memory[out->nmemory++] = *row;
    return 0;
}

static int append(struct pw_usages *out, struct pass *p, const struct workers *workers)
{
    struct pw_row_c_utilisation *rows = realloc(out->rows, (out->n + 1) * sizeof(*rows));
    out->rows = rows ? rows : out->rows;
    struct pw_row_c_utilisation_series *series =
        realloc(out->series, (out->nseries + p->nseries + 1) * sizeof(*series));
    out->series = series ? series : out->series;
    if (!rows || !series)
        return -ENOMEM;
    rows[out->n] = usage_make_row(p);
    add_workers(&rows[out->n++], workers);
    memcpy(series + out->nseries, p->series, p->nseries * sizeof(*series));
    out->nseries += p->nseries;
    struct pw_row_c_memory row = {.rank = (int32_t)p->input->rank, .what = "rss", .device = -1};
    pw_growth_finish(&p->rss, &row);
    return row.samples ? add_memory(out, &row) : 0;
}

/* Finds the time span of the measured steps; without any, it is all time. */
static void find_measured(struct pass *p)
{
    p->begin = INT64_MIN;
    p->end = INT64_MAX;
    if (p->rss.first < 0)
        return;
    p->begin = p->input->steps[p->rss.first].start;
    p->end = p->input->steps[p->rss.last].end;
}

static int read_processes(struct pw_usages *out, const struct pw_openfile *file, size_t points)
{
    const struct pw_input *input = file->input;
    struct pass p = {.input = input, .points = points, .now = no_host, .rss_max = -1};
    p.series = malloc((points + 2) * sizeof(*p.series));
    int err = p.series ? 0 : -ENOMEM;
    int opened = err ? err : pw_cursor_open(&p.process, file, PW_TABLE_process);
    int host = err ? err : pw_cursor_open(&p.host, file, PW_TABLE_host);
    host = host ? host : netcards_open(&p.net, file);
    if (!err && !opened && !host) {
        pw_growth_begin(&p.rss, input);
        find_measured(&p);
        read_process(&p);
        struct workers workers;
        const int is_measured = p.measured.samples >= LEAST_SAMPLES;
        const int damage = read_workers(file, is_measured ? p.begin : INT64_MIN,
                                        is_measured ? p.end : INT64_MAX, &workers);
        if (p.whole.samples)
            err = append(out, &p, &workers);
        if (p.whole.samples && !err)
            err = netcards_add(&out->cards, &p.net, counted(&p)->first.process.time,
                               counted(&p)->last.process.time);
        err = err ? err : p.process.err ? p.process.err : p.host.err ? p.host.err : damage;
    }
    pw_cursor_close(&p.process);
    pw_cursor_close(&p.host);
    netcards_close(&p.net);
    free(p.series);
    return err ? err : opened ? opened : host;
}

struct devices {
    struct pw_growth growth[PW_USAGE_DEVICES];
    int32_t device[PW_USAGE_DEVICES];
    size_t n;
};

static struct pw_growth *find_device(struct devices *d, const struct pw_input *input,
                                     int32_t device)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->device[i] == device)
            return &d->growth[i];
    if (d->n == PW_USAGE_DEVICES)
        return NULL;
    d->device[d->n] = device;
    pw_growth_begin(&d->growth[d->n], input);
    return &d->growth[d->n++];
}

static int has_device(const struct devices *d, int32_t device)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->device[i] == device)
            return 1;
    return 0;
}

static void add_bytes(struct devices *d, const struct pw_input *input,
                      const struct pw_row_memory *row, int64_t bytes)
{
    struct pw_growth *growth = find_device(d, input, row->device);
    if (growth && pw_is_possible(row->time) && pw_is_possible(bytes))
        pw_growth_add(growth, row->time, bytes);
}

static int add_devices(struct pw_usages *out, const struct pw_input *input, struct devices *d,
                       const char *what)
{
    int err = 0;
    for (size_t i = 0; i < d->n && !err; i++) {
        struct pw_row_c_memory row = {.rank = (int32_t)input->rank, .device = d->device[i]};
        snprintf(row.what, sizeof(row.what), "%s", what);
        pw_growth_finish(&d->growth[i], &row);
        err = row.samples ? add_memory(out, &row) : 0;
    }
    return err;
}

static int read_allocations(struct pw_usages *out, const struct pw_openfile *file)
{
    const struct pw_input *input = file->input;
    struct pw_cursor c;
    struct devices *d = calloc(2, sizeof(*d)); /* [0] allocated memory, [1] memory of pools */
    if (!d)
        return -ENOMEM;
    int err = pw_cursor_open(&c, file, PW_TABLE_memory);
    for (const struct pw_row_memory *row; !err && (row = pw_cursor_next(&c));) {
        add_bytes(&d[0], input, row, row->total_bytes);
        if (row->pool_bytes > 0 || has_device(&d[1], row->device))
            add_bytes(&d[1], input, row, row->pool_bytes);
    }
    int damage = err ? err : c.err;
    pw_cursor_close(&c);
    err = add_devices(out, input, &d[0], "allocated");
    err = err ? err : add_devices(out, input, &d[1], "pools");
    free(d);
    return err ? err : damage;
}

int pw_usage_read(struct pw_usages *usages, const struct pw_openfile *file, size_t points)
{
    int processes = read_processes(usages, file, points);
    int allocations = read_allocations(usages, file);
    return processes == -ENOMEM || !allocations ? processes : allocations;
}

void pw_usages_fini(struct pw_usages *usages)
{
    free(usages->rows);
    free(usages->series);
    free(usages->memory);
    netcards_fini(&usages->cards);
    *usages = (struct pw_usages){0};
}
