/* Stretches of the run that one rank loses: values worked by hand, in bins of 100 ms. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/stretch.h"

#define MS INT64_C(1000000)

enum { BINS = 50, MOST = 16 };

struct run {
    struct pw_stretch_input in;
    struct pw_row_c_bin_trace *rows;
    int64_t *host;
    void *scratch;
    struct pw_stretch found[MOST];
    size_t n;
};

/* Every rank waits 40 ms of a bin and computes 60 ms. */
static struct run *create(size_t nranks)
{
    struct run *r = calloc(1, sizeof(*r));
    r->rows = calloc(BINS * nranks, sizeof(*r->rows));
    r->host = calloc(nranks, sizeof(*r->host));
    for (size_t i = 0; i < BINS * nranks; i++)
        r->rows[i] =
            (struct pw_row_c_bin_trace){.wait_ns = 40 * MS, .cpu_ns = 100 * MS, .io_bytes = 0};
    r->in = (struct pw_stretch_input){BINS, nranks, 100 * MS, r->rows, 0, r->host, NULL};
    r->scratch = malloc(pw_stretch_scratch(&r->in)); /* no byte more: asan looks */
    return r;
}

static void destroy(struct run *r)
{
    free(r->rows);
    free(r->host);
    free(r->scratch);
    free(r);
}

static struct pw_row_c_bin_trace *at(struct run *r, size_t bin, size_t rank)
{
    return &r->rows[bin * r->in.nranks + rank];
}

static size_t find(struct run *r)
{
    memset(r->scratch, 0xa5, pw_stretch_scratch(&r->in));
    r->n = pw_stretch_find(&r->in, r->scratch, r->found, MOST);
    return r->n;
}

/* The rank does not wait in bins first..last, and all others do nothing else. */
static void hold(struct run *r, size_t rank, size_t first, size_t last)
{
    for (size_t i = first; i <= last; i++)
        for (size_t k = 0; k < r->in.nranks; k++)
            at(r, i, k)->wait_ns = k == rank ? 0 : 100 * MS;
}

static void test_equal_ranks_have_no_stretch(void **state)
{
    (void)state;
    struct run *r = create(4);
    assert_int_equal(find(r), 0);
    for (size_t i = 0; i < BINS; i++)
        at(r, i, i % 4)->wait_ns = 0; /* each in turn */
    assert_int_equal(find(r), 0);
    destroy(r);
    r = create(1);
    hold(r, 0, 10, 20);
    assert_int_equal(find(r), 0);
    destroy(r);
}

/* Two of three bins of 5 s stopped: 200 ms, 4 % of the run; a call that it is in does not hide
 * it. */
static void test_stopped(void **state)
{
    (void)state;
    struct run *r = create(4);
    hold(r, 2, 10, 11);
    for (size_t i = 10; i <= 11; i++) {
        at(r, i, 2)->inside_ns = 100 * MS;
        at(r, i, 2)->stopped_ns = 100 * MS;
        at(r, i, 2)->cpu_ns = 0;
    }
    assert_int_equal(find(r), 1);
    assert_int_equal(r->found[0].rank, 2);
    assert_int_equal(r->found[0].cause, PW_CAUSE_STOPPED);
    assert_int_equal(r->found[0].first, 10);
    assert_int_equal(r->found[0].last, 11);
    assert_int_equal(r->found[0].lost_ns, 200 * MS);
    assert_int_equal(r->found[0].next_ns, 0);
    assert_int_equal(r->found[0].usual_ns, 0);
    destroy(r);
}

