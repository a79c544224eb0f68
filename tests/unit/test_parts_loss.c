/* Losses outside steps: a run of 10 s of four ranks, each 1 s in every part but the steps. */
#include "unit.h"

#include <string.h>

#include "analysis/parts.h"

#define MS INT64_C(1000000)
#define RUN (10000 * MS)

enum { MOST = 8 };

static struct pw_row_c_part_trace rows[PW_PART_END * MOST];
static struct pw_partloss found[PW_PARTLOSSES];
static size_t nranks;

static struct pw_row_c_part_trace *at(enum pw_part part, size_t rank)
{
    return &rows[(size_t)(part - PW_PART_START) * nranks + rank];
}

static void clear(size_t n)
{
    nranks = n;
    memset(rows, 0, sizeof(rows));
    for (int part = PW_PART_START; part <= PW_PART_END; part++)
        for (size_t r = 0; r < n; r++)
            at((enum pw_part)part, r)->total_ns = part == PW_PART_STEPS ? 4000 * MS : 1000 * MS;
}

static size_t find(void)
{
    int64_t scratch[2 * MOST];
    memset(scratch, 0xa5, sizeof(scratch));
    return pw_partloss_find(rows, nranks, RUN, scratch, found);
}

static void test_equal_ranks_lose_nothing(void **state)
{
    (void)state;
    clear(4);
    assert_int_equal(find(), 0);
    at(PW_PART_STEPS, 2)->total_ns += 3000 * MS; /* not looked at here */
    assert_int_equal(find(), 0);
    clear(1);
    assert_int_equal(find(), 0);
}

/* 400 ms, 4 % of the run; not when another has more than a fifth of it, nor of 90 ms. */
static void test_late_start(void **state)
{
    (void)state;
    clear(4);
    at(PW_PART_START, 1)->total_ns += 400 * MS;
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].rank, 1);
    assert_int_equal(found[0].part, PW_PART_START);
    assert_int_equal(found[0].cause, PW_CAUSE_LATE_START);
    assert_int_equal(found[0].lost_ns, 400 * MS);
    assert_int_equal(found[0].usual_ns, 1000 * MS);
    at(PW_PART_START, 2)->total_ns += 150 * MS;
    assert_int_equal(find(), 0);
    clear(4);
    at(PW_PART_START, 1)->total_ns += 90 * MS;
    assert_int_equal(find(), 0);
    at(PW_PART_START, 1)->total_ns += 50 * MS; /* 1.4 %, and no other at all */
    assert_int_equal(find(), 1);
    at(PW_PART_START, 2)->total_ns += 5 * MS; /* t = 42 of 2 degrees: in 1 of 900 x 6 parts */
    assert_int_equal(find(), 0);
    at(PW_PART_START, 1)->total_ns += 20 * MS; /* 1.6 % */
    assert_int_equal(find(), 1);
    at(PW_PART_START, 2)->total_ns += 5 * MS; /* a sixteenth */
    assert_int_equal(find(), 0);
}

/* Who waits in the part has not lost it. */
/* Rank r works r seconds after its last step. None is an outlier, but the job waits for rank 3, for
 * 1 s longer than it would for rank 2: a tenth of the run. Of 990 ms nobody is named. */
static void test_each_ends_later_than_the_one_before(void **state)
{
    (void)state;
    for (int64_t more = 990; more <= 1000; more += 10) {
        clear(4);
        for (size_t r = 1; r < 4; r++)
            at(PW_PART_TAIL, r)->total_ns += ((int64_t)r - 1) * 1000 * MS + more * MS;
        at(PW_PART_TAIL, 1)->total_ns += (1000 - more) * MS;
        at(PW_PART_TAIL, 2)->total_ns += (1000 - more) * MS;
        assert_int_equal(find(), more == 1000);
    }
    assert_int_equal(found[0].rank, 3);
    assert_int_equal(found[0].part, PW_PART_TAIL);
    assert_int_equal(found[0].lost_ns, 2000 * MS);
    assert_int_equal(found[0].next_ns, 1000 * MS);
}

/* Two of five are late by 400 and 150 ms, 4 and 1.5 % of the run: the three others agree, and each
 * of the two stands out beside them. Without the first the job would wait for the second. Of four,
 * the two others might as well be early. */
