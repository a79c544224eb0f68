/* The processor time of one core that a rank needs for a CUPTI record, in two parts: the conversion
 * from CUPTI's form to ours, by the thread in the application; and the way through journal and
 * intake into the rank's file, by the collector. Half of the records are kernels, half are the
 * calls that launched them. Prints "name value" lines, which measure.py reads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collectors/cuda/cuda_convert.h"
#include "collectors/modules.h"
#include "core/h5/h5types.h"
#include "rank/collect/intake.h"
#include "rank/file/rankfile.h"
#include "rank/journal/journal.h"

enum { BATCH = PW_JOURNAL_BATCH, BATCHES = 2048, NAMES = 40 };

static uint32_t name_at(void *arg, const char *address)
{
    (void)arg;
    return 1 + (uint32_t)((uintptr_t)address % NAMES);
}

static uint32_t function_name(void *arg, int domain, uint32_t callback, bool *launches)
{
    (void)arg, (void)domain;
    *launches = true;
    return callback;
}

static const struct pw_cuda_names names = {name_at, function_name, NULL, false};

/* CPU time of this process: the rate that one core can take, whatever else the machine does. */
static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* What a training step may look like: 40 kernels of different shapes, some microseconds each. */
static void write_cupti(struct pw_cupti_kernel *kernels, struct pw_cupti_api *calls, uint32_t batch)
{
    static uint64_t now = 1000000000;
    for (uint32_t i = 0; i < BATCH / 2; i++) {
        const uint32_t number = batch * (BATCH / 2) + i + 1;
        const uint64_t ns = 2000 + (number * 2654435761u) % 30000;
        calls[i] = (struct pw_cupti_api){.kind = PW_CUPTI_RUNTIME,
                                         .callback = 5,
                                         .start = now,
                                         .end = now + 3000,
                                         .tid = 77,
                                         .correlation = number};
        kernels[i] = (struct pw_cupti_kernel){.kind = PW_CUPTI_CONCURRENT_KERNEL,
                                              .registers = 40,
                                              .start = now + 4000,
                                              .end = now + 4000 + ns,
                                              .context = 1,
                                              .stream = 7,
                                              .grid = {(int32_t)(number % NAMES) + 1, 1, 1},
                                              .block = {256, 1, 1},
                                              .correlation = number,
                                              .name = (const char *)(uintptr_t)(number % NAMES)};
        now += ns + 500;
    }
}

static int64_t convert(const struct pw_cupti_kernel *kernels, const struct pw_cupti_api *calls,
                       struct pw_record *records)
{
    const int64_t begin = cpu_ns();
    int n = 0;
    for (uint32_t i = 0; i < BATCH / 2; i++) {
        n += pw_cuda_convert(&calls[i], sizeof(calls[i]), &names, &records[n]);
        n += pw_cuda_convert(&kernels[i], sizeof(kernels[i]), &names, &records[n]);
    }
    if (n != BATCH)
        abort();
    return cpu_ns() - begin;
}

int main(void)
{
    static struct pw_cupti_kernel kernels[BATCH / 2];
    static struct pw_cupti_api calls[BATCH / 2];
    static struct pw_record records[BATCH];
    static const struct pw_module modules[2] = {0};
    struct pw_module table[2] = {pw_module_gpu, modules[0]};
    const struct pw_identity id = {.size = 1, .job = "job", .hostname = "host"};
    const struct pw_intake_setup setup = {.activities = PW_ACTIVITY_CUDA,
                                          .tick_source = PW_TICK_RAW};
    const struct pw_journal_head head = {.id = id, .activities = PW_ACTIVITY_CUDA};
    char dir[] = "/tmp/cudarecords-XXXXXX";
    struct pw_rankfile *file;
    struct pw_journal *journal;
    int64_t convert_ns = 0, take_ns = 0;
    pw_h5_quiet();
    if (!mkdtemp(dir) || chdir(dir) || pw_rankfile_create(".", &id, "prog", 1, &file) ||
        pw_journal_create(".", &head, &journal))
        return 1;
    struct pw_intake *intake = pw_intake_create(&setup, file, table);
    const struct pw_record begin[] = {
        {.type = PW_REC_THREAD, .thread = {.tid = 77, .process = 1}},
        {.type = PW_REC_GPU_STATE, .gpu_state = {.version = 130001, .level = 1}},
    };
    pw_intake_records(intake, 0, begin, 2);
    for (uint32_t batch = 0; batch < BATCHES; batch++) {
        write_cupti(kernels, calls, batch);
        convert_ns += convert(kernels, calls, records);
        const struct pw_record range = {.type = PW_REC_NVTX,
                                        .start = records[0].start,
                                        .end = records[BATCH - 2].start + 1,
                                        .range = {.kind = PW_KIND_OPERATOR}};
        const int64_t start = cpu_ns();
        pw_journal_add_records(journal, 0, (uint64_t)batch * BATCH, records, BATCH);
        pw_intake_records(intake, 0, records, BATCH);
        pw_intake_records(intake, 0, &range, 1);
        pw_journal_commit(journal);
        take_ns += cpu_ns() - start;
    }
    const int64_t start = cpu_ns();
    const struct pw_rankfile_end end = {.complete = 1};
    pw_intake_finish(intake, pw_local_ns());
    const int64_t kept = pw_rankfile_rows(file, PW_TABLE_kernel);
    pw_intake_destroy(intake);
    if (kept != (int64_t)BATCHES * BATCH / 2 || pw_rankfile_close(file, &end))
        return 1;
    take_ns += cpu_ns() - start;
    pw_journal_remove(journal);
    unlink("rank-00000.h5");
    if (chdir("/") || rmdir(dir))
        return 1;
    const double n = (double)BATCHES * BATCH;
    printf("convert_ns %.3f\ntake_ns %.3f\n", (double)convert_ns / n, (double)take_ns / n);
    return 0;
}
