/* Advice about links, and about chains of senders. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "report/report.h"

#include "test_advice_world.h"

static const struct pw_advice *collect_late(struct world *w, const int64_t *gains, size_t n,
                                            struct pw_advice advice[PW_ADVICE_MAX])
{
    /* 5 % of 7.5 s are 375 ms a rank, 1.5 s in all. */
    w->c->p2p = calloc(2, sizeof(*w->c->p2p));
    w->c->np2p = 2;
    w->c->p2p[0] = (struct pw_row_c_p2p){.src = 0, .dst = 1, .late_sender_ns = 500 * MS};
    w->c->p2p[1] = (struct pw_row_c_p2p){.src = 2, .dst = 1, .late_sender_ns = 1001 * MS};
    w->c->whatif = calloc(n + 1, sizeof(*w->c->whatif));
    w->c->nwhatif = n + 1;
    for (size_t i = 0; i < n; i++) {
        strcpy(w->c->whatif[i].scope, "rank");
        w->c->whatif[i].rank = (int32_t)i;
        w->c->whatif[i].gain_ns = gains[i];
    }
    strcpy(w->c->whatif[n].scope, "job");
    w->c->whatif[n].gain_ns = 100 * MS;
    return world_find(advice, world_collect(w, advice), "late_senders");
}

/* Rank 2 is waited for most, but as it waits for rank 0 itself, only rank 0's work counts: 200 ms.
 * Each rank waits 375 ms in the mean. Where no rank gains 1 % of 7.5 s, or half of these waits,
 * balanced work gains 100 ms. */
static void test_late_senders_begin_with_a_rank(void **state)
{
    (void)state;
    const int64_t gains[] = {200 * MS, 0, 20 * MS}, little[] = {74 * MS, 0, 20 * MS};
    const int64_t half[] = {187 * MS, 0, 20 * MS};
    struct pw_advice advice[PW_ADVICE_MAX];
    struct world w;
    world_make(&w);
    const struct pw_advice *found = collect_late(&w, gains, 3, advice);
    assert_non_null(found);
    assert_int_equal(found->saves_ns, 200 * MS);
    assert_int_equal(found->nranks, 1);
    assert_int_equal(found->ranks[0], 0);
    assert_non_null(strstr(found->evidence, "most of it begins at rank 0"));
    assert_non_null(strstr(found->text, "(MPI_Isend as soon as"));
    pw_cluster_destroy(w.c);

    world_make(&w);
    strcpy(w.c->command, "torchrun train.py");
    found = collect_late(&w, gains, 3, advice);
    assert_non_null(found);
    assert_non_null(strstr(found->text, "post the sends earlier (isend as soon as"));
    pw_cluster_destroy(w.c);

    for (int i = 0; i < 2; i++) {
        world_make(&w);
        found = collect_late(&w, i ? half : little, 3, advice);
        assert_non_null(found);
        assert_int_equal(found->saves_ns, 100 * MS);
        assert_int_equal(found->nranks, 0);
        assert_non_null(strstr(found->evidence, "no single rank's work explains it"));
        pw_cluster_destroy(w.c);
    }
}

/* A rank that waits for several messages at once waits once: at most 4 % of its steps here, which
 * is too little for an advice, though the waits for the messages are 5 % in sum. */
static void test_late_senders_are_at_most_the_waits(void **state)
{
    (void)state;
    const int64_t gains[] = {200 * MS, 0, 20 * MS};
    struct pw_advice advice[PW_ADVICE_MAX];
    for (int percent = 4; percent <= 6; percent += 2) {
        struct world w;
        world_make(&w);
        w.mean.wait_ns = w.mean.total_ns * percent / 100;
        assert_true((collect_late(&w, gains, 3, advice) != NULL) == (percent == 6));
        pw_cluster_destroy(w.c);
    }
}

/* 100 messages, each of which took 3 ms instead of 1. */
static void add_slow_link(struct pw_cluster *c, int32_t src, int32_t dst)
{
    c->links_slow = calloc(1, sizeof(*c->links_slow));
    c->nlinks_slow = 1;
    c->links_slow[0] = (struct pw_row_c_link){
        .src = src, .dst = dst, .messages = 100, .transfer_ns = 3 * MS, .others_ns = MS};
}

