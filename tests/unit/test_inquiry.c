/* Requests and answers through files: who may ask, and what is accepted as an answer. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/ops.h"
#include "rank/live/inquiry.h"

static struct pw_live_thread threads[] = {
    {.tid = 71,
     .op = PW_OP_Wait,
     .awaited = PW_OP_Irecv,
     .since_ns = 5,
     .comm_uid = 0xfeedfacecafebeef,
     .comm_row = -1,
     .seq = -1,
     .peer = 3,
     .tag = -2,
     .signature = UINT32_MAX,
     .polls = 1,
     .unlisted = 2},
    {.tid = 72,
     .thread = 1,
     .queue = PW_LIVE_QUEUE,
     .since_ns = -1,
     .comm_row = -1,
     .seq = 9,
     .peer = -1},
};
static struct pw_live_queued queued[] = {{0xfeedfacecafebeef, 9, 5000, PW_OP_Allreduce, -1}};
static struct pw_live_comm comms[] = {{.uid = 0xfeedfacecafebeef,
                                       .name = "MPI_COMM_WORLD",
                                       .source = PW_SOURCE_GLOO,
                                       .size = 4,
                                       .reached = 9,
                                       .order_state = PW_CALLORDER_PERSISTENT,
                                       .norder = 2,
                                       .order = {{8, 0xfedcba9876543210}, {9, 1}}}};
static struct pw_live_request requests[] = {{.thread = 1,
                                             .op = PW_OP_Isend,
                                             .peer = 2,
                                             .tag = 6,
                                             .count = 3,
                                             .comm_uid = 0xfeedfacecafebeef,
                                             .seq = -1}};
static struct pw_live_pair pairs[] = {{0xfeedfacecafebeef, 2, 11, 3, 10}};
static const struct pw_request plain,
    with_stacks = {.wants_stacks = 1, .wants_steps = 1, .steps_after = 41};
static struct pw_live_stack stacks[] = {{.tid = 71,
                                         .text = "main (a.c:1);MPI_Wait+0x3",
                                         .place = "train.py:88 (step)",
                                         .has_gil = 1,
                                         .collects = 1}};

static struct pw_live_step steps[] = {{7, 80000000, 1000000, {0, 3, 4, 0, 0}}, {9, 81, 81, {0}}};

static struct pw_live make(int rank)
{
    return (struct pw_live){
        .rank = rank,
        .world_size = 4,
        .hostname = "node",
        .pid = 70,
        .state = 'S',
        .step = -1,
        .events = 12,
        .dropped = 1,
        .threads = threads,
        .nthreads = 2,
        .comms = comms,
        .ncomms = 1,
        .requests = requests,
        .nrequests = 1,
        .pairs = pairs,
        .npairs = 1,
        .pairs_known = 1,
        .queued = queued,
        .nqueued = 1,
        .nccl_inits = 2,
        .messages_known = 1,
        .last_steps = steps,
        .nlast_steps = 2,
        .usage = {3, 40, 50, 6, -1, 8, 1 << 30},
        .stacks = stacks,
        .nstacks = 1,
        .stack_problem = "none",
        .python_problem = "no pystack",
        .stopped_ns = 77,
        .recording = 1,
        .steps_per_1000s = 123456,
        .change = PW_CHANGE_LATE,
        .steps = 5,
        .steps_ns = 50,
        .mpi_ns = 20,
        .step_last_ns = 11,
        .step_mean_ns = 10,
        .step_mpi_ns = -1,
    };
}

static void test_json_both_ways(void **state)
{
    struct pw_live live = make(2), back;
    (void)state;
    json_t *object = pw_live_to_json(&live, "abc");
    assert_non_null(object);
    assert_int_equal(pw_live_from_json(object, "abd", &back), -ESTALE);
    assert_int_equal(pw_live_from_json(object, "abc", &back), 0);
    assert_int_equal(back.rank, 2);
    assert_int_equal(back.step, -1);
    assert_int_equal(back.state, 'S');
    assert_string_equal(back.hostname, "node");
    assert_string_equal(back.stack_problem, "none");
    assert_int_equal(back.nthreads, 2);
    assert_memory_equal(&back.threads[0], &threads[0], sizeof(threads[0]));
    assert_memory_equal(&back.threads[1], &threads[1], sizeof(threads[1]));
    assert_int_equal(back.nrequests, 1);
    assert_memory_equal(&back.requests[0], &requests[0], sizeof(requests[0]));
    assert_int_equal(back.npairs, 1);
    assert_memory_equal(&back.pairs[0], &pairs[0], sizeof(pairs[0]));
    assert_int_equal(back.pairs_known, 1);
    assert_int_equal(back.nqueued, 1);
    assert_memory_equal(&back.queued[0], &queued[0], sizeof(queued[0]));
    assert_int_equal(back.nccl_inits, 2);
    assert_int_equal(back.messages_known, 1);
    assert_int_equal(back.nlast_steps, 2);
    assert_memory_equal(back.last_steps, steps, sizeof(steps));
    assert_memory_equal(&back.usage, &live.usage, sizeof(live.usage));
    assert_int_equal(back.ncomms, 1);
    assert_memory_equal(&back.comms[0], &comms[0], sizeof(comms[0]));
    assert_string_equal(back.stacks[0].text, stacks[0].text);
    assert_string_equal(back.stacks[0].place, "train.py:88 (step)");
    assert_int_equal(back.stacks[0].has_gil + back.stacks[0].collects, 2);
    assert_string_equal(back.python_problem, "no pystack");
    assert_int_equal(back.stopped_ns, 77);
    assert_int_equal(back.recording, 1);
    assert_int_equal(back.steps_per_1000s, 123456);
    assert_int_equal(back.change, PW_CHANGE_LATE);
    assert_int_equal(back.steps, 5);
    assert_int_equal(back.steps_ns, 50);
    assert_int_equal(back.mpi_ns, 20);
    assert_int_equal(back.step_last_ns, 11);
    assert_int_equal(back.step_mean_ns, 10);
    assert_int_equal(back.step_mpi_ns, -1);
    pw_live_fini(&back);
    json_decref(object);
}

/* Every value of every type in every place: read or refused, never more. */
static void test_hostile_json(void **state)
{
    enum { OF_THIS_VERSION = 2 }; /* the last ones, which older answers do not have */
    static const char *const places[] = {
        "rank",      "world_size",      "hostname",       "pid",         "state",
        "step",      "events",          "dropped_events", "threads",     "comms",
        "stacks",    "stack_problem",   "python_problem", "stopped_ns",  "nonce",
        "recording", "steps_per_1000s", "order",          "steps",       "steps_ns",
        "mpi_ns",    "step_last_ns",    "step_mean_ns",   "step_mpi_ns", "queued",
        "nccl_inits"};
    struct pw_live live = make(2), back;
    (void)state;
    for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++) {
        json_t *values[] = {json_null(),
                            json_integer(-2),
                            json_integer(INT64_MAX),
                            json_real(1e300),
                            json_string("\x01é"),
                            json_array(),
                            json_pack("[n, i, s, {}, [[]]]", 1, "x"),
                            json_object(),
                            json_true()};
        for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
            json_t *object = pw_live_to_json(&live, "abc");
            json_object_set_new(object, places[p], values[v]);
            if (pw_live_from_json(object, "abc", &back) == 0)
                pw_live_fini(&back);
            json_decref(object);
        }
        json_t *object = pw_live_to_json(&live, "abc");
        json_object_del(object, places[p]);
        if (p < sizeof(places) / sizeof(places[0]) - OF_THIS_VERSION)
            assert_int_not_equal(pw_live_from_json(object, "abc", &back), 0);
        json_decref(object);
    }
    json_t *object = pw_live_to_json(&live, "abc"), *list = json_object_get(object, "threads");
    for (int i = 0; i < PW_LIVE_THREADS; i++)
        json_array_append(list, json_array_get(list, 0));
    assert_int_equal(pw_live_from_json(object, "abc", &back), -EINVAL); /* more than there can be */
    json_decref(object);
}

