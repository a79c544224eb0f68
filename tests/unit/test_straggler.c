/* Stragglers in matrices made by hand: who is found, where, since when and at what cost. */
#include "test_straggler_make.h"

#include <math.h>

static void test_no_straggler_in_equal_ranks(void **state)
{
    (void)state;
    struct job *j = create(50, 8, 1e6, 1);
    assert_int_equal(find(j), 0);
    destroy(j);
    j = create(50, 8, 0, 1); /* no noise at all */
    assert_int_equal(find(j), 0);
    destroy(j);
}

static void test_too_few_steps_or_ranks_have_no_straggler(void **state)
{
    (void)state;
    struct job *j = create(50, 8, 1e6, 2);
    slow(j, 3, 0, 49, 30 * MS, 1);
    assert_int_equal(find(j), 1);
    j->in.nsteps = 2;
    assert_int_equal(find(j), 0);
    j->in.nsteps = 0;
    assert_int_equal(find(j), 0);
    destroy(j);
    j = create(50, 1, 1e6, 2);
    assert_int_equal(find(j), 0);
    destroy(j);
}

static void test_persistent(void **state)
{
    (void)state;
    struct job *j = create(50, 8, 1e6, 3);
    slow(j, 5, 0, 49, 20 * MS, 2);
    assert_int_equal(find(j), 1);
    const struct pw_straggler_found *f = &j->found[0];
    assert_int_equal(f->rank, 5);
    assert_int_equal(f->kind, PW_STRAGGLER_PERSISTENT);
    assert_int_equal(f->first, 0);
    assert_int_equal(f->last, 49);
    assert_int_equal(f->hits, 50);
    assert_in_range(f->excess_ns, 19 * MS, 21 * MS);
    assert_true(fabs(f->slowdown - 20.0 / 120) < 0.01); /* of steps of 120 ms */
    assert_int_equal(f->phase, PW_PHASE_BACKWARD);
    assert_true(f->confidence > 0.999 && f->confidence <= 1);
    /* 50 times 20 ms less how far the longest of the other seven is above its median: of seven
     * normal values 1.35 sigma. */
    assert_in_range(f->gain_ns, 50 * 18 * MS, 50 * 19 * MS + 10 * MS);
    destroy(j);
}

static void test_without_noise(void **state)
{
    (void)state;
    struct job *j = create(10, 4, 0, 1);
    slow(j, 0, 0, 9, 10 * MS, 0);
    assert_int_equal(find(j), 1);
    assert_int_equal(j->found[0].rank, 0);
    assert_int_equal(j->found[0].excess_ns, 10 * MS);
    assert_int_equal(j->found[0].gain_ns, 100 * MS);
    assert_true(fabs(j->found[0].slowdown - 10.0 / 120) < 1e-12);
    assert_int_equal(j->found[0].phase, PW_PHASE_DATA);
    destroy(j);
}

static void test_window(void **state)
{
    (void)state;
    struct job *j = create(60, 8, 1e6, 4);
    slow(j, 2, 20, 40, 3 * MS, 1); /* 3 sigma: hidden in any single step */
    assert_int_equal(find(j), 1);
    const struct pw_straggler_found *f = &j->found[0];
    assert_int_equal(f->rank, 2);
    assert_int_equal(f->kind, PW_STRAGGLER_INTERMITTENT);
    assert_in_range(f->first, 18, 22);
    assert_in_range(f->last, 38, 42);
    assert_in_range(f->hits, 16, 25);
    assert_in_range(f->excess_ns, 2 * MS, 4 * MS);
    assert_int_equal(f->phase, PW_PHASE_FORWARD);
    destroy(j);
}

static void test_intermittent_straggler(void **state)
{
    (void)state;
    struct job *j = create(60, 8, 1e6, 5);
    for (size_t s = 3; s < 60; s += 10)
        slow(j, 6, s, s, 15 * MS, 1);
    assert_int_equal(find(j), 1);
    assert_int_equal(j->found[0].rank, 6);
    assert_int_equal(j->found[0].kind, PW_STRAGGLER_INTERMITTENT);
    assert_int_equal(j->found[0].hits, 6);
    assert_int_equal(j->found[0].first, 3);
    assert_int_equal(j->found[0].last, 53);
    destroy(j);
}

