/* Roles, unequal work and amounts of it, in figures made by hand. */
#include "unit.h"

#include <math.h>

#include "analysis/amount.h"
#include "analysis/roles.h"

enum { MOST_RANKS = 16, MOST_STEPS = 12 };

/* ---- stages ---- */

static struct pw_roles_stages stages_of(size_t nranks, const struct pw_roles_pair *joins,
                                        size_t njoins, const struct pw_roles_pair *messages,
                                        size_t nmessages, int32_t *stage_of)
{
    int32_t scratch[4 * MOST_RANKS];
    assert_true(pw_roles_scratch(nranks) <= sizeof(scratch) / sizeof(*scratch));
    const struct pw_roles_input in = {nranks, joins, njoins, messages, nmessages};
    return pw_roles_stages(&in, stage_of, scratch);
}

/* Two replicas of three stages, 0-1 | 2-3 | 4-5, joined by their gradients; the groups are named in
 * no order. */
static void test_stages_of_replicas(void **state)
{
    (void)state;
    int32_t stage[6];
    const struct pw_roles_pair joins[] = {{5, 4}, {0, 1}, {2, 3}};
    const struct pw_roles_pair messages[] = {{0, 2}, {2, 0}, {2, 4}, {4, 2},
                                             {1, 3}, {3, 1}, {3, 5}, {5, 3}};
    struct pw_roles_stages found = stages_of(6, joins, 3, messages, 8, stage);
    assert_int_equal(found.nstages, 3);
    assert_int_equal(found.is_single, 0);
    for (int r = 0; r < 6; r++)
        assert_int_equal(stage[r], r / 2);
}

/* Two chains of two, which no communicator joins: 0 -> 1 and 2 -> 3. */
static void test_chains_side_by_side(void **state)
{
    (void)state;
    int32_t stage[4];
    const struct pw_roles_pair messages[] = {{0, 1}, {2, 3}};
    struct pw_roles_stages found = stages_of(4, NULL, 0, messages, 2, stage);
    assert_int_equal(found.nstages, 2);
    assert_int_equal(found.is_single, 1);
    assert_int_equal(stage[0], 0);
    assert_int_equal(stage[1], 1);
    assert_int_equal(stage[2], 0);
    assert_int_equal(stage[3], 1);
}

/* An interleaved pipeline is a ring: the last stage sends to the first. */
static void test_interleaved_pipeline_is_a_ring(void **state)
{
    (void)state;
    int32_t stage[3];
    const struct pw_roles_pair messages[] = {{2, 0}, {0, 1}, {1, 2}};
    assert_int_equal(stages_of(3, NULL, 0, messages, 3, stage).nstages, 3);
    for (int r = 0; r < 3; r++)
        assert_int_equal(stage[r], r);
}

static void test_no_stages(void **state)
{
    (void)state;
    int32_t stage[9];
    /* A 2-D halo: the middle of three rows of three has four neighbours. */
    const struct pw_roles_pair grid[] = {{0, 1}, {1, 2}, {3, 4}, {4, 5}, {6, 7}, {7, 8},
                                         {0, 3}, {1, 4}, {2, 5}, {3, 6}, {4, 7}, {5, 8}};
    assert_int_equal(stages_of(9, NULL, 0, grid, 12, stage).nstages, 0);
    /* Messages inside a group. */
    const struct pw_roles_pair pair[] = {{0, 1}};
    const struct pw_roles_pair both[] = {{0, 1}, {1, 2}, {2, 3}};
    assert_int_equal(stages_of(4, pair, 1, both, 3, stage).nstages, 0);
    /* Chains of unequal lengths; a rank without messages; no messages at all. */
    const struct pw_roles_pair uneven[] = {{0, 1}, {2, 3}, {3, 4}};
    assert_int_equal(stages_of(5, NULL, 0, uneven, 3, stage).nstages, 0);
    assert_int_equal(stages_of(3, NULL, 0, pair, 1, stage).nstages, 0);
    assert_int_equal(stages_of(3, NULL, 0, NULL, 0, stage).nstages, 0);
}

/* Three ranks in a chain, of which the middle one alone has two neighbours. `exchange`: it sends to
 * both before it receives, as a halo exchange does; else it passes on. Each of n times. */
static int passes_on(int exchange, int n)
{
    static const int32_t stage_of[] = {0, 1, 2};
    struct pw_roles_call calls[4 * MOST_STEPS];
    int64_t scratch[6];
    size_t k = 0;
    for (int i = 0; i < n; i++) {
        if (exchange)
            calls[k++] = (struct pw_roles_call){1, 2, 0};
        calls[k++] = (struct pw_roles_call){1, 0, 1};
        if (!exchange)
            calls[k++] = (struct pw_roles_call){1, 2, 0};
        if (exchange)
            calls[k++] = (struct pw_roles_call){1, 0, 0};
        calls[k++] = (struct pw_roles_call){1, 2, 1};
        if (!exchange)
            calls[k++] = (struct pw_roles_call){1, 0, 0};
    }
    return pw_roles_are_passed_on(calls, k, stage_of, 3, scratch);
}

