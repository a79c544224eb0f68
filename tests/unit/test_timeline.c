/* Pieces of the timeline: text as JSON, lists of ranks, and which ends make an arrow. */
#include <stdlib.h>
#include <string.h>

#include "timeline/chrome.h"
#include "timeline/timeline.h"
#include "timeline/writer.h"
#include "unit.h"

static void assert_text(const char *json)
{
    char *written = unit_close_text();
    assert_string_equal(written, json);
    free(written);
}

static void check_text(const char *text, const char *json)
{
    pw_json_put_text(unit_open_text(), text);
    assert_text(json);
}

static void test_text(void **state)
{
    (void)state;
    check_text("", "\"\"");
    check_text("plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80",
               "\"plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80\"");
    check_text("\"\\\n\x1b[31m\x7f", "\"\\\"\\\\\\u000a\\u001b[31m\\u007f\"");
    check_text("</script>", "\"\\u003c/script>\"");
    check_text("\xff", "\"\\ufffd\"");
    check_text("\xc0\xaf", "\"\\ufffd\\ufffd\"");            /* overlong */
    check_text("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""); /* a surrogate */
    check_text("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
    check_text("cut \xe2\x82", "\"cut \\ufffd\\ufffd\"");
}

static void check_us(int64_t ns, const char *json)
{
    pw_json_put_us(unit_open_text(), ns);
    assert_text(json);
}

static void test_times(void **state)
{
    (void)state;
    check_us(0, "0.000");
    check_us(1234567, "1234.567");
    check_us(-5, "-0.005");
    check_us(INT64_MIN, "-9223372036854775.808");
}

static void check_ranks(const char *list, size_t n, const char *wanted)
{
    char problem[128];
    char *found = pw_ranklist_parse(list, n, problem, sizeof(problem));
    if (!wanted) {
        assert_null(found);
        assert_non_null(strstr(problem, "--ranks"));
        return;
    }
    assert_non_null(found);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(found[i], wanted[i] - '0');
    free(found);
}

static void test_ranks(void **state)
{
    (void)state;
    check_ranks("", 3, "111");
    check_ranks("1", 3, "010");
    check_ranks("0-1,3", 4, "1101");
    check_ranks("2-2", 3, "001");
    check_ranks("3", 3, NULL);
    check_ranks("1-0", 3, NULL);
    check_ranks("1,,2", 3, NULL);
    check_ranks("1;2", 3, NULL);
    check_ranks("0", 0, NULL);
}

struct drawn {
    int n;
    int64_t tails[8], heads[8];
};

static void draw(void *context, int64_t number, const struct pw_arrow_end *tail,
                 const struct pw_arrow_end *head)
{
    struct drawn *d = context;
    assert_int_equal(number, d->n);
    d->tails[d->n] = tail->time;
    d->heads[d->n++] = head->time;
}

static void add(struct pw_arrows *arrows, uint64_t key, int is_head, int rank, int64_t time)
{
    const struct pw_arrow_end end = {
        .key = key, .time = time, .rank = rank, .is_head = (uint8_t)is_head};
    pw_arrows_add(arrows, &end, 8);
}

static void test_arrows_join_pairs_forward_in_time(void **state)
{
    struct pw_arrows arrows = {0};
    struct drawn drawn = {0};
    (void)state;
    assert_int_equal(pw_arrows_draw(&arrows, draw, &drawn), 0);
    add(&arrows, 7, 1, 2, 30);
    add(&arrows, 7, 0, 0, 10);
    add(&arrows, 7, 1, 1, 20);
    add(&arrows, 8, 1, 1, 50); /* from nowhere */
    add(&arrows, 9, 0, 1, 60); /* to nowhere */
    add(&arrows, 10, 0, 0, 90);
    add(&arrows, 10, 1, 1, 80); /* back in time */
    add(&arrows, 11, 0, 0, 1);
    add(&arrows, 11, 1, 0, 2); /* no room any more */
    assert_int_equal(arrows.left_out, 1);
    assert_int_equal(pw_arrows_draw(&arrows, draw, &drawn), 2);
    assert_int_equal(drawn.tails[0], 10);
    assert_int_equal(drawn.heads[0], 20);
    assert_int_equal(drawn.heads[1], 30);
    pw_arrows_fini(&arrows);
}

static void post(struct pw_message_ends *messages, uint64_t stream, int is_head, int64_t posted,
                 int is_shown)
{
    const struct pw_message_end end = {.stream = stream,
                                       .posted = posted,
                                       .end = {.time = posted, .is_head = (uint8_t)is_head},
                                       .is_shown = (uint8_t)is_shown};
    pw_message_ends_add(messages, &end);
}

/* The k-th send goes to the k-th receive, in whatever order they ended; what is not shown counts.
 */
static void test_messages(void **state)
{
    struct pw_message_ends messages = {0};
    struct pw_arrows arrows = {0};
    struct drawn drawn = {0};
    (void)state;
    post(&messages, 5, 0, 3, 1);
    post(&messages, 5, 0, 1, 0);
    post(&messages, 6, 0, 2, 1);
    pw_message_ends_number(&messages, &arrows, 100);
    post(&messages, 6, 1, 40, 1);
    post(&messages, 5, 1, 30, 1);
    post(&messages, 5, 1, 10, 1);
    pw_message_ends_number(&messages, &arrows, 100);
    assert_int_equal(pw_arrows_draw(&arrows, draw, &drawn), 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(drawn.heads[i], drawn.tails[i] == 3 ? 30 : 40);
    pw_message_ends_fini(&messages);
    pw_arrows_fini(&arrows);
}

/* ---- lanes by scope ---- */

struct slices {
    int n, level[16];
    char name[16][16];
    int64_t start[16], end[16];
};

static void keep_slice(void *context, const struct pw_scope_slice *slice)
{
    struct slices *s = context;
    assert_true(s->n < 16);
    s->level[s->n] = slice->level;
    snprintf(s->name[s->n], sizeof(s->name[0]), "%.*s", (int)slice->length, slice->name);
    s->start[s->n] = slice->start;
    s->end[s->n++] = slice->end;
}

static void assert_slice(const struct slices *s, int level, const char *name, int64_t start,
                         int64_t end)
{
    for (int i = 0; i < s->n; i++)
        if (s->level[i] == level && strcmp(s->name[i], name) == 0 && s->start[i] == start &&
            s->end[i] == end)
            return;
    fail_msg("no slice %s of level %d from %d to %d", name, level, (int)start, (int)end);
}

static void test_operators_below_one_scope_are_one_slice(void **state)
{
    struct pw_scopes scopes = {0};
    struct slices s = {0};
    (void)state;
    pw_scopes_add(&scopes, 30, 40, "Default/net/conv2/Conv2D-op2");
    pw_scopes_add(&scopes, 10, 20, "Default/net/conv1/Conv2D-op1");
    pw_scopes_add(&scopes, 22, 28, "Default/net/conv1/ReLU-op1");
    pw_scopes_add(&scopes, 45, 60, "Gradients/Default/net/conv2/Conv2DBackpropInput-op3");
    pw_scopes_add(&scopes, 5, 95, "MatMul-op1"); /* has no scope */
    assert_int_equal(pw_scopes_draw(&scopes, keep_slice, &s), 5);
    assert_slice(&s, 0, "Default", 10, 40);
    assert_slice(&s, 1, "net", 10, 40);
    assert_slice(&s, 2, "conv1", 10, 28);
    assert_slice(&s, 2, "conv2", 30, 40);
    assert_slice(&s, 3, "Conv2D-op1", 10, 20);
    assert_slice(&s, 0, "Gradients", 45, 60);
    assert_slice(&s, 3, "conv2", 45, 60);
    assert_int_equal(s.n, 12);
    pw_scopes_fini(&scopes);
}

/* Steps, an operator that runs again, and operators that run at the same time. */
static void test_slices_end_where_the_next_begins(void **state)
{
    struct pw_scopes scopes = {0};
    struct slices s = {0};
    (void)state;
    pw_scopes_break(&scopes, 100);
    pw_scopes_break(&scopes, 0);
    pw_scopes_add(&scopes, 10, 20, "a/x");
    pw_scopes_add(&scopes, 20, 30, "a/x");
    pw_scopes_add(&scopes, 25, 50, "b/x");
    pw_scopes_add(&scopes, 40, 45, "c/x");
    pw_scopes_add(&scopes, 90, 120, "c/x");
    pw_scopes_add(&scopes, 110, 115, "c/x");
    assert_int_equal(pw_scopes_draw(&scopes, keep_slice, &s), 2);
    assert_slice(&s, 0, "a", 10, 25);
    assert_slice(&s, 1, "x", 10, 20);
    assert_slice(&s, 1, "x", 20, 25);
    assert_slice(&s, 0, "b", 25, 40);
    assert_slice(&s, 0, "c", 40, 100);
    assert_slice(&s, 1, "x", 90, 100);
    assert_slice(&s, 0, "c", 110, 115);
    pw_scopes_fini(&scopes);
}

/* PyTorch's modules are operators themselves, which enclose those inside. */
static void test_modules_are_scopes(void **state)
{
    struct pw_scopes scopes = {0};
    struct slices s = {0};
    (void)state;
    pw_scopes_add(&scopes, 12, 20, "layer1.0.conv1");
    pw_scopes_add(&scopes, 10, 30, "layer1.0");
    pw_scopes_add(&scopes, 13, 14, "aten::add.out");
    pw_scopes_add(&scopes, 40, 50, "layer1.1");
    assert_int_equal(pw_scopes_draw(&scopes, keep_slice, &s), 3);
    assert_slice(&s, 0, "layer1", 10, 50);
    assert_slice(&s, 1, "0", 10, 30);
    assert_slice(&s, 2, "conv1", 12, 20);
    assert_slice(&s, 1, "1", 40, 50);
    assert_int_equal(s.n, 4);
    pw_scopes_fini(&scopes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_arrows_join_pairs_forward_in_time),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_operators_below_one_scope_are_one_slice),
        cmocka_unit_test(test_slices_end_where_the_next_begins),
        cmocka_unit_test(test_modules_are_scopes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