static void test_two_late_starts(void **state)
{
    (void)state;
    for (size_t n = 4; n <= 5; n++) {
        clear(n);
        at(PW_PART_START, 1)->total_ns += 400 * MS;
        at(PW_PART_START, 2)->total_ns += 150 * MS;
        assert_int_equal(find(), n == 4 ? 0 : 2);
    }
    assert_int_equal(found[0].rank, 1);
    assert_int_equal(found[0].lost_ns, 400 * MS);
    assert_int_equal(found[0].next_ns, 150 * MS);
    assert_int_equal(found[1].rank, 2);
    assert_int_equal(found[1].lost_ns, 150 * MS);
    assert_int_equal(found[1].next_ns, 0);
    assert_int_equal(found[1].cause, PW_CAUSE_LATE_START);
    at(PW_PART_START, 3)->total_ns += 40 * MS; /* more than a twentieth of the second */
    assert_int_equal(find(), 0);
}

static void test_waiting(void **state)
{
    (void)state;
    clear(4);
    at(PW_PART_TAIL, 3)->total_ns += 2000 * MS;
    at(PW_PART_TAIL, 3)->wait_ns = 2000 * MS;
    assert_int_equal(find(), 0);
    at(PW_PART_TAIL, 3)->wait_ns = 1500 * MS;
    at(PW_PART_TAIL, 3)->asleep_ns = 500 * MS;
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].part, PW_PART_TAIL);
    assert_int_equal(found[0].lost_ns, 500 * MS);
    assert_int_equal(found[0].cause, PW_CAUSE_BLOCKED_OFF_CPU);
    at(PW_PART_TAIL, 3)->io_bytes = 5 * 4096 - 1; /* less than a page in each 0.1 s */
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].cause, PW_CAUSE_BLOCKED_OFF_CPU);
    at(PW_PART_TAIL, 3)->io_bytes = 5 * 4096;
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].cause, PW_CAUSE_FILE_IO);
}

/* Files that a CPU reads or writes, from 10 MB per second of the loss on, also where no state
 * explains half of it. A late start has no other cause, but it is known what the rank did. */
static void test_files_that_a_cpu_reads(void **state)
{
    (void)state;
    clear(4);
    struct pw_row_c_part_trace *late = at(PW_PART_SETUP, 1);
    late->total_ns += 500 * MS;
    late->cpu_ns = 300 * MS;
    late->io_bytes = 4900000;
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].cause, PW_CAUSE_MORE_CPU_WORK);
    late->io_bytes = 5000000;
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].cause, PW_CAUSE_FILE_IO);
    late->cpu_ns = late->disk_ns = 200 * MS;
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].cause, PW_CAUSE_FILE_IO);
    late->io_bytes = 0;
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].cause, PW_CAUSE_UNKNOWN);

    clear(4);
    at(PW_PART_START, 1)->total_ns += 500 * MS;
    at(PW_PART_START, 1)->disk_ns = 500 * MS;
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].cause, PW_CAUSE_LATE_START);
    assert_int_equal(found[0].spent, PW_CAUSE_FILE_IO);
}

/* Without MPI_Finalize the tail lasts until the last rank ends: three ended 500 ms before it. */
static void test_ranks_that_ended_before(void **state)
{
    (void)state;
    clear(4);
    for (size_t r = 0; r < 3; r++)
        at(PW_PART_TAIL, r)->outside_ns = 500 * MS;
    at(PW_PART_TAIL, 3)->asleep_ns = 500 * MS;
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].rank, 3);
    assert_int_equal(found[0].part, PW_PART_TAIL);
    assert_int_equal(found[0].lost_ns, 500 * MS);
    assert_int_equal(found[0].cause, PW_CAUSE_BLOCKED_OFF_CPU);
}

/* Among four ranks 4 % are enough, when the others differ by no more than a fifth of it. */
static void test_set_up_of_few(void **state)
{
    (void)state;
    clear(4);
    at(PW_PART_SETUP, 0)->total_ns += 200 * MS;
    at(PW_PART_SETUP, 1)->total_ns += 80 * MS;
    assert_int_equal(find(), 0);
    at(PW_PART_SETUP, 0)->total_ns += 200 * MS;
    assert_int_equal(find(), 1);
    at(PW_PART_SETUP, 2)->total_ns -= 10 * MS;
    assert_int_equal(find(), 0);
}

/* For seven of eight ranks s is 10 ms, and the error of a difference 10 x sqrt(8 / 7) = 10.69 ms.
 * 100 ms are 9.35 of it, and by chance in 0.0021 of runs, of 8 ranks and 6 parts; 115 ms in
 * 0.00091. For 3 % of the run, 0.01 is enough: where s is 40 ms, 280 ms have a chance of 0.014, 320
 * ms of 0.007. */
