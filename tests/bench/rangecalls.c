/* The cost of a range by NVTX and by profwrap.h, and the floors, which no recording tool can
 * undercut, all in one process:
 *
 *     rangecalls PAIRS PAUSE_MS
 *
 * Blocks of PAIRS push/pop pairs alternate. The program prints medians over the blocks, "WHAT_ns X"
 * per pair:
 *
 *     literal      NVTX with constant names, at a few places of the program
 *     registered   NVTX with registered strings of a domain, with attributes
 *     changing     NVTX with changing text at one address, as Python passes it
 *     api          profwrap.h
 *     closed       a call, not a pair, in a forked child, where the gate is closed
 *     rdtsc_floor, clock_floor   two clock reads and a 64-byte store
 *
 * No value includes the loop's own cost. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "floors.h"
#include "profwrap.h"

enum { BLOCKS = 21 };

static nvtxDomainHandle_t domain;
static nvtxStringHandle_t registered;

static void loop_literal(int n)
{
    for (int i = 0; i < n; i += 4) {
        nvtxRangePushA("forward of the encoder");
        nvtxRangePop();
        nvtxRangePushA("attention");
        nvtxRangePop();
        nvtxRangePushA("loss");
        nvtxRangePop();
        nvtxRangePushA("copy to device");
        nvtxRangePop();
    }
}

static void loop_registered(int n)
{
    const nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                              .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                              .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                              .message.registered = registered};
    for (int i = 0; i < n; i++) {
        nvtxDomainRangePushEx(domain, &attributes);
        nvtxDomainRangePop(domain);
    }
}

static void loop_changing(int n)
{
    char text[] = "layer 0 of many";
    for (int i = 0; i < n; i++) {
        text[6] = (char)('0' + i % 8);
        nvtxRangePushA(text);
        nvtxRangePop();
    }
}

static void loop_api(int n)
{
    for (int i = 0; i < n; i += 4) {
        profwrap_range_push("forward of the encoder");
        profwrap_range_pop();
        profwrap_range_push("attention");
        profwrap_range_pop();
        profwrap_range_push("loss");
        profwrap_range_pop();
        profwrap_range_push("copy to device");
        profwrap_range_pop();
    }
}

static const struct {
    const char *name;
    void (*loop)(int);
} rows[] = {
    {"rdtsc_floor", floor_rdtsc}, {"literal", loop_literal}, {"registered", loop_registered},
    {"changing", loop_changing},  {"api", loop_api},         {"clock_floor", floor_clock}};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void measure(int n, int pause_ms, double medians[ROWS])
{
    static double took[ROWS][BLOCKS];
    struct timespec pause = {.tv_nsec = (long)pause_ms * 1000000};
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < ROWS; i++) {
            nanosleep(&pause, NULL);
            took[i][b] = floor_time(rows[i].loop, n) - floor_time(floor_empty, n);
        }
    for (int i = 0; i < ROWS; i++)
        medians[i] = floor_median(took[i], BLOCKS);
}

/* Measures a child of the process that records. */
static void measure_closed(int n)
{
    double medians[ROWS];
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        measure(n, 0, medians);
        for (int i = 0; i < ROWS; i++)
            if (rows[i].loop == loop_literal || rows[i].loop == loop_api)
                printf("closed_%s_ns %.2f\n", rows[i].name, medians[i] / 2);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 3000;
    int pause_ms = argc > 2 ? atoi(argv[2]) : 5;
    double medians[ROWS];
    floor_init();
    domain = nvtxDomainCreateA("bench");
    registered = nvtxDomainRegisterStringA(domain, "registered");
    loop_literal(n); /* warm */
    measure(n, pause_ms, medians);
    for (int i = 0; i < ROWS; i++)
        printf("%s_ns %.2f\n", rows[i].name, medians[i]);
    measure_closed(n);
    free(floor_ring);
    return 0;
}
