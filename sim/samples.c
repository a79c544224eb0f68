/* Computes the kernel's counters; see samples.h. Each rank of a host is bound to a CPU of its own.
 * While the rank is ready and not limited by a quota, another process runs on that CPU. Samples of
 * the host count the rank's own CPU exactly and the CPUs of the host's other ranks as busy, so
 * faults of other ranks are not visible in them. */
#include "sim/samples.h"

#include "core/cpuset.h"
#include "sim/filetexts.h"
#include "sim/play.h"
#include "sim/random.h"

/* 10 samples per second, late by up to 2 ms; user and system time are in ticks. */
enum { SAMPLE_NS = 100000000, LATE_NS = 2000000, TICK_NS = 10000000 };

/* A program without faults: on an idle host it waits for a CPU for 0.1 % to 0.3 % of
 * the time that it runs, and has a few switches and minor faults. */
enum { WAITS_PER_MILLION = 2000, NS_PER_SWITCH = 100000000, NS_PER_MINOR_FAULT = 5000000 };

/* A disk of 100 MB/s; a page that must be read from it takes 2 ms. */
enum { NS_PER_SOCKET_BYTE = 100, NS_PER_DISK_KB = 10000, NS_PER_MAJOR_FAULT = 2000000 };

enum { RSS_BYTES = 512 << 20, BASE_IO_BYTES = 1 << 20, STREAM = 0x70726f63 };

static int64_t jitter(const struct pw_sim_samples *os, int64_t most, uint64_t which)
{
    uint64_t bits = pw_sim_bits(os->params->seed, (uint64_t)os->rank, STREAM,
                                4 * (uint64_t)os->samples + which);
    return (int64_t)((double)most * pw_sim_uniform(bits));
}

void pw_sim_samples_open(struct pw_sim_samples *os, struct pw_rankfile *file,
                         const struct pw_sim_params *params, const struct pw_sim_clock *clock,
                         int64_t rank)
{
    *os = (struct pw_sim_samples){
        .file = file,
        .params = params,
        .clock = clock,
        .rank = rank,
        .at = PW_SIM_START_NS,
        .next = PW_SIM_START_NS,
    };
}

static char letter_of(enum pw_sim_state state)
{
    return "RRRRTDS"[state];
}

static void append_process(const struct pw_sim_samples *os, enum pw_sim_state state, int64_t time)
{
    int64_t ran = os->run_ns, kb = os->disk_ns / NS_PER_DISK_KB;
    struct pw_row_process row = {
        .time = time,
        .cpu_user_ns = ran / 100 * 97 / TICK_NS * TICK_NS,
        .cpu_sys_ns = ran / 100 * 3 / TICK_NS * TICK_NS,
        .rss_bytes = RSS_BYTES,
        .minor_faults = 1000 + ran / NS_PER_MINOR_FAULT,
        .major_faults = (os->fault_ns + os->off_ns) / NS_PER_MAJOR_FAULT,
        .main_major_faults = os->fault_ns / NS_PER_MAJOR_FAULT,
        .voluntary_cs = os->voluntary + ran / NS_PER_SWITCH,
        .involuntary_cs = os->involuntary + ran / NS_PER_SWITCH,
        .runq_wait_ns = os->ready_ns,
        .read_bytes = BASE_IO_BYTES + 1000 * kb,
        /* A second thread sends to sockets, and has page faults, while the main thread is off its
         * CPU. */
        .write_bytes = BASE_IO_BYTES + os->off_ns / NS_PER_SOCKET_BYTE,
        .main_read_bytes = BASE_IO_BYTES + 1000 * kb,
        .main_write_bytes = BASE_IO_BYTES,
        .threads = 2,
        .main_cpu_ns = ran,
        .state = (uint8_t)letter_of(state),
        .processor = (int32_t)(os->rank % os->params->ranks_per_host),
    };
    pw_rankfile_append(os->file, PW_TABLE_process, &row);
}

static void append_host(const struct pw_sim_samples *os, int64_t time)
{
    int64_t cpus = os->params->ranks_per_host, ran = os->at - PW_SIM_START_NS - os->stolen_ns;
    struct pw_row_host row = {
        .time = time,
        .busy_ns = cpus * ran - os->off_ns,
        .idle_ns = os->off_ns,
        .steal_ns = cpus * os->stolen_ns,
        .throttled_ns = os->throttled_ns,
    };
    pw_rankfile_append(os->file, PW_TABLE_host, &row);
}

static void append_cpus(const struct pw_sim_samples *os, int64_t time)
{
    const int32_t cpu = (int32_t)(os->rank % os->params->ranks_per_host);
    struct pw_row_cpus row = {
        .time = time,
        .busy_ns = os->run_ns + os->ready_ns - os->throttled_ns,
        .cpu_set = pw_cpuset_with(PW_CPUSET_NONE, cpu),
        .allowed = 1,
        .lowest = cpu,
        .highest = cpu,
    };
    pw_rankfile_append(os->file, PW_TABLE_cpus, &row);
}

