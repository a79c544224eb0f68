/* Reads the rows of a rank file that timelines of two spans show, twice: the second time the file
 * is empty. */
#include "unit.h"

#include <errno.h>
#include <unistd.h>

#include "core/h5/h5types.h"
#include "rank/file/rankfile.h"
#include "timeline/rankview.h"

enum { ROWS = 3000, SENT_EVERY = 1000 };

static const int64_t spans[][2] = {{1005, 1025}, {20000, 20010}};

/* Events and ranges of 10 ns without gaps; every SENT_EVERYth event is a message. */
static void write_file(void **state)
{
    static const struct pw_identity identity = {.rank = 3, .size = 8};
    static const struct pw_rankfile_end end = {0, 0, 1, 4711};
    struct pw_rankfile *file;
    assert_int_equal(pw_rankfile_create(*state, &identity, "prog", 1, &file), 0);
    for (int64_t i = 0; i < ROWS; i++) {
        const struct pw_row_comm_event event = {.start = 10 * i + 1,
                                                .end = 10 * i + 9,
                                                .op = PW_OP_Send,
                                                .seq = i,
                                                .peer = i % SENT_EVERY ? -1 : 5};
        const struct pw_row_range range = {.start = 10 * i, .end = 10 * i + 10};
        pw_rankfile_append(file, PW_TABLE_comm_event, &event);
        pw_rankfile_append(file, PW_TABLE_range, &range);
    }
    assert_int_equal(pw_rankfile_close(file, &end), 0);
}

/* The numbers of the rows that were visited. */
struct seen {
    int64_t numbers[64];
    size_t n;
};

static void see(struct seen *seen, int64_t number)
{
    assert_true(seen->n < sizeof(seen->numbers) / sizeof(seen->numbers[0]));
    seen->numbers[seen->n++] = number;
}

static void see_event(void *context, const struct pw_rankview *view, const void *row)
{
    (void)view;
    see(context, ((const struct pw_row_comm_event *)row)->seq);
}

static void see_range(void *context, const struct pw_rankview *view, const void *row)
{
    (void)view;
    see(context, ((const struct pw_row_range *)row)->start / 10);
}

/* An event or range is shown when it begins before the end of a span, and does not end before its
 * start. */
static void check_rows(const struct pw_rankview *view)
{
    static const int64_t events[] = {0, 100, 101, 102, 1000, 2000};
    static const int64_t ranges[] = {100, 101, 102, 1999, 2000};
    struct seen seen = {.n = 0};
    assert_int_equal(pw_rankview_read(view, PW_TABLE_comm_event, see_event, &seen), 0);
    assert_int_equal(seen.n, sizeof(events) / sizeof(events[0]));
    assert_memory_equal(seen.numbers, events, sizeof(events));
    seen.n = 0;
    assert_int_equal(pw_rankview_read(view, PW_TABLE_range, see_range, &seen), 0);
    assert_int_equal(seen.n, sizeof(ranges) / sizeof(ranges[0]));
    assert_memory_equal(seen.numbers, ranges, sizeof(ranges));
}

static void test_rows_are_read_once(void **state)
{
    static const struct pw_clockmaps no_maps;
    char path[UNIT_PATH];
    struct pw_rankview view;
    struct seen seen = {.n = 0};
    write_file(state);
    assert_int_equal(pw_rankview_open(*state, 3, &no_maps, &view), 0);
    view.kept_rows = pw_keptrows_create(spans, 2);
    assert_non_null(view.kept_rows);
    check_rows(&view);
    assert_int_equal(truncate(unit_path(path, state, "rank-00003.h5"), 0), 0);
    check_rows(&view);
    const struct pw_table_visit all = {PW_TABLE_comm_event, see_event, &seen};
    assert_int_equal(pw_rankview_read_file(&view, &all), -EIO);
    pw_keptrows_destroy(view.kept_rows);
    pw_rankview_close(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT_IN_DIR(test_rows_are_read_once)};
    pw_h5_quiet();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