static void test_set_up_of_many(void **state)
{
    static const int64_t off[] = {0, -10, 10, -10, 10, -10, 10, 0};
    (void)state;
    clear(8);
    for (size_t r = 1; r < 8; r++)
        at(PW_PART_SETUP, r)->total_ns += off[r] * MS;
    at(PW_PART_SETUP, 0)->total_ns += 100 * MS;
    assert_int_equal(find(), 0);
    at(PW_PART_SETUP, 0)->total_ns += 15 * MS;
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].lost_ns, 115 * MS);
    assert_int_equal(found[0].next_ns, 10 * MS);
    clear(8);
    for (size_t r = 1; r < 8; r++)
        at(PW_PART_SETUP, r)->total_ns += 4 * off[r] * MS;
    at(PW_PART_SETUP, 0)->total_ns += 280 * MS;
    assert_int_equal(find(), 0);
    at(PW_PART_SETUP, 0)->total_ns += 40 * MS;
    assert_int_equal(find(), 1);
}

/* Between two ranks a twentieth of the run is asked for before the first step, where one waits for
 * the other, and a tenth after MPI_Finalize. */
static void test_two_ranks(void **state)
{
    (void)state;
    for (size_t n = 2; n <= 4; n++) { /* all, and two that are known of more */
        clear(n);
        for (int part = PW_PART_START; part <= PW_PART_END; part++)
            for (size_t r = 2; r < n; r++)
                memset(at((enum pw_part)part, r), 0xff, sizeof(rows[0]));
        at(PW_PART_SETUP, 0)->total_ns += 490 * MS;
        at(PW_PART_END, 0)->total_ns += 900 * MS;
        assert_int_equal(find(), 0);
    }
    clear(2);
    at(PW_PART_END, 1)->total_ns += 1000 * MS;
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].rank, 1);
    clear(2);
    at(PW_PART_SETUP, 0)->total_ns += 500 * MS;
    at(PW_PART_SETUP, 0)->cpu_ns = 1000 * MS;
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].rank, 0);
    assert_int_equal(found[0].cause, PW_CAUSE_MORE_CPU_WORK);
}

/* A rank without a file is no peer; two parts may both be lost, by different ranks. */
static void test_unknown_and_several(void **state)
{
    (void)state;
    clear(4);
    at(PW_PART_START, 0)->total_ns += 1000 * MS;
    at(PW_PART_END, 2)->total_ns += 1000 * MS;
    for (int part = PW_PART_START; part <= PW_PART_END; part++)
        memset(at((enum pw_part)part, 3), 0xff, sizeof(rows[0]));
    assert_int_equal(find(), 2);
    assert_int_equal(found[0].rank, 0);
    assert_int_equal(found[1].rank, 2);
    assert_int_equal(found[1].part, PW_PART_END);
}

/* In MPI_Init three ranks sleep for 900 of 1000 ms, and the fourth computes for 500 of them: 400 ms
 * more. When all sleep as long as it, no rank is late; nor is the one of two that spins, when it
 * never sleeps. */
static void test_init(void **state)
{
    (void)state;
    clear(4);
    for (size_t r = 0; r < 4; r++) {
        at(PW_PART_INIT, r)->asleep_ns = r == 2 ? 500 * MS : 900 * MS;
        at(PW_PART_INIT, r)->cpu_ns = r == 2 ? 500 * MS : 100 * MS;
    }
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].rank, 2);
    assert_int_equal(found[0].part, PW_PART_INIT);
    assert_int_equal(found[0].cause, PW_CAUSE_MORE_CPU_WORK);
    assert_int_equal(found[0].lost_ns, 400 * MS);
    at(PW_PART_INIT, 2)->cpu_ns = -1; /* not known */
    assert_int_equal(find(), 0);
    clear(2);
    at(PW_PART_INIT, 1)->cpu_ns = 1000 * MS;
    assert_int_equal(find(), 0);
    at(PW_PART_INIT, 0)->asleep_ns = 1000 * MS; /* it spins, or computes ... */
    assert_int_equal(find(), 0);
    at(PW_PART_INIT, 1)->cpu_ns = 1100 * MS;
    at(PW_PART_INIT, 1)->asleep_ns = 100 * MS; /* ... and who waits there sleeps */
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].rank, 1);
}

/* All ranks are in MPI_Finalize for 1 s, and on a CPU or ready for one for `own_ms` of it. */
static void finalize(size_t rank, int64_t own_ms)
{
    at(PW_PART_FINALIZE, rank)->cpu_ns = own_ms * MS;
    at(PW_PART_FINALIZE, rank)->asleep_ns = (1000 - own_ms) * MS;
}