/* The host's card receives a byte each us, and sends half of them. */
static void append_netcard(const struct pw_sim_samples *os, int64_t time)
{
    const int64_t bytes = (os->at - PW_SIM_START_NS) / 1000;
    struct pw_row_netcard row = {
        .time = time,
        .card = "eth0",
        .recv_bytes = BASE_IO_BYTES + bytes,
        .sent_bytes = BASE_IO_BYTES + bytes / 2,
        .recv_packets = bytes / 1000,
        .sent_packets = bytes / 2000,
    };
    pw_rankfile_append(os->file, PW_TABLE_netcard, &row);
}

static void count(struct pw_sim_samples *os, enum pw_sim_state state, int64_t until)
{
    int64_t ns = until - os->at;
    if (state == PW_SIM_RUNNING) {
        int64_t waits = ns / 1000000 * WAITS_PER_MILLION;
        waits = waits / 2 + jitter(os, waits, 1);
        os->run_ns += ns - waits;
        os->ready_ns += waits;
    } else if (state == PW_SIM_READY || state == PW_SIM_QUOTA) {
        os->ready_ns += ns;
    } else if (state == PW_SIM_FROZEN) {
        os->stolen_ns += ns;
    } else {
        os->off_ns += ns;
    }
    os->throttled_ns += state == PW_SIM_QUOTA ? ns : 0;
    os->disk_ns += state == PW_SIM_DISK && !os->faults ? ns : 0;
    os->fault_ns += state == PW_SIM_DISK && os->faults ? ns : 0;
    os->at = until;
}

/* Advances the counters to `until` and takes the samples that are due, except when the sampler does
 * not run either. */
static void move(struct pw_sim_samples *os, enum pw_sim_state state, int64_t until)
{
    while (os->next <= until && state != PW_SIM_FROZEN) {
        if (os->next > os->at)
            count(os, state, os->next);
        int64_t time = pw_sim_local_time(os->clock, os->next);
        append_process(os, state, time);
        append_host(os, time);
        append_cpus(os, time);
        append_netcard(os, time);
        os->samples++;
        os->next = PW_SIM_START_NS + os->samples * SAMPLE_NS + jitter(os, LATE_NS, 2);
    }
    if (until > os->at)
        count(os, state, until);
    while (state == PW_SIM_FROZEN && os->next <= until)
        os->next = PW_SIM_START_NS + ++os->samples * SAMPLE_NS + jitter(os, LATE_NS, 2);
}

void pw_sim_samples_fault(struct pw_sim_samples *os, enum pw_sim_fault_kind kind, int64_t start,
                          int64_t end)
{
    enum pw_sim_state state = pw_sim_kind_of(kind)->state;
    if (state == PW_SIM_RUNNING)
        return;
    move(os, PW_SIM_RUNNING, start);
    os->faults = kind == PW_SIM_PAGE_FAULTS;
    move(os, state, end);
    if (state == PW_SIM_READY || state == PW_SIM_QUOTA)
        os->involuntary++;
    else if (state != PW_SIM_FROZEN)
        os->voluntary++;
}

void pw_sim_samples_close(struct pw_sim_samples *os, int64_t end)
{
    move(os, PW_SIM_RUNNING, end);
}

/* ---- the queues of the data pipeline ---- */

enum { CAPACITY = 8, READY = 1, DEVICE = 2 };

static int is_empty(const struct pw_sim_params *p, int64_t rank, int64_t step, int q)
{
    for (size_t i = 0; i < p->nfaults; i++) {
        const struct pw_sim_fault *f = &p->faults[i];
        int from = f->kind == PW_SIM_STARVED_LOADER ? READY : DEVICE;
        if (pw_sim_queue_slowest(f->kind) && q >= from && pw_sim_fault_hits(p, f, rank, step))
            return 1;
    }
    return 0;
}

struct pw_row_queue pw_sim_queue_look(const struct pw_sim_params *p, int64_t rank, int64_t step,
                                      int q, int64_t time)
{
    /* The queue is full, or lacks one item. */
    uint64_t bits = pw_sim_bits(p->seed, (uint64_t)rank, (uint64_t)step, 77 + (uint64_t)q);
    return (struct pw_row_queue){
        .time = time,
        .queue = TEXT_RAW + (uint32_t)q,
        .size = is_empty(p, rank, step, q) ? 0 : CAPACITY - (int64_t)(bits & 1),
        .capacity = CAPACITY,
    };
}

const char *pw_sim_queue_slowest(enum pw_sim_fault_kind kind)
{
    return kind == PW_SIM_STARVED_LOADER  ? "map decode"
           : kind == PW_SIM_SLOW_TRANSFER ? "transfer"
                                          : NULL;
}