/* Steps that are long now and then, in noise well above 1 % of the step: the others are no hits. */
static void test_scattered_hits_only(void **state)
{
    (void)state;
    for (uint64_t seed = 50; seed < 60; seed++) {
        struct job *j = create(60, 8, 5e6, seed);
        for (size_t s = 3; s < 60; s += 10)
            slow(j, 6, s, s, 80 * MS, 1);
        assert_int_equal(find(j), 1);
        assert_int_equal(j->found[0].kind, PW_STRAGGLER_INTERMITTENT);
        assert_in_range(j->found[0].hits, 6, 7); /* one by chance at most */
        assert_in_range(j->found[0].excess_ns, 70 * MS, 90 * MS);
        destroy(j);
    }
}

/* Every third step of the last fifth is long, 14 in all, and one near the begin: that one is a
 * tenth or less, and would make the range five times as long. */
static void test_an_outlier_far_from_the_hits(void **state)
{
    (void)state;
    struct job *j = create(200, 8, 5e6, 62);
    slow(j, 6, 10, 10, 80 * MS, 1);
    for (size_t s = 160; s < 200; s += 3)
        slow(j, 6, s, s, 80 * MS, 1);
    assert_int_equal(find(j), 1);
    assert_int_equal(j->found[0].first, 160);
    assert_int_equal(j->found[0].last, 199);
    assert_int_equal(j->found[0].hits, 14);
    destroy(j);
}

/* One or two steps that nothing else in the run is like, if they are 3 % of it. */
static void test_long_steps_once_or_twice(void **state)
{
    (void)state;
    struct job *j = create(60, 8, 1e6, 6);
    slow(j, 6, 30, 30, 5000 * MS, 1);
    assert_int_equal(find(j), 1);
    assert_int_equal(j->found[0].rank, 6);
    assert_int_equal(j->found[0].kind, PW_STRAGGLER_ONE_OFF);
    assert_int_equal(j->found[0].hits, 1);
    assert_int_equal(j->found[0].first, 30);
    assert_int_equal(j->found[0].last, 30);
    assert_in_range(j->found[0].excess_ns, 4990 * MS, 5010 * MS);
    assert_in_range(j->found[0].gain_ns, 4980 * MS, 5010 * MS);
    assert_true(j->found[0].confidence > 0.99);
    slow(j, 6, 50, 50, 3000 * MS, 1);
    slow(j, 2, 7, 7, 4000 * MS, 1); /* another rank's do not hide them */
    assert_int_equal(find(j), 2);
    assert_int_equal(j->found[0].rank, 6);
    assert_int_equal(j->found[0].hits, 2);
    assert_in_range(j->found[0].excess_ns, 3990 * MS, 4010 * MS);
    assert_int_equal(j->found[1].rank, 2);
    destroy(j);
    j = create(60, 8, 1e6, 6);
    slow(j, 6, 30, 30, 40 * MS, 1);
    assert_int_equal(find(j), 0); /* less than 1 % of the run, 14 times the others' third */
    slow(j, 6, 30, 30, 20 * MS, 1);
    assert_int_equal(find(j), 1); /* 1 %, and 20 times: 8 x 3 / 7 / 20^2 = 0.0086 */
    assert_in_range((int)(1e4 * (1 - j->found[0].confidence)), 70, 99);
    destroy(j);
}

/* Three of 200 steps, 8 times the third largest of seven others': once in 8 x (3 / 7 / 8^2)^3 / 6
 * = 4e-7 runs; so many above 3 sigma are no rarity. */
