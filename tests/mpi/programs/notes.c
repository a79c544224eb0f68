/* Calls every function of profwrap.h; test_annotate.py has the expected values. The argument is the
 * number of rounds of a range that allocates. Prints profwrap_active(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profwrap.h"

__attribute__((noinline)) static void operators(void)
{
    profwrap_op_begin("block", "module", NULL);
    profwrap_memory(1000, -1);
    profwrap_op_begin("conv", "conv2d", "[[32, 3, 64, 64]]");
    profwrap_memory(4096, 0);
    profwrap_memory(-96, 0);
    profwrap_op_end();
    profwrap_op_begin("forward (model.py:12)", "function", NULL);
    profwrap_range_push("inner");
    profwrap_range_pop();
    profwrap_op_end();
    profwrap_memory(-1000, -1);
    profwrap_op_end();
    profwrap_op_end(); /* one too many: does nothing */
}

/* As another profiler would, of two threads of its own, 1 s ago; the inner first. */
static void past(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    const int64_t at = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec - 1000000000;
    profwrap_range_push("around the calls");
    profwrap_op_past("mm", "aten", "[[2, 3]]", at + 200, at + 500, 7, 96);
    profwrap_op_past("linear", "aten", NULL, at + 100, at + 600, 7, 128);
    profwrap_op_past("other", NULL, NULL, at + 300, at + 800, -7, 0);
    profwrap_op_past("linear", "aten", NULL, at + 700, at + 700, 7, -128);
    profwrap_op_past("backwards", NULL, NULL, at + 2, at + 1, 7, 0);
    profwrap_op_past("no time", NULL, NULL, -1, 1, 7, 0);
    profwrap_range_pop();
    profwrap_stop();
    profwrap_op_past("paused", NULL, NULL, at + 800, at + 900, 7, 0);
    profwrap_queue_past("paused", 5, 8, at + 400);
    profwrap_start();
    profwrap_queue_past("batches", 5, 8, at + 400);
    profwrap_queue_past("batches", 5, 8, -1);
    for (int lane = 0; lane < 300; lane++)
        profwrap_op_past("lane", NULL, NULL, at + 1000, at + 2000, lane, 0);
    printf("%lld\n", (long long)at);
}

static void strange(void)
{
    static char huge[20000];
    memset(huge, 'x', sizeof(huge) - 1);
    profwrap_op_begin(NULL, NULL, NULL);
    profwrap_op_end();
    profwrap_op_begin(huge, huge, huge);
    profwrap_op_end();
    profwrap_queue(huge, -5, INT64_MIN);
    profwrap_metadata("long", huge);
    profwrap_metadata(NULL, NULL);
    profwrap_mark(NULL, NULL);
    profwrap_mark(huge, huge);
    profwrap_memory(INT64_MIN, 1 << 30);
    profwrap_memory(INT64_MIN, -7);
}

int main(int argc, char **argv)
{
    const double zero = argc > 0 ? 0 : 1;
    printf("%d\n", profwrap_active());
    profwrap_metadata("model", "first");
    profwrap_metadata("model", "{\"layers\": 2}");
    profwrap_step(0);
    profwrap_phase(PROFWRAP_FORWARD);
    operators();
    profwrap_phase(PROFWRAP_NO_PHASE);
    for (int i = 0; i < 3; i++)
        profwrap_queue("batches", i, 4);
    profwrap_mark("epoch", "loop");
    profwrap_role("stage 2");
    profwrap_work(4096);
    profwrap_work(-1); /* no amount: it does nothing */
    profwrap_work(0);
    profwrap_work(INT64_MAX);
    profwrap_flops(2.5e15);
    profwrap_flops(-1); /* it does nothing, as the next */
    profwrap_flops(zero / zero);
    profwrap_flops(1);
    profwrap_stop();
    profwrap_work(7);
    profwrap_mark("paused", NULL);
    profwrap_flops(7);
    profwrap_start();
    for (long i = argc > 1 ? atol(argv[1]) : 0; i > 0; i--) {
        profwrap_range_push("round");
        profwrap_memory(64, 1);
        profwrap_range_pop();
    }
    profwrap_step(PROFWRAP_NO_STEP);
    if (argc > 2 && strcmp(argv[2], "past") == 0)
        past();
    else if (argc > 2)
        strange();
    return 0;
}