/* Stopped while it would have waited: no rank was held back. */
static void test_stop_while_waiting_holds_no_rank_back(void **state)
{
    (void)state;
    struct run *r = create(4);
    for (size_t i = 10; i <= 15; i++) {
        at(r, i, 2)->wait_ns = 100 * MS;
        at(r, i, 2)->stopped_ns = 100 * MS;
    }
    assert_int_equal(find(r), 0);
    for (size_t i = 10; i <= 15; i++) /* all others are inside calls: it holds up messages */
        for (size_t k = 0; k < 4; k++)
            at(r, i, k)->inside_ns = 60 * MS;
    assert_int_equal(find(r), 1);
    assert_int_equal(r->found[0].cause, PW_CAUSE_STOPPED);
    assert_int_equal(r->found[0].lost_ns, 600 * MS);
    destroy(r);
}

/* The others do not communicate meanwhile. */
static void test_not_waited_for(void **state)
{
    (void)state;
    struct run *r = create(4);
    hold(r, 2, 10, 15);
    for (size_t i = 10; i <= 15; i++)
        for (size_t k = 0; k < 4; k++) {
            at(r, i, k)->wait_ns = 0;
            at(r, i, k)->stopped_ns = k == 2 ? 100 * MS : 0;
        }
    assert_int_equal(find(r), 0);
    destroy(r);
}

/* 70 of 100 ms in each of 20 bins: 1.4 s; ready_ns has the throttled time, too. */
static void test_quota(void **state)
{
    (void)state;
    struct run *r = create(4);
    hold(r, 1, 20, 39);
    for (size_t i = 20; i <= 39; i++) {
        at(r, i, 1)->throttled_ns = at(r, i, 1)->ready_ns = 70 * MS;
        at(r, i, 1)->cpu_ns = 30 * MS;
    }
    assert_int_equal(find(r), 1);
    assert_int_equal(r->found[0].cause, PW_CAUSE_CGROUP_THROTTLING);
    assert_int_equal(r->found[0].lost_ns, 1400 * MS);
    destroy(r);
}

/* Beside the rank of test_quota() another one has a smaller quota of its own: 30 of the 100 ms that
 * it does not wait for the first, 0.6 s. Both are named; with a third there is no majority to
 * compare with, and only the first is twice as slow as the others. */
static void test_two_quotas(void **state)
{
    (void)state;
    struct run *r = create(4);
    hold(r, 1, 20, 39);
    for (size_t i = 20; i <= 39; i++) {
        at(r, i, 1)->throttled_ns = at(r, i, 1)->ready_ns = 70 * MS;
        at(r, i, 1)->cpu_ns = 30 * MS;
        at(r, i, 3)->wait_ns = 70 * MS;
        at(r, i, 3)->throttled_ns = at(r, i, 3)->ready_ns = 30 * MS;
        at(r, i, 3)->cpu_ns = 70 * MS;
    }
    assert_int_equal(find(r), 2);
    for (size_t i = 0; i < 2; i++) {
        const struct pw_stretch *f = &r->found[i];
        assert_int_equal(f->cause, PW_CAUSE_CGROUP_THROTTLING);
        assert_int_equal(f->lost_ns, f->rank == 1 ? 1400 * MS : 600 * MS);
        assert_int_equal(f->next_ns, f->rank == 1 ? 600 * MS : 0);
        assert_int_equal(f->beside, f->rank == 1 ? 0 : 1);
    }
    assert_int_equal(r->found[0].rank + r->found[1].rank, 4);
    for (size_t i = 20; i <= 39; i++)
        *at(r, i, 2) = *at(r, i, 3);
    assert_int_equal(find(r), 1);
    assert_int_equal(r->found[0].rank, 1);
    destroy(r);
}

/* Asleep for 60 ms in each of 10 bins outside calls: blocked; with bytes read meanwhile: files;
 * blocked, when all ranks read as much (2). */
static void test_asleep(void **state)
{
    (void)state;
    for (int reads = 0; reads < 3; reads++) {
        struct run *r = create(4);
        hold(r, 0, 5, 14);
        for (size_t i = 5; i <= 14; i++) {
            at(r, i, 0)->asleep_ns = 60 * MS;
            at(r, i, 0)->io_bytes = reads ? 4096 : 0;
            for (size_t k = 1; k < 4; k++)
                at(r, i, k)->io_bytes = reads == 2 ? 4096 : 0;
        }
        assert_int_equal(find(r), 1);
        assert_int_equal(r->found[0].cause,
                         reads == 1 ? PW_CAUSE_FILE_IO : PW_CAUSE_BLOCKED_OFF_CPU);
        assert_int_equal(r->found[0].lost_ns, 600 * MS);
        destroy(r);
    }
}