static void test_long_steps_three_times(void **state)
{
    (void)state;
    struct job *j = create(200, 8, 1e6, 6);
    for (size_t s = 20; s < 200; s += 80)
        slow(j, 6, s, s, 25 * MS, 1);
    assert_int_equal(find(j), 1);
    assert_int_equal(j->found[0].rank, 6);
    assert_int_equal(j->found[0].hits, 3);
    assert_int_equal(j->found[0].first, 20);
    assert_int_equal(j->found[0].last, 180);
    assert_in_range(j->found[0].excess_ns, 23 * MS, 27 * MS);
    assert_true(j->found[0].confidence > 0.9999);
    destroy(j);
}

/* Ranks 0 and 1 are 9 ms slower in half of the steps each, so that none of them stands out; rank 0
 * writes 3 checkpoints of 250 ms. Or it alone is slower: 20 x 9 ms are less than half of 750 ms. */
static void test_long_steps_beside_slight_ones(void **state)
{
    (void)state;
    for (int alone = 0; alone <= 1; alone++) {
        struct job *j = create(60, 4, 1e6, 6);
        slow(j, 0, 0, alone ? 19 : 29, 9 * MS, 1);
        slow(j, 1, 30, alone ? 0 : 59, 9 * MS, 1);
        for (size_t s = 28; s < 60; s += 15)
            slow(j, 0, s, s, 250 * MS, 1);
        assert_true(find(j) > 0);
        assert_int_equal(j->found[0].rank, 0);
        assert_int_equal(j->found[0].kind, PW_STRAGGLER_ONE_OFF);
        assert_int_equal(j->found[0].hits, 3);
        assert_int_equal(j->found[0].first, 28);
        assert_int_equal(j->found[0].last, 58);
        assert_in_range(j->found[0].lost_ns, 740 * MS, 765 * MS);
        destroy(j);
    }
}

static void test_two_and_three_ranks(void **state)
{
    (void)state;
    for (size_t nranks = 2; nranks <= 3; nranks++) {
        struct job *j = create(50, nranks, 1e6, 7 + nranks);
        assert_int_equal(find(j), 0);
        slow(j, 1, 0, 49, nranks == 2 ? 80 * MS : 20 * MS, 1);
        assert_int_equal(find(j), 1);
        assert_int_equal(j->found[0].rank, 1);
        assert_int_equal(j->found[0].hits, 50);
        destroy(j);
    }
}

/* Of two ranks one has 20 ms more of 160 for a time, an eighth. Its own work changes then, so it is
 * known which of them is slow, whether the program marks its steps or not. 14 ms are less than a
 * tenth. If the other has less work then, or the excess never ends, it is not known. */
static void test_one_of_two_that_changes(void **state)
{
    (void)state;
    for (int is_marked = 0; is_marked < 2; is_marked++) {
        struct job *j = create(40, 2, 1e6, 21);
        j->in.is_marked = is_marked;
        for (size_t i = 0; i < 80; i++)
            j->total[i] = 160 * MS;
        slow(j, 1, 10, 29, 14 * MS, 0);
        assert_int_equal(find(j), 0);
        slow(j, 1, 10, 29, 6 * MS, 0);
        assert_int_equal(find(j), 1);
        assert_int_equal(j->found[0].rank, 1);
        assert_int_equal(j->found[0].first, 10);
        assert_int_equal(j->found[0].last, 29);
        assert_int_equal(j->found[0].hits, 20);
        assert_true(j->found[0].has_changed);
        destroy(j);
    }
    struct job *j = create(40, 2, 1e6, 21);
    j->in.is_marked = 1;
    slow(j, 0, 10, 29, -22 * MS, 0); /* less than a fifth of 120 ms */
    assert_int_equal(find(j), 0);
    slow(j, 0, 10, 29, 22 * MS, 0);
    slow(j, 1, 0, 39, 22 * MS, 0);
    assert_int_equal(find(j), 0);
    slow(j, 1, 0, 9, -22 * MS, 0); /* it has begun */
    assert_int_equal(find(j), 1);
    assert_int_equal(j->found[0].first, 10);
    destroy(j);
}

/* Both of two ranks were slow, at different times: 40 ms in steps 5-14, and 30 ms in steps 20-29.
 * Of three, two were: 30 ms in steps 5-24 and 15-34. Where both are slow, the median of the others
 * is the mean of one that is slow and one that is not, so half of the excess is seen. */