static void test_finalize_of_a_busy_rank(void **state)
{
    (void)state;
    clear(4);
    for (size_t r = 0; r < 4; r++)
        finalize(r, r == 1 ? 950 : 50);
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].rank, 1);
    assert_int_equal(found[0].part, PW_PART_FINALIZE);
    assert_int_equal(found[0].evidence, PW_PART_OWN_TIME);
    assert_int_equal(found[0].lost_ns, 900 * MS);
    assert_int_equal(found[0].cause, PW_CAUSE_MORE_CPU_WORK);
    finalize(2, 250); /* another one has more than a fifth of that */
    assert_int_equal(find(), 0);
}

/* The others poll: each is on a CPU for 50 ms at least, 5 % of the call. */
static void test_finalize_of_a_rank_that_sleeps(void **state)
{
    (void)state;
    clear(4);
    for (size_t r = 0; r < 4; r++)
        finalize(r, r == 3 ? 10 : 50);
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].rank, 3);
    assert_int_equal(found[0].part, PW_PART_FINALIZE);
    assert_int_equal(found[0].evidence, PW_PART_ASLEEP);
    assert_int_equal(found[0].lost_ns, 990 * MS);
    assert_int_equal(found[0].usual_ns, 50 * MS);
    assert_int_equal(found[0].cause, PW_CAUSE_BLOCKED_OFF_CPU);
    finalize(0, 49); /* it may sleep, too */
    assert_int_equal(find(), 0);
    finalize(0, 50);
    finalize(3, 11);
    assert_int_equal(find(), 0);
    for (size_t r = 0; r < 4; r++)
        finalize(r, r == 3 ? 101 : 600); /* it slept for less than 90 % */
    assert_int_equal(find(), 0);
}

/* One of two is busy. If the other one sleeps all the time, either may be late. */
static void test_finalize_of_two(void **state)
{
    (void)state;
    clear(2);
    finalize(0, 0);
    finalize(1, 1000);
    assert_int_equal(find(), 0);
    finalize(0, 120);            /* it polls */
    assert_int_equal(find(), 0); /* 8.8 % of the run */
    at(PW_PART_FINALIZE, 1)->cpu_ns += 120 * MS;
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].rank, 1);
    assert_int_equal(found[0].evidence, PW_PART_OWN_TIME);
    clear(2);
    for (size_t r = 0; r < 2; r++) {
        at(PW_PART_FINALIZE, r)->total_ns = 2000 * MS;
        at(PW_PART_FINALIZE, r)->asleep_ns = r == 0 ? 1995 * MS : 1600 * MS;
        at(PW_PART_FINALIZE, r)->cpu_ns = r == 0 ? 5 * MS : 400 * MS;
    }
    assert_int_equal(find(), 1); /* and the one that sleeps is late */
    assert_int_equal(found[0].rank, 0);
    assert_int_equal(found[0].evidence, PW_PART_ASLEEP);
}

/* Rank 2 leaves MPI_Finalize 600 ms after the others, asleep as they are; then so late only because
 * it entered it earlier. */
static void test_finalize_that_one_leaves_late(void **state)
{
    (void)state;
    clear(4);
    at(PW_PART_FINALIZE, 2)->total_ns += 600 * MS;
    at(PW_PART_END, 2)->total_ns -= 600 * MS;
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].rank, 2);
    assert_int_equal(found[0].part, PW_PART_FINALIZE);
    assert_int_equal(found[0].evidence, PW_PART_LEFT_LATE);
    assert_int_equal(found[0].lost_ns, 600 * MS);
    at(PW_PART_STEPS, 2)->total_ns -= 300 * MS;
    assert_int_equal(find(), 1);
    assert_int_equal(found[0].lost_ns, 300 * MS);
    at(PW_PART_STEPS, 2)->total_ns -= 300 * MS;
    assert_int_equal(find(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_ranks_lose_nothing),
        cmocka_unit_test(test_late_start),
        cmocka_unit_test(test_each_ends_later_than_the_one_before),
        cmocka_unit_test(test_two_late_starts),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_files_that_a_cpu_reads),
        cmocka_unit_test(test_ranks_that_ended_before),
        cmocka_unit_test(test_set_up_of_few),
        cmocka_unit_test(test_set_up_of_many),
        cmocka_unit_test(test_two_ranks),
        cmocka_unit_test(test_unknown_and_several),
        cmocka_unit_test(test_init),
        cmocka_unit_test(test_finalize_of_a_busy_rank),
        cmocka_unit_test(test_finalize_of_a_rank_that_sleeps),
        cmocka_unit_test(test_finalize_of_two),
        cmocka_unit_test(test_finalize_that_one_leaves_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