/* A tenth of 3 s spent waiting for a processor is what busy machines do; half of it is not. Nor is
 * a rank named when another has more than half of that at another time. */
static void test_contention(void **state)
{
    (void)state;
    for (int64_t share = 10; share <= 50; share += 40) {
        struct run *r = create(4);
        hold(r, 0, 10, 39);
        for (size_t i = 10; i <= 39; i++) {
            at(r, i, 0)->inside_ns = 60 * MS;
            at(r, i, 0)->ready_ns = share * MS;
            at(r, i, 0)->wait_ns = 5 * MS;
            for (size_t k = 1; k < 4; k++) {
                at(r, i, k)->wait_ns = 29 * MS;
                at(r, i, k)->inside_ns = 5 * MS;
            }
        }
        assert_int_equal(find(r), share == 50);
        if (share == 50) {
            assert_int_equal(r->found[0].cause, PW_CAUSE_CPU_CONTENTION);
            /* 50 ms of 30 bins, of which the others waited 29 ms longer than it */
            assert_int_equal(r->found[0].lost_ns, 870 * MS);
        }
        for (size_t i = 0; i < 10; i++) {
            at(r, i, 1)->wait_ns = 0;
            at(r, i, 1)->ready_ns = 80 * MS;
        }
        assert_int_equal(find(r), share == 10);
        assert_true(share == 50 || r->found[0].rank == 1);
        destroy(r);
    }
}

/* All sleep in their work and spin while they wait, rank 3 longer than the others: of the samples
 * alone it may as well have slept while it waited, and worked 40 ms on the CPU, the others 20. */
static void test_who_waits_itself_is_not_waited_for(void **state)
{
    (void)state;
    struct run *r = create(4);
    for (size_t i = 0; i < BINS; i++)
        for (size_t k = 0; k < 4; k++) {
            const int64_t waited = k == 3 ? 40 : 20;
            *at(r, i, k) = (struct pw_row_c_bin_trace){
                .wait_ns = waited * MS, .cpu_ns = waited * MS, .asleep_ns = (100 - waited) * MS};
        }
    assert_int_equal(find(r), 0);
    destroy(r);
}

/* At the end of a chain the first two ranks have no more to do. The last sleeps in its work, and
 * spins while it waits for the one before it: nothing says that it worked on the CPU. */
static void test_spinning_is_not_work(void **state)
{
    (void)state;
    static const int64_t waited[] = {100 * MS, 100 * MS, 0, 50 * MS};
    struct run *r = create(4);
    for (size_t i = 0; i < BINS; i++)
        for (size_t k = 0; k < 4; k++)
            *at(r, i, k) = (struct pw_row_c_bin_trace){
                .wait_ns = waited[k], .cpu_ns = waited[k], .asleep_ns = 100 * MS - waited[k]};
    assert_int_equal(find(r), 1);
    assert_int_equal(r->found[0].rank, 2);
    assert_int_equal(r->found[0].cause, PW_CAUSE_BLOCKED_OFF_CPU);
    destroy(r);
}

/* 2 of 8 ranks are the two of a host: they lost it together, and are named both. With four on two
 * hosts one rank is like its neighbour: none stands out. */