static void test_most_of_few_ranks(void **state)
{
    (void)state;
    struct job *j = create(80, 2, 1e6, 22);
    slow(j, 0, 5, 24, 40 * MS, 1);
    slow(j, 1, 40, 59, 30 * MS, 1);
    assert_int_equal(find(j), 2);
    assert_int_equal(j->found[0].rank, 0);
    assert_int_equal(j->found[0].first, 5);
    assert_int_equal(j->found[0].last, 24);
    assert_int_equal(j->found[1].rank, 1);
    assert_int_equal(j->found[1].first, 40);
    assert_int_equal(j->found[1].last, 59);
    destroy(j);
    j = create(40, 3, 1e6, 23);
    slow(j, 0, 5, 24, 30 * MS, 1);
    slow(j, 2, 15, 34, 30 * MS, 1);
    assert_int_equal(find(j), 2);
    assert_int_equal(j->found[0].rank + j->found[1].rank, 2);
    assert_int_equal(j->found[0].hits, 20);
    assert_int_equal(j->found[1].hits, 20);
    destroy(j);
}

/* Of six ranks three are slow: one by far in all steps, which is named by itself, and two at the
 * same time. Each of these has the other one as company, and stands out beside it. */
static void test_two_beside_one_of_six(void **state)
{
    (void)state;
    static const int64_t one_host[6] = {0};
    struct job *j = create(100, 6, 1e6, 24);
    slow(j, 0, 0, 99, 200 * MS, 1);
    slow(j, 3, 40, 79, 30 * MS, 1);
    slow(j, 4, 30, 89, 25 * MS, 1);
    j->in.host_of = one_host;
    assert_int_equal(find(j), 3);
    assert_int_equal(j->found[0].rank, 0);
    assert_int_equal(j->found[1].rank + j->found[2].rank, 7);
    destroy(j);
}

static void test_missing_values(void **state)
{
    (void)state;
    struct job *j = create(50, 8, 1e6, 11);
    for (size_t s = 0; s < 50; s++) {
        j->own[s * 8 + 1] = -1; /* a rank that is not there at all */
        j->own[s * 8 + s % 8] = -1;
        j->total[s * 8 + s % 8] = -1;
        for (size_t p = 0; p < PW_PHASES; p++)
            j->phase[(s * 8 + s % 8) * PW_PHASES + p] = -1;
    }
    assert_int_equal(find(j), 0);
    for (size_t s = 0; s < 50; s++)
        if (j->own[s * 8 + 4] >= 0)
            slow(j, 4, s, s, 20 * MS, 1);
    assert_int_equal(find(j), 1);
    assert_int_equal(j->found[0].rank, 4);
    assert_int_equal(j->found[0].hits, 44); /* of 50 steps s, six have s % 8 = 4 */
    for (size_t i = 0; i < 50 * 8; i++)
        j->own[i] = -1;
    assert_int_equal(find(j), 0);
    destroy(j);
}

static void test_clocks(void **state)
{
    (void)state;
    struct job *j = create(50, 8, 1e6, 12);
    slow(j, 5, 0, 49, 20 * MS, 1);
    j->error[2] = -1; /* one clock is not aligned: nothing can be said */
    assert_int_equal(find(j), 0);
    j->error[2] = 5 * MS; /* 5 ms and 1 us: below the excess */
    assert_int_equal(find(j), 1);
    j->error[5] = 25 * MS; /* 25 + 5 ms: above it */
    assert_int_equal(find(j), 0);
    destroy(j);
}

static void test_below_one_percent(void **state)
{
    (void)state;
    struct job *j = create(50, 8, 0, 13);
    slow(j, 5, 0, 49, 1199 * 1000, 1); /* steps are 120 ms */
    assert_int_equal(find(j), 0);
    slow(j, 5, 0, 49, 2000, 1);
    assert_int_equal(find(j), 1);
    destroy(j);
}