/* An answer of a version that did not look at requests and messages: they are not known. */
static void test_answer_of_an_older_version(void **state)
{
    struct pw_live live = make(2), back;
    (void)state;
    json_t *object = pw_live_to_json(&live, "abc");
    json_object_del(object, "pairs");
    json_object_del(object, "pairs_known");
    json_object_del(object, "queued");
    json_object_del(object, "nccl_inits");
    for (size_t i = 0; i < live.nthreads; i++) {
        json_t *thread = json_array_get(json_object_get(object, "threads"), i);
        json_object_del(thread, "requests");
        json_object_del(thread, "unlisted_requests");
        json_object_del(thread, "polls");
    }
    assert_int_equal(pw_live_from_json(object, "abc", &back), 0);
    assert_int_equal(back.nthreads, live.nthreads);
    assert_int_equal(back.nrequests + back.npairs, 0);
    assert_int_equal(back.pairs_known, 0);
    assert_int_equal(back.threads[0].unlisted, 0);
    pw_live_fini(&back);
    json_decref(object);
}

/* Steps that cannot be: negative times, more in MPI than the step took, numbers that fall, too many
 * numbers. */
static void test_wrong_steps(void **state)
{
    static const char *const wrong[] = {"[[1, -5, 0]]",
                                        "[[1, 5, 6]]",
                                        "[[2, 5, 0], [1, 5, 0]]",
                                        "[[1, 5]]",
                                        "[[1, 9, 1, 1, 1, 1, 1, 1, 1]]",
                                        "[[-1, 5, 0]]",
                                        "[[1, 5, 0, \"x\"]]",
                                        "{}",
                                        "[1]"};
    struct pw_live live = make(2), back;
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        json_t *object = pw_live_to_json(&live, "abc");
        json_object_set_new(object, "last_steps", json_loads(wrong[i], 0, NULL));
        assert_int_equal(pw_live_from_json(object, "abc", &back), -EINVAL);
        json_decref(object);
    }
    static const char *const usages[] = {"[1, 2]", "[1, 2, 3, 4, 5, 6, -2]",
                                         "[1, 2, 3, 4, 5, 6, \"x\"]", "{}"};
    for (size_t i = 0; i < sizeof(usages) / sizeof(usages[0]); i++) {
        json_t *object = pw_live_to_json(&live, "abc");
        json_object_set_new(object, "usage", json_loads(usages[i], 0, NULL));
        assert_int_equal(pw_live_from_json(object, "abc", &back), -EINVAL);
        json_decref(object);
    }
    live.last_steps = NULL;
    live.nlast_steps = 0;
    json_t *object = pw_live_to_json(&live, "abc");
    assert_null(json_object_get(object, "last_steps"));
    assert_int_equal(pw_live_from_json(object, "abc", &back), 0);
    assert_int_equal(back.nlast_steps, 0);
    assert_int_equal(back.usage.samples, -1);
    pw_live_fini(&back);
    json_decref(object);
}