static void test_host(void **state)
{
    (void)state;
    struct run *r = create(8);
    for (size_t k = 0; k < 8; k++)
        r->host[k] = (int64_t)k / 2;
    for (size_t k = 2; k <= 3; k++)
        for (size_t i = 10; i <= 19; i++) {
            at(r, i, k)->wait_ns = 0;
            at(r, i, k)->stopped_ns = 100 * MS;
        }
    assert_int_equal(find(r), 2);
    assert_true(r->found[0].is_host && r->found[1].is_host);
    assert_int_equal(r->found[0].next_ns, 0);
    r->host[3] = 2; /* elsewhere */
    assert_int_equal(find(r), 0);
    destroy(r);
}

/* Without samples it is only known that the rank did not wait: of two ranks a fifth of the run is
 * asked for. */
static void test_without_samples(void **state)
{
    (void)state;
    for (size_t nranks = 2; nranks <= 3; nranks++) {
        struct run *r = create(nranks);
        for (size_t i = 0; i < BINS * nranks; i++)
            r->rows[i].cpu_ns = r->rows[i].ready_ns = -1;
        hold(r, 1, 20, 26); /* 700 ms of 5 s */
        assert_int_equal(find(r), nranks == 3);
        hold(r, 1, 20, 31); /* 1200 ms */
        assert_int_equal(find(r), 1);
        assert_int_equal(r->found[0].rank, 1);
        assert_int_equal(r->found[0].cause, PW_CAUSE_UNKNOWN);
        assert_int_equal(r->found[0].lost_ns, 1200 * MS);
        for (size_t i = 0; i < BINS; i++) /* a rank without a file */
            memset(at(r, i, 1), 0xff, sizeof(*r->rows));
        assert_int_equal(find(r), 0);
        destroy(r);
    }
}

/* Two known ranks of three are asked for as much as two. */
static void test_two_known_ranks_of_three_need_as_much_as_two(void **state)
{
    (void)state;
    struct run *r = create(3);
    for (size_t i = 0; i < BINS * 3; i++)
        r->rows[i].cpu_ns = r->rows[i].ready_ns = -1;
    for (size_t i = 0; i < BINS; i++)
        memset(at(r, i, 2), 0xff, sizeof(*r->rows));
    for (size_t i = 20; i <= 26; i++) { /* 700 ms of 5 s */
        at(r, i, 0)->wait_ns = 100 * MS;
        at(r, i, 1)->wait_ns = 0;
    }
    assert_int_equal(find(r), 0);
    for (size_t i = 27; i <= 31; i++) {
        at(r, i, 0)->wait_ns = 100 * MS;
        at(r, i, 1)->wait_ns = 0;
    }
    assert_int_equal(find(r), 1);
    destroy(r);
}

/* Ranks 2 and 3 of six, all of their host: nothing was seen of 500 ms, a tenth of the run. Not when
 * a rank elsewhere works on: then that one is waited for. */
static void test_frozen_host(void **state)
{
    (void)state;
    struct run *r = create(6);
    for (size_t k = 0; k < 6; k++)
        r->host[k] = (int64_t)k / 2;
    for (size_t i = 10; i < 15; i++)
        for (size_t k = 0; k < 6; k++)
            *at(r, i, k) =
                k / 2 == 1 ? (struct pw_row_c_bin_trace){.inside_ns = k == 2 ? 100 * MS : 0,
                                                         .frozen_ns = 100 * MS}
                           : (struct pw_row_c_bin_trace){.wait_ns = 100 * MS, .cpu_ns = 100 * MS};
    assert_int_equal(find(r), 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(r->found[i].rank, 2 + i);
        assert_int_equal(r->found[i].cause, PW_CAUSE_HOST_FROZEN);
        assert_int_equal(r->found[i].lost_ns, 500 * MS);
        assert_true(r->found[i].is_host);
    }
    for (size_t i = 10; i < 15; i++)
        at(r, i, 5)->wait_ns = 0;
    assert_int_equal(find(r), 1);
    assert_int_equal(r->found[0].rank, 5);
    destroy(r);
}

/* Rank 0 works for 100 ms more in each of 10 bins, and writes 1 MB in each: 10 MB/s, a checkpoint.
 * With a byte less, or when all ranks write as much, it is more work. */