static void test_two_stragglers_by_gain(void **state)
{
    (void)state;
    struct job *j = create(50, 8, 1e6, 14);
    slow(j, 1, 0, 9, 40 * MS, 1);
    slow(j, 6, 10, 49, 30 * MS, 2);
    assert_int_equal(find(j), 2);
    assert_int_equal(j->found[0].rank, 6); /* 40 x 30 ms before 10 x 40 ms */
    assert_int_equal(j->found[1].rank, 1);
    assert_true(j->found[0].gain_ns > j->found[1].gain_ns);
    assert_int_equal(pw_straggler_find(&j->in, j->scratch, j->found, 1), 1);
    assert_int_equal(j->found[0].rank, 6); /* with room for one it is the worst */
    assert_int_equal(pw_straggler_find(&j->in, j->scratch, j->found, 0), 0);
    destroy(j);
}

/* Two of four ranks that are slow all the time may be an uneven machine or program. Those that are
 * slow for a time are two faults, at the same time or not. */
static void test_two_of_four(void **state)
{
    (void)state;
    static const int64_t one_host[4] = {0, 0, 0, 0};
    struct job *j = create(100, 4, 1e6, 16);
    slow(j, 2, 0, 99, 30 * MS, 1);
    slow(j, 3, 0, 99, 30 * MS, 1);
    j->in.host_of = one_host;
    assert_int_equal(find(j), 0);
    destroy(j);
    for (size_t first = 10; first <= 60; first += 10) {
        j = create(100, 4, 1e6, 16);
        slow(j, 2, 10, 39, 30 * MS, 1);
        slow(j, 3, first, first + 29, 30 * MS, 1);
        j->in.host_of = one_host;
        assert_int_equal(find(j), 2);
        assert_true(j->found[0].rank + j->found[1].rank == 5);
        assert_int_equal(j->found[0].hits, 30);
        assert_int_equal(j->found[1].hits, 30);
        destroy(j);
    }
}

/* A small fault beside a larger one, which is named alone: 10 ms in steps 20-59, and 25 ms in steps
 * 50-89. Three of four are too many. */
static void test_a_small_fault_beside_a_large_one(void **state)
{
    (void)state;
    struct job *j = create(100, 4, 1e6, 19);
    slow(j, 1, 20, 59, 10 * MS, 1);
    slow(j, 3, 50, 89, 25 * MS, 1);
    assert_int_equal(find(j), 2);
    assert_int_equal(j->found[0].rank, 3);
    assert_int_equal(j->found[1].rank, 1);
    assert_int_equal(j->found[1].first, 20);
    assert_int_equal(j->found[1].last, 59);
    slow(j, 2, 0, 30, 10 * MS, 1);
    assert_true(find(j) < 3);
    destroy(j);
}

/* Ranks that stall once do not hide one that is slow in 25 steps, though each of the stalls is as
 * long as ten of these steps. */
static void test_a_stall_beside_a_window(void **state)
{
    (void)state;
    for (int in_window = 0; in_window <= 1; in_window++) {
        struct job *j = create(60, 4, 0, 18);
        slow(j, 2, 20, 44, 20 * MS, 1);
        slow(j, 1, in_window ? 30 : 50, in_window ? 30 : 50, 200 * MS, 1);
        slow(j, 3, 28, 28, 200 * MS, 1);
        assert_int_equal(find(j), 1);
        assert_int_equal(j->found[0].rank, 2);
        assert_int_equal(j->found[0].first, 20);
        assert_int_equal(j->found[0].last, 44);
        destroy(j);
    }
}

/* The same where an iteration is two steps, of 12 and 18 ms, and the delay is in the first of them:
 * the medians of the window and of the rest are of steps without it. */