/* The second time both ranks are on one host, where there is no cable. */
static void test_cables_are_between_hosts(void **state)
{
    (void)state;
    for (int is_inside = 0; is_inside < 2; is_inside++) {
        struct pw_advice advice[PW_ADVICE_MAX];
        struct world w;
        world_make(&w);
        add_slow_link(w.c, 1, 2);
        strcpy(w.c->ranks[1].hostname, "node-a");
        strcpy(w.c->ranks[2].hostname, is_inside ? "node-a" : "node-b");
        const struct pw_advice *found = world_find(advice, world_collect(&w, advice), "slow_link");
        assert_non_null(found);
        assert_non_null(strstr(found->text, "Messages from rank 1 to rank 2 take longer"));
        assert_int_equal(strstr(found->text, "cable") != NULL, !is_inside);
        assert_int_equal(strstr(found->text, "NUMA") != NULL, is_inside);
        pw_cluster_destroy(w.c);
    }
}

/* A link that was slow in steps 10-29, at 2 % of 7.5 s. */
static void add_network(struct pw_cluster *c)
{
    c->network = calloc(1, sizeof(*c->network));
    c->nnetwork = 1;
    c->network[0] = (struct pw_row_c_network){.scope = "link",
                                              .src = 1,
                                              .dst = 2,
                                              .hostname = "node-a",
                                              .peer_hostname = "node-b",
                                              .first_step = 10,
                                              .last_step = 29,
                                              .steps = 20,
                                              .transfers = 80,
                                              .mean_ns = 3 * MS,
                                              .usual_ns = MS,
                                              .gain_ns = 150 * MS,
                                              .share = 0.02,
                                              .confidence = 0.999};
}

static void assert_headline(const struct pw_cluster *c, const char *begins)
{
    char line[1024];
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    if (strncmp(line, begins, strlen(begins)) != 0)
        fail_msg("'%s' does not begin with '%s'", line, begins);
}

/* A straggler that costs more leads, and the network is a highlight; a rank that is ready without a
 * CPU for 6 % more of its time than another may be what made the messages long. */
static void test_network_leads(void **state)
{
    (void)state;
    static const char link[] =
        "The link between ranks 1 and 2 (node-a, node-b) was slow in steps 10-29: 80 transfers "
        "took 3.0 ms on average instead of 1.0 ms, which cost the job 150 ms (2.0 %)";
    struct pw_advice advice[PW_ADVICE_MAX];
    struct world w;
    world_make(&w);
    add_network(w.c);
    assert_headline(w.c, link);
    const struct pw_advice *found = world_find(advice, world_collect(&w, advice), "slow_network");
    assert_non_null(found);
    assert_int_equal(found->saves_ns, 150 * MS);
    assert_non_null(strstr(found->text, "cable"));

    w.c->utilisation = calloc(2, sizeof(*w.c->utilisation));
    w.c->nutilisation = 2;
    w.c->utilisation[1].runq_share = 0.04;
    assert_headline(w.c, link);
    w.c->utilisation[1].runq_share = 0.06;
    assert_headline(w.c, "No rank alone held the job back");
    w.c->nutilisation = 0;

    world_add_straggler(&w, PW_CAUSE_BLOCKED_OFF_CPU, PW_PHASE_FORWARD); /* 731 ms */
    assert_headline(w.c, "Rank 3");
    w.c->stragglers[0].gain_ns = 149 * MS;
    assert_headline(w.c, link);
    pw_cluster_destroy(w.c);
}

/* The slow link of the same ranks is not told twice, and none saves more than all transfers. */
static void test_links_agree_with_the_replay(void **state)
{
    (void)state;
    struct pw_advice advice[PW_ADVICE_MAX];
    struct world w;
    world_make(&w);
    add_slow_link(w.c, 2, 1);
    w.c->whatif = calloc(1, sizeof(*w.c->whatif));
    w.c->nwhatif = 1;
    strcpy(w.c->whatif[0].scope, "network");
    w.c->whatif[0].gain_ns = 90 * MS;
    const struct pw_advice *found = world_find(advice, world_collect(&w, advice), "slow_link");
    assert_non_null(found);
    assert_int_equal(found->saves_ns, 90 * MS); /* not 100 x 2 ms */
    add_network(w.c);
    assert_null(world_find(advice, world_collect(&w, advice), "slow_link"));
    pw_cluster_destroy(w.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_senders_begin_with_a_rank),
        cmocka_unit_test(test_late_senders_are_at_most_the_waits),
        cmocka_unit_test(test_cables_are_between_hosts),
        cmocka_unit_test(test_network_leads),
        cmocka_unit_test(test_links_agree_with_the_replay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