static void test_work_for_files(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct run *r = create(4);
        hold(r, 0, 5, 14);
        for (size_t i = 5; i <= 14; i++) {
            at(r, i, 0)->cpu_ns = 100 * MS;
            at(r, i, 0)->io_bytes = 1000000 - (kind == 1 && i == 5);
            for (size_t k = 1; k < 4; k++)
                at(r, i, k)->io_bytes = kind == 2 ? 1000000 : 0;
        }
        assert_int_equal(find(r), 1);
        assert_int_equal(r->found[0].lost_ns, 1000 * MS);
        assert_int_equal(r->found[0].cause, kind ? PW_CAUSE_MORE_CPU_WORK : PW_CAUSE_FILE_IO);
        assert_int_equal(r->found[0].is_written, !kind);
        destroy(r);
    }
}

/* The system saw rank 1 in state D while all were asleep in a call of 400 ms, 8 % of the run; then
 * rank 1 alone. */
static void test_disk(void **state)
{
    (void)state;
    struct run *r = create(4);
    for (size_t i = 10; i <= 13; i++)
        for (size_t k = 0; k < 4; k++)
            *at(r, i, k) = (struct pw_row_c_bin_trace){.inside_ns = 100 * MS,
                                                       .disk_ns = k == 1 ? 100 * MS : 0,
                                                       .asleep_ns = k == 1 ? 0 : 100 * MS};
    assert_int_equal(find(r), 0);
    hold(r, 1, 10, 13);
    for (size_t i = 10; i <= 13; i++)
        for (size_t k = 0; k < 4; k++)
            if (k != 1)
                *at(r, i, k) = (struct pw_row_c_bin_trace){.wait_ns = 100 * MS, .cpu_ns = 100 * MS};
    assert_int_equal(find(r), 1);
    assert_int_equal(r->found[0].rank, 1);
    assert_int_equal(r->found[0].cause, PW_CAUSE_FILE_IO);
    assert_int_equal(r->found[0].lost_ns, 400 * MS);
    destroy(r);
}

/* All ranks are on a CPU for half of the time. Rank 3 is outside calls for 75 ms of a bin, the
 * others for 58: of work it has 8.5 ms a bin more, in 20 bins 170 ms, 3.4 % of the run: not enough.
 * With 88 ms it is 15 ms, and 300 ms are 6 %. */
static void test_work_on_a_shared_cpu(void **state)
{
    (void)state;
    struct run *r = create(4);
    for (size_t i = 10; i < 30; i++)
        for (size_t k = 0; k < 4; k++)
            *at(r, i, k) = (struct pw_row_c_bin_trace){
                .inside_ns = k == 3 ? 25 * MS : 42 * MS, .cpu_ns = 50 * MS, .ready_ns = 50 * MS};
    assert_int_equal(find(r), 0);
    for (size_t i = 10; i < 30; i++)
        at(r, i, 3)->inside_ns = 12 * MS;
    assert_int_equal(find(r), 1);
    assert_int_equal(r->found[0].rank, 3);
    assert_int_equal(r->found[0].cause, PW_CAUSE_MORE_CPU_WORK);
    assert_int_equal(r->found[0].lost_ns, 300 * MS);
    destroy(r);
}

/* Ready for 60 ms of a bin, the others for 35: less than 30 % of the stretch; but all of the run is
 * 25 % of it. */
/* Rank 0 is kept from its CPU for 60 ms of bins 10 to 19, the others for 20 ms as they visit it;
 * all are ready as long. Bound to it rank 0 stands out, but not when all are kept as long, or two
 * so. */