static void test_pipelines_pass_messages_on(void **state)
{
    (void)state;
    assert_true(passes_on(0, 6));
    assert_false(passes_on(1, 6));
    assert_false(passes_on(0, 4)); /* 8 messages: too few to say */
}

/* ---- balance ---- */

/* Six ranks of three roles on three hosts, and 12 steps of 1000 ns. */
static const int32_t role_of[] = {0, 0, 1, 1, 2, 2}, spread[] = {0, 1, 2, 0, 1, 2};
static const int32_t together[] = {0, 0, 1, 1, 2, 2};

struct world {
    int64_t own[MOST_STEPS * 6], total[MOST_STEPS * 6];
    struct pw_balance_input in;
    struct pw_balance_role roles[6];
};

static void make_world(struct world *w, const int64_t usual[6])
{
    for (int i = 0; i < MOST_STEPS * 6; i++) {
        w->own[i] = usual[i % 6];
        w->total[i] = 1000;
    }
    w->in = (struct pw_balance_input){.nsteps = MOST_STEPS,
                                      .nranks = 6,
                                      .nroles = 3,
                                      .role_of = role_of,
                                      .host_of = spread,
                                      .total_ns = w->total};
}

static void judge(struct world *w)
{
    int64_t scratch[256];
    assert_true(pw_balance_scratch(&w->in) <= sizeof(scratch) / sizeof(*scratch));
    pw_balance_judge(&w->in, w->own, 1, w->roles, scratch);
}

/* Role 1 has 140 instead of 100; its second rank is slow beside that, and keeps its own 60. */
static void test_unequal_role(void **state)
{
    (void)state;
    struct world w;
    make_world(&w, (const int64_t[]){100, 100, 140, 200, 100, 100});
    judge(&w);
    assert_int_equal(w.roles[0].state, PW_BALANCE_EVEN);
    assert_int_equal(w.roles[1].state, PW_BALANCE_UNEQUAL);
    assert_int_equal(w.roles[1].offset_ns, 40);
    assert_int_equal(w.roles[1].work_ns, 140);
    assert_int_equal(w.roles[1].others_ns, 100);
    assert_int_equal(w.roles[1].nranks, 2);
    pw_balance_take_out(&w.in, w.roles, w.own, 1);
    const int64_t left[] = {100, 100, 100, 160, 100, 100};
    for (int r = 0; r < 6; r++)
        assert_int_equal(w.own[5 * 6 + r], left[r]);
}

/* Two roles of three ranks: the median of all lies between them, and so do both when it is out. */
static void test_two_roles(void **state)
{
    (void)state;
    static const int32_t halves[] = {0, 0, 0, 1, 1, 1};
    struct world w;
    make_world(&w, (const int64_t[]){100, 100, 100, 180, 180, 180});
    w.in.role_of = halves;
    w.in.nroles = 2;
    judge(&w);
    assert_int_equal(w.roles[0].offset_ns, -40);
    assert_int_equal(w.roles[1].offset_ns, 40);
    pw_balance_take_out(&w.in, w.roles, w.own, 1);
    for (int i = 0; i < MOST_STEPS * 6; i++)
        assert_int_equal(w.own[i], 140);
}

static void test_a_slow_rank_is_no_role(void **state)
{
    (void)state;
    struct world w;
    make_world(&w, (const int64_t[]){100, 100, 100, 200, 100, 100});
    judge(&w);
    for (int k = 0; k < 3; k++)
        assert_int_equal(w.roles[k].state, PW_BALANCE_EVEN);
}

/* Both ranks of a role are slow, but only in the first half of the run. */
static void test_excess_in_half_of_the_run_is_no_role(void **state)
{
    (void)state;
    struct world w;
    make_world(&w, (const int64_t[]){100, 100, 140, 140, 100, 100});
    for (int i = MOST_STEPS / 2 * 6; i < MOST_STEPS * 6; i++)
        w.own[i] = 100;
    judge(&w);
    assert_int_equal(w.roles[1].state, PW_BALANCE_EVEN);
}

/* Two of four ranks are slow in the last quarter: then the median of all is 170, and role 1 is
 * below it, but as far above the 100 of the whole run as before. */
static void test_slow_ranks_do_not_hide_a_role(void **state)
{
    (void)state;
    static const int32_t alone[] = {0, 1, 2, 2, 2, 2};
    struct world w;
    make_world(&w, (const int64_t[]){100, 140, 100, 100, -1, -1});
    for (int s = MOST_STEPS * 3 / 4; s < MOST_STEPS; s++)
        w.own[s * 6] = w.own[s * 6 + 2] = 200;
    w.in.role_of = alone;
    judge(&w);
    assert_int_equal(w.roles[1].state, PW_BALANCE_ALONE);
}