/* Numbers out of their ranges, of the rank and of a thread. */
static void test_numbers_out_of_range(void **state)
{
    static const struct {
        const char *name;
        json_int_t value;
        int of_thread;
    } wrong[] = {
        {"rank", -1, 0},      {"rank", 1 << 30, 0},  {"world_size", 0, 0},
        {"events", -1, 0},    {"stopped_ns", -1, 0}, {"step", -2, 0},
        {"thread", 65536, 1}, {"peer", -2, 1},       {"peer", INT32_MAX, 1},
        {"tid", -1, 1},       {"since_ns", -2, 1},   {"tag", (json_int_t)1 << 40, 1},
    };
    struct pw_live live = make(2), back;
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        json_t *object = pw_live_to_json(&live, "abc");
        json_t *thread = json_array_get(json_object_get(object, "threads"), 0);
        json_object_set_new(wrong[i].of_thread ? thread : object, wrong[i].name,
                            json_integer(wrong[i].value));
        assert_int_equal(pw_live_from_json(object, "abc", &back), -EINVAL);
        json_decref(object);
    }
}

static void make_running(void **state, int rank)
{
    char path[UNIT_PATH], name[32];
    snprintf(name, sizeof(name), "rank-%05d.h5.part", rank);
    unit_write(unit_path(path, state, name), "", 0, 0600);
}

static int count_files(void **state, const char *name)
{
    char path[UNIT_PATH];
    return access(unit_path(path, state, name), F_OK) == 0;
}