static void test_bound(void **state)
{
    (void)state;
    int64_t kept[BINS * 4] = {0}, others[BINS * 4];
    uint8_t beside[BINS * 4] = {0};
    const struct pw_bound bound = {others, kept, beside};
    struct run *r = create(4);
    for (size_t i = 10 * 4; i < 20 * 4; i++) {
        kept[i] = (i % 4 ? 20 : 60) * MS;
        beside[i] = i % 4 ? PW_BESIDE_NOT : PW_BESIDE_NARROW;
        r->rows[i].ready_ns = 70 * MS;
        r->rows[i].wait_ns = (i % 4 ? 20 : 5) * MS;
        r->rows[i].inside_ns = 50 * MS;
    }
    assert_int_equal(find(r), 0);
    r->in.bound = &bound;
    assert_int_equal(find(r), 1);
    assert_int_equal(r->found[0].rank, 0);
    assert_true(r->found[0].is_bound && r->found[0].cause == PW_CAUSE_CPU_CONTENTION);
    assert_int_equal(r->found[0].lost_ns, 400 * MS); /* 10 bins, 60 - 20 ms; waited for 65 */
    for (size_t i = 0; i < BINS * 4; i++)
        kept[i] = kept[i] ? 60 * MS : 0;
    assert_int_equal(find(r), 0);
    for (size_t i = 0; i < BINS * 4; i++)
        kept[i] = i % 4 > 1 ? 0 : kept[i], beside[i] = kept[i] ? PW_BESIDE_NARROW : 0;
    assert_int_equal(find(r), 0);
    destroy(r);
}

static void test_thin_contention(void **state)
{
    (void)state;
    struct run *r = create(4);
    for (size_t last = 20; last <= BINS; last += 30) {
        for (size_t i = 0; i < last; i++)
            for (size_t k = 0; k < 4; k++)
                *at(r, i, k) = (struct pw_row_c_bin_trace){.wait_ns = k ? 65 * MS : 40 * MS,
                                                           .ready_ns = k ? 80 * MS : 90 * MS,
                                                           .cpu_ns = k ? 20 * MS : 10 * MS};
        assert_int_equal(find(r), last == BINS);
    }
    assert_int_equal(r->found[0].rank, 0);
    assert_int_equal(r->found[0].cause, PW_CAUSE_CPU_CONTENTION);
    assert_int_equal(r->found[0].lost_ns, BINS * 25 * MS);
    destroy(r);
}

/* Rank 2 is asleep for 0.6 s longer than the others, which wait meanwhile: in collectives of which
 * it is the last, or not. */
static void test_waits_for_others(void **state)
{
    (void)state;
    struct run *r = create(4);
    hold(r, 2, 10, 15);
    for (size_t i = 10; i <= 15; i++)
        at(r, i, 2)->asleep_ns = 100 * MS;
    const int64_t all = 3 * 600 * MS;
    for (int64_t i = 0; i < 6; i++) {
        assert_int_equal(find(r), 1);
        assert_int_equal(r->found[0].lost_ns, 600 * MS);
        struct pw_stretch_waits waits[] = {
            {all, 600 * MS},    /* all for it */
            {all, 400 * MS},    /* also for others: counts what was for it */
            {all, 290 * MS},    /* mostly for others: it did not hold the job back */
            {all - all / 5, 0}, /* a part in messages: not known for whom */
            {all, 290 * MS},    {all, 290 * MS} /* stopped; and with its host */
        };
        static const int64_t lost_ms[] = {600, 400, 600, 600, 600, 600};
        r->found[0].cause = i == 4 ? PW_CAUSE_STOPPED : r->found[0].cause;
        r->found[0].is_host = i == 5;
        assert_int_equal(pw_stretch_limit(&r->in, &waits[i], r->scratch, &r->found[0]), i != 2);
        assert_int_equal(r->found[0].lost_ns, lost_ms[i] * MS);
        assert_int_equal(r->found[0].unwaited_ns, (600 - lost_ms[i]) * MS);
    }
    destroy(r);
}

/* The others are 0.2 s longer in calls in which they do not wait: this, too, may be for the rank.
 */