/* 1 % of the step is 10 ns; so much is no imbalance, and no more than the clocks may make either.
 */
static void test_small_differences(void **state)
{
    (void)state;
    struct world w;
    make_world(&w, (const int64_t[]){100, 100, 110, 110, 100, 100});
    judge(&w);
    assert_int_equal(w.roles[1].state, PW_BALANCE_EVEN);
    make_world(&w, (const int64_t[]){100, 100, 111, 111, 100, 100});
    judge(&w);
    assert_int_equal(w.roles[1].state, PW_BALANCE_UNEQUAL);
    w.in.clock_ns = 11;
    judge(&w);
    assert_int_equal(w.roles[1].state, PW_BALANCE_EVEN);
}

static void test_roles_of_one_rank_cannot_be_judged(void **state)
{
    (void)state;
    static const int32_t alone[] = {0, 0, 1, 2, 2, 2};
    struct world w;
    make_world(&w, (const int64_t[]){100, 100, 140, 100, 100, 100});
    w.in.role_of = alone;
    judge(&w);
    assert_int_equal(w.roles[1].state, PW_BALANCE_ALONE);
    assert_int_equal(w.roles[1].offset_ns, 40);
    make_world(&w, (const int64_t[]){100, 100, 140, 140, 100, 100});
    w.in.host_of = together;
    judge(&w);
    assert_int_equal(w.roles[1].state, PW_BALANCE_ONE_HOST);
    pw_balance_take_out(&w.in, w.roles, w.own, 1); /* the host's ranks are to be found */
    assert_int_equal(w.own[2], 140);
    w.in.is_given = 1;
    judge(&w);
    assert_int_equal(w.roles[1].state, PW_BALANCE_UNEQUAL);
}

/* ---- amounts ---- */

enum { RANKS = 4, STEPS = 12 };

struct amounts {
    int64_t own[STEPS * RANKS], amount[STEPS * RANKS];
    struct pw_amount_input in;
};

/* Work of 100 + 3 x amount ns. */
static void make_amounts(struct amounts *a, const int64_t usual[RANKS], int varies)
{
    for (int i = 0; i < STEPS * RANKS; i++) {
        a->amount[i] = usual[i % RANKS] * (varies && (i / RANKS + i) % 2 ? 2 : 1);
        a->own[i] = 100 + 3 * a->amount[i];
    }
    a->in = (struct pw_amount_input){STEPS, RANKS, a->own, a->amount, 0};
}

static double cost_of(const struct amounts *a)
{
    static int64_t scratch[16384];
    assert_true(pw_amount_scratch(STEPS, RANKS) <= sizeof(scratch) / sizeof(*scratch));
    return pw_amount_cost(&a->in, scratch);
}

/* Amounts differ from step to step: a rank that is always 500 ns slower does not change the cost,
 * and keeps its 500. */
static void test_cost_in_time(void **state)
{
    (void)state;
    struct amounts a;
    int64_t scratch[RANKS];
    make_amounts(&a, (const int64_t[]){100, 100, 100, 100}, 1);
    for (int s = 0; s < STEPS; s++)
        a.own[s * RANKS + 2] += 500;
    assert_true(fabs(cost_of(&a) - 3) < 1e-9);
    pw_amount_take_out(&a.in, 3, a.own, scratch);
    for (int s = 0; s < STEPS; s++)
        assert_int_equal(a.own[s * RANKS + 2] - a.own[s * RANKS], 500);
}

/* Each of the four ranks has twice the amount for 6 of 24 steps: 6 pairs of neighbouring steps
 * differ, 12 that are 2 apart, 24 that are 4 apart, and of those 8 apart 6 + 10 + 10 + 6 = 32. Rank
 * 1 is always slow. */
static void test_cost_of_amounts_that_move_between_ranks(void **state)
{
    (void)state;
    enum { TWICE = 2 * STEPS };
    int64_t own[TWICE * RANKS], amount[TWICE * RANKS];
    static int64_t scratch[16384];
    for (int s = 0; s < TWICE; s++)
        for (int r = 0; r < RANKS; r++) {
            amount[s * RANKS + r] = s / 6 == r ? 200 : 100;
            own[s * RANKS + r] = 100 + 3 * amount[s * RANKS + r] + (r == 1 ? 500 : 0);
        }
    const struct pw_amount_input in = {TWICE, RANKS, own, amount, 0};
    assert_true(pw_amount_scratch(TWICE, RANKS) <= sizeof(scratch) / sizeof(*scratch));
    assert_true(fabs(pw_amount_cost(&in, scratch) - 3) < 1e-9);
}