static void test_ask_and_answer(void **state)
{
    struct pw_inquiry inquiry;
    struct pw_request request;
    const char *dir = *state;
    make_running(state, 0);
    make_running(state, 3);
    assert_int_equal(pw_inquiry_find(dir, &request), 0);
    pw_inquiry_init(&inquiry, dir);
    assert_int_equal(pw_inquiry_begin(&inquiry, &with_stacks), 0);
    assert_int_equal(pw_inquiry_poll(&inquiry), 2);
    assert_int_equal(pw_inquiry_find(dir, &request), 1);
    assert_int_equal(request.wants_stacks, 1);
    assert_int_equal(request.is_hang, 0);
    assert_int_equal(request.wants_steps, 1);
    assert_int_equal(request.steps_after, 41);

    struct pw_live three = make(3), zero = make(0), stale = make(0);
    struct pw_request old = {.nonce = "0123456789abcdef0123456789abcdef"};
    assert_int_equal(pw_inquiry_answer(dir, &old, &stale), 0);
    assert_int_equal(pw_inquiry_answer(dir, &request, &three), 0);
    assert_int_equal(pw_inquiry_poll(&inquiry), 1); /* an answer to another request is none */
    assert_int_equal(pw_inquiry_answer(dir, &request, &zero), 0);
    assert_int_equal(pw_inquiry_poll(&inquiry), 0);
    pw_inquiry_end(&inquiry);
    assert_int_equal(inquiry.n, 2);
    assert_int_equal(inquiry.lives[0].rank, 0);
    assert_int_equal(inquiry.lives[1].rank, 3);
    pw_inquiry_fini(&inquiry);
    assert_false(count_files(state, ".ctl-request"));
    assert_false(count_files(state, ".status-00000"));
    assert_false(count_files(state, ".status-00003"));
}

/* Only one of two may ask; the other can when that one has ended. */
static void test_one_inquiry_at_a_time(void **state)
{
    struct pw_inquiry first, second;
    pw_inquiry_init(&first, *state);
    pw_inquiry_init(&second, *state);
    assert_int_equal(pw_inquiry_begin(&first, &plain), 0);
    assert_int_equal(pw_inquiry_begin(&second, &plain), -EBUSY);
    pw_inquiry_end(&second); /* does not take away what is not its own */
    assert_true(count_files(state, ".ctl-request"));
    assert_int_equal(pw_inquiry_begin(&second, &plain), -EBUSY);
    second.other_since_ns -= 11 * (int64_t)1000000000; /* as if it had stood for so long */
    assert_int_equal(pw_inquiry_begin(&second, &plain), -EBUSY);
    assert_int_equal(pw_inquiry_begin(&second, &plain), 0);
    pw_inquiry_end(&second);
    assert_false(count_files(state, ".ctl-request"));
}

/* Neither links nor pipes, texts of another form, nor other users' files are requests or answers.
 */
static void test_files_of_others_are_no_requests(void **state)
{
    static const char valid[] = "profwrap-request 0123456789abcdef0123456789abcdef 0 0 0 0 0 0 0\n";
    char path[UNIT_PATH], target[UNIT_PATH];
    struct pw_inquiry inquiry;
    struct pw_request request;
    unit_path(path, state, ".ctl-request");
    unit_write(unit_path(target, state, "target"), valid, sizeof(valid) - 1, 0600);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(pw_inquiry_find(*state, &request), 0);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(pw_inquiry_find(*state, &request), 0);
    unlink(path);
    unit_write(path, "profwrap-request xyz\n", 21, 0600);
    assert_int_equal(pw_inquiry_find(*state, &request), 0);
    unlink(path);
    unit_write(path, valid, sizeof(valid) - 1, 0600);
    assert_int_equal(pw_inquiry_find(*state, &request), 1);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 65534, 65534), 0);
        assert_int_equal(pw_inquiry_find(*state, &request), 0);
    }
    unlink(path);
    /* What is in the way and is no user's request is removed. */
    assert_int_equal(symlink(target, path), 0);
    pw_inquiry_init(&inquiry, *state);
    assert_int_equal(pw_inquiry_begin(&inquiry, &plain), -EBUSY);
    assert_int_equal(pw_inquiry_begin(&inquiry, &plain), 0);
    unit_write(unit_path(path, state, ".status-00001"), "{\"nonce\": ", 10, 0600);
    make_running(state, 1);
    assert_int_equal(pw_inquiry_poll(&inquiry), 1);
    pw_inquiry_end(&inquiry);
    assert_int_equal(inquiry.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_both_ways),
        cmocka_unit_test(test_hostile_json),
        cmocka_unit_test(test_answer_of_an_older_version),
        cmocka_unit_test(test_numbers_out_of_range),
        cmocka_unit_test(test_wrong_steps),
        UNIT_IN_DIR(test_ask_and_answer),
        UNIT_IN_DIR(test_one_inquiry_at_a_time),
        UNIT_IN_DIR(test_files_of_others_are_no_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