static void test_longer_in_calls(void **state)
{
    (void)state;
    struct run *r = create(4);
    hold(r, 2, 10, 15);
    for (size_t i = 10; i <= 15; i++)
        at(r, i, 2)->asleep_ns = 100 * MS;
    for (size_t i = 10; i <= 11; i++)
        for (size_t k = 0; k < 4; k++)
            if (k != 2) {
                at(r, i, k)->wait_ns = 0;
                at(r, i, k)->inside_ns = 100 * MS;
            }
    assert_int_equal(find(r), 1);
    const int64_t lost = r->found[0].lost_ns;
    assert_true(lost > 300 * MS);
    struct pw_stretch_waits waits = {3 * 400 * MS, lost - 250 * MS};
    assert_int_equal(pw_stretch_limit(&r->in, &waits, r->scratch, &r->found[0]), 1);
    assert_int_equal(r->found[0].lost_ns, lost - 50 * MS);
    r->found[0].lost_ns = lost;
    r->found[0].next_ns = lost - 40 * MS; /* another rank lost more than this one held back */
    assert_int_equal(pw_stretch_limit(&r->in, &waits, r->scratch, &r->found[0]), 0);
    destroy(r);
}

/* Rank 2 is held up for 1 s, for 700 ms of which it reads data while no other rank does. */
static void test_phase(void **state)
{
    (void)state;
    struct run *r = create(4);
    hold(r, 2, 10, 19);
    for (size_t i = 10; i < 17; i++)
        at(r, i, 2)->data_ns = 100 * MS;
    for (size_t k = 0; k < 4; k++) /* all the same, so it explains nothing */
        for (size_t i = 0; i < BINS; i++)
            at(r, i, k)->forward_ns = 100 * MS;
    assert_int_equal(find(r), 1);
    struct pw_stretch *found = &r->found[0];
    assert_int_equal(found->rank, 2);
    assert_int_equal(found->lost_ns, 1000 * MS);
    assert_int_equal(pw_stretch_phase(&r->in, r->scratch, found), PW_PHASE_DATA);
    at(r, 10, 0)->data_ns = 900 * MS; /* one other rank is not their median */
    assert_int_equal(pw_stretch_phase(&r->in, r->scratch, found), PW_PHASE_DATA);
    at(r, 10, 1)->data_ns = at(r, 10, 3)->data_ns = 250 * MS; /* 450 ms more: less than half */
    assert_int_equal(pw_stretch_phase(&r->in, r->scratch, found), PW_PHASE_NONE);
    at(r, 10, 1)->data_ns = at(r, 10, 3)->data_ns = 0;
    found->cause = PW_CAUSE_STOPPED; /* in whatever it did */
    assert_int_equal(pw_stretch_phase(&r->in, r->scratch, found), PW_PHASE_NONE);
    memset(at(r, 12, 2), 0xff, sizeof(*at(r, 12, 2))); /* a bin that is not known */
    found->cause = PW_CAUSE_UNKNOWN;
    assert_int_equal(pw_stretch_phase(&r->in, r->scratch, found), PW_PHASE_DATA);
    destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_ranks_have_no_stretch),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_stop_while_waiting_holds_no_rank_back),
        cmocka_unit_test(test_not_waited_for),
        cmocka_unit_test(test_quota),
        cmocka_unit_test(test_two_quotas),
        cmocka_unit_test(test_asleep),
        cmocka_unit_test(test_contention),
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_who_waits_itself_is_not_waited_for),
        cmocka_unit_test(test_spinning_is_not_work),
        cmocka_unit_test(test_without_samples),
        cmocka_unit_test(test_two_known_ranks_of_three_need_as_much_as_two),
        cmocka_unit_test(test_frozen_host),
        cmocka_unit_test(test_work_for_files),
        cmocka_unit_test(test_disk),
        cmocka_unit_test(test_work_on_a_shared_cpu),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_waits_for_others),
        cmocka_unit_test(test_longer_in_calls),
        cmocka_unit_test(test_thin_contention),
        cmocka_unit_test(test_phase),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