/* One rank always has twice the amount. Others have 100 + 3 x 200 = 700 ns, so that at most 700 of
 * its excess are the amount's, however slow it is. */
static void test_cost_of_one_rank(void **state)
{
    (void)state;
    struct amounts a;
    int64_t scratch[RANKS];
    make_amounts(&a, (const int64_t[]){200, 200, 200, 400}, 0);
    assert_true(fabs(cost_of(&a) - 3) < 1e-9);
    for (int s = 0; s < STEPS; s++)
        a.own[s * RANKS + 3] += 1000;
    double cost = cost_of(&a);
    assert_true(fabs(cost - 3.5) < 1e-9); /* 700 / 200 */
    pw_amount_take_out(&a.in, cost, a.own, scratch);
    assert_int_equal(a.own[0], 700);
    assert_int_equal(a.own[3], 100 + 3 * 400 + 1000 - 700);
}

/* One rank has 400 and 440 in turn, the others 200, and noise of 40, -10 and -30 in turn: the 59
 * slopes in time have the median 3.5 and a MAD of 1, an error of 0.34. The ranks' have 3.02: works
 * of 700, and of 1365 of 420. With a rank that is slow by 500 they have 5.3, which the steps do not
 * bear out. */
static void test_cost_of_one_rank_that_varies(void **state)
{
    (void)state;
    enum { MANY = 60 };
    int64_t own[MANY * RANKS], amount[MANY * RANKS];
    static int64_t scratch[16384];
    for (int slow = 0; slow <= 500; slow += 500) {
        for (int i = 0; i < MANY * RANKS; i++) {
            static const int64_t noise[] = {40, -10, -30};
            const int s = i / RANKS, is_one = i % RANKS == 3;
            amount[i] = is_one ? 400 + s % 2 * 40 : 200;
            own[i] = 100 + 3 * amount[i] + (is_one ? noise[s % 3] + slow : 0);
        }
        const struct pw_amount_input in = {MANY, RANKS, own, amount, 0};
        assert_true(pw_amount_scratch(MANY, RANKS) <= sizeof(scratch) / sizeof(*scratch));
        const double cost = pw_amount_cost(&in, scratch);
        assert_true(fabs(cost - (slow ? 3.5 : 3.02)) < 0.01);
    }
}

static void test_amounts_without_effect_have_no_cost(void **state)
{
    (void)state;
    struct amounts a;
    make_amounts(&a, (const int64_t[]){200, 200, 200, 200}, 0);
    for (int s = 0; s < STEPS; s++)
        a.own[s * RANKS + 3] += 1000;
    assert_true(cost_of(&a) <= 0); /* amounts are equal: it is slow */
    make_amounts(&a, (const int64_t[]){200, 200, 200, 400}, 0);
    for (int i = 0; i < STEPS * RANKS; i++)
        a.own[i] = 700;
    assert_true(cost_of(&a) <= 0); /* work does not rise with them */
}

/* Messages of edges and middles, and a slow rank in the middle: of the four pairs whose sizes
 * differ two have equal work, so that sizes are no amounts. Where the program says they are, it is
 * believed. */
static void test_estimated_amounts(void **state)
{
    (void)state;
    struct amounts a;
    make_amounts(&a, (const int64_t[]){100, 200, 200, 100}, 0);
    for (int i = 0; i < STEPS * RANKS; i++)
        a.own[i] = i % RANKS == 1 ? 1400 : 700;
    a.in.is_guessed = 1;
    assert_true(cost_of(&a) <= 0);
    a.in.is_guessed = 0;
    assert_true(cost_of(&a) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stages_of_replicas),
        cmocka_unit_test(test_chains_side_by_side),
        cmocka_unit_test(test_interleaved_pipeline_is_a_ring),
        cmocka_unit_test(test_no_stages),
        cmocka_unit_test(test_pipelines_pass_messages_on),
        cmocka_unit_test(test_unequal_role),
        cmocka_unit_test(test_two_roles),
        cmocka_unit_test(test_a_slow_rank_is_no_role),
        cmocka_unit_test(test_excess_in_half_of_the_run_is_no_role),
        cmocka_unit_test(test_slow_ranks_do_not_hide_a_role),
        cmocka_unit_test(test_small_differences),
        cmocka_unit_test(test_roles_of_one_rank_cannot_be_judged),
        cmocka_unit_test(test_cost_in_time),
        cmocka_unit_test(test_cost_of_amounts_that_move_between_ranks),
        cmocka_unit_test(test_cost_of_one_rank),
        cmocka_unit_test(test_cost_of_one_rank_that_varies),
        cmocka_unit_test(test_amounts_without_effect_have_no_cost),
        cmocka_unit_test(test_estimated_amounts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