static void test_one_of_two_that_changes_every_second_step(void **state)
{
    (void)state;
    struct job *j = create(160, 2, 1e5, 23);
    for (size_t s = 0; s < 160; s++)
        for (size_t r = 0; r < 2; r++) {
            const int64_t less_ns = s % 2 ? 82 * MS : 88 * MS; /* of 100 */
            slow(j, r, s, s, -less_ns, 0);
            j->total[s * 2 + r] = 100 * MS - less_ns;
        }
    for (size_t s = 32; s < 112; s += 2)
        slow(j, 1, s, s, 12 * MS, 0);
    for (size_t s = 32; s < 112; s += 2)
        j->total[s * 2] = j->total[s * 2 + 1] = 34 * MS; /* 35 % of it */
    assert_int_equal(find(j), 1);
    assert_int_equal(j->found[0].rank, 1);
    assert_int_equal(j->found[0].hits, 40);
    assert_true(j->found[0].has_changed);
    for (size_t s = 32; s < 112; s += 2)
        slow(j, 0, s, s, -12 * MS, 0); /* or the other one has less to do */
    for (size_t s = 32; s < 112; s += 2)
        slow(j, 1, s, s, -12 * MS, 0);
    assert_int_equal(find(j), 0);
    destroy(j);
}

/* Two of few ranks that stall once or twice, in different steps: all others are normal in each of
 * these steps, and so the largest stall does not hide the smaller ones. In the same step, one of
 * three ranks is left, and nobody knows whether it is normal. */
static void test_stalls_of_two_of_few(void **state)
{
    (void)state;
    for (size_t nranks = 3; nranks <= 6; nranks++) {
        struct job *j = create(100, nranks, 1e6, 23);
        slow(j, 0, 79, 79, 6000 * MS, 1);
        slow(j, 1, 20, 20, 3000 * MS, 1);
        slow(j, 1, 86, 86, 1500 * MS, 1);
        assert_int_equal(find(j), 2);
        assert_int_equal(j->found[0].rank, 0);
        assert_int_equal(j->found[0].hits, 1);
        assert_int_equal(j->found[1].rank, 1);
        assert_int_equal(j->found[1].hits, 2);
        assert_in_range(j->found[1].lost_ns, 4490 * MS, 4510 * MS);
        destroy(j);
    }
    struct job *j = create(100, 3, 1e6, 23);
    slow(j, 0, 79, 79, 6000 * MS, 1);
    slow(j, 1, 79, 79, 6000 * MS, 1);
    assert_int_equal(find(j), 0);
    destroy(j);
}

/* The allreduce phase of the last to arrive has all of the transfer: it is not the cause. */
static void test_phase_is_not_the_allreduce(void **state)
{
    (void)state;
    struct job *j = create(50, 8, 1e6, 15);
    slow(j, 5, 0, 49, 12 * MS, 3);
    slow(j, 5, 0, 49, 8 * MS, 4);
    assert_int_equal(find(j), 1);
    assert_int_equal(j->found[0].phase, PW_PHASE_OPTIMIZER); /* 8 of 20 ms: more than a quarter */
    destroy(j);
    j = create(50, 8, 1e6, 15);
    slow(j, 5, 0, 49, 20 * MS, 3);
    assert_int_equal(find(j), 1);
    assert_int_equal(j->found[0].phase, PW_PHASE_ALLREDUCE);
    destroy(j);
}

static void test_phase_unknown(void **state)
{
    (void)state;
    struct job *j = create(50, 8, 1e6, 16);
    slow(j, 5, 0, 49, 20 * MS, 1);
    for (size_t i = 0; i < 50 * 8 * PW_PHASES; i++)
        j->phase[i] = -1;
    assert_int_equal(find(j), 1);
    assert_int_equal(j->found[0].phase, PW_PHASE_NONE);
    destroy(j);
}

/*            rank 0  1   2   3    median of the others of rank 0    step falls to
 * step 0       30   10  12  14        12                            max(14, 12) = 14: gain 16
 * step 1       10   20  12  14        rank 0 is not the longest:                   gain  0
 * step 2       20   20  12  14        tied, the other one stays:                   gain  0
 * step 3       30    -  12   -        12                            12:            gain 18
 * step 4        -   10  12  14        not known:                                   gain  0 */
static void test_gain_by_hand(void **state)
{
    (void)state;
    const int64_t own[] = {30, 10, 12, 14, 10, 20, 12, 14, 20, 20,
                           12, 14, 30, -1, 12, -1, -1, 10, 12, 14};
    const struct pw_straggler_input in = {.nsteps = 5, .nranks = 4, .own_ns = own};
    assert_int_equal(pw_straggler_gain(&in, 0), 16 + 18);
    /* Rank 1: step 1 falls from 20 to 14, steps 0, 2, 3 do not, step 4 is not its own. */
    assert_int_equal(pw_straggler_gain(&in, 1), 6);
    assert_int_equal(pw_straggler_gain(&in, 2), 0);
    /* Rank 3 is the longest of step 4: falls from 14 to max(12, median(10, 12) = 11) = 12. */
    assert_int_equal(pw_straggler_gain(&in, 3), 2);
}

/* Noise with a heavy tail: log-normal, and one value in 50 three to ten times further out. */
static double heavy(uint64_t *seed)
{
    double value = exp(0.5 * unit_normal(seed)) - 1.0;
    if (unit_uniform(seed) < 0.02)
        value += 3 + 7 * unit_uniform(seed);
    return value;
}

static struct job *create_heavy(uint64_t seed)
{
    struct job *j = create(50, 8, 0, 1);
    for (size_t i = 0; i < 50 * 8; i++)
        j->own[i] += (int64_t)(1e6 * heavy(&seed));
    return j;
}

static void test_battery_without_fault(void **state)
{
    (void)state;
    int accused_heavy = 0, accused_normal = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct job *j = create_heavy(seed * 7919);
        accused_heavy += find(j) > 0;
        destroy(j);
        j = create(50, 8, 2e6, seed * 104729);
        accused_normal += find(j) > 0;
        destroy(j);
    }
    print_message("accused of 200: %d (normal), %d (heavy tails)\n", accused_normal, accused_heavy);
    assert_in_range(accused_normal, 0, 1);
    /* A judgement at 1 % on 200 jobs: two are expected, seven or more have a chance of 1 in 200. */
    assert_in_range(accused_heavy, 0, 6);
}

static void test_battery_with_fault(void **state)
{
    (void)state;
    int found = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t random = seed * 15485863;
        struct job *j = create(50, 8, 2e6, random);
        size_t rank = unit_random(&random) % 8, length = 10 + unit_random(&random) % 20;
        size_t first = unit_random(&random) % (50 - length);
        slow(j, rank, first, first + length - 1, 6 * MS, 1); /* 3 sigma */
        find(j);
        found += j->count > 0 && j->found[0].rank == rank;
        destroy(j);
    }
    print_message("found of 200: %d\n", found);
    assert_in_range(found, 194, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_straggler_in_equal_ranks),
        cmocka_unit_test(test_too_few_steps_or_ranks_have_no_straggler),
        cmocka_unit_test(test_persistent),
        cmocka_unit_test(test_without_noise),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_intermittent_straggler),
        cmocka_unit_test(test_scattered_hits_only),
        cmocka_unit_test(test_an_outlier_far_from_the_hits),
        cmocka_unit_test(test_long_steps_once_or_twice),
        cmocka_unit_test(test_long_steps_three_times),
        cmocka_unit_test(test_long_steps_beside_slight_ones),
        cmocka_unit_test(test_two_and_three_ranks),
        cmocka_unit_test(test_one_of_two_that_changes),
        cmocka_unit_test(test_one_of_two_that_changes_every_second_step),
        cmocka_unit_test(test_most_of_few_ranks),
        cmocka_unit_test(test_two_beside_one_of_six),
        cmocka_unit_test(test_missing_values),
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_below_one_percent),
        cmocka_unit_test(test_two_stragglers_by_gain),
        cmocka_unit_test(test_two_of_four),
        cmocka_unit_test(test_a_small_fault_beside_a_large_one),
        cmocka_unit_test(test_a_stall_beside_a_window),
        cmocka_unit_test(test_stalls_of_two_of_few),
        cmocka_unit_test(test_phase_is_not_the_allreduce),
        cmocka_unit_test(test_phase_unknown),
        cmocka_unit_test(test_gain_by_hand),
        cmocka_unit_test(test_battery_without_fault),
        cmocka_unit_test(test_battery_with_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
