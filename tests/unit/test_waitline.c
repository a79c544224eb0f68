/* The line that the end of a job shows while it waits for files. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "cli/conclude/waitline.h"

static void assert_line(const struct pw_waitline *line, int64_t ms, const char *wanted)
{
    char text[160];
    pw_waitline_text(line, ms, text, sizeof(text));
    assert_string_equal(text, wanted);
}

static void test_what_it_waits_for(void **state)
{
    (void)state;
    uint8_t files[4] = {PW_WAITED_CLOSED, PW_WAITED_WRITTEN, PW_WAITED_CLOSED, PW_WAITED_NONE};
    const struct pw_waitline line = {.ranks = 4, .files = files};
    assert_line(&line, 1999, "closing files: 2 of 4");
    assert_line(
        &line, 2000,
        "closing files: 2 of 4; waiting for rank 1, whose file is not closed yet (and 1 more)");
    files[1] = PW_WAITED_CLOSED;
    assert_line(&line, 9000,
                "closing files: 3 of 4; waiting for rank 3, of which there is no file");
    files[3] = PW_WAITED_CLOSED;
    assert_line(&line, 9000, "closing files: 4 of 4");
}

/* Standard error is no terminal here; the second time, TERM says that it cannot move its cursor. */
static void test_no_terminal(void **state)
{
    (void)state;
    for (int is_dumb = 0; is_dumb < 2; is_dumb++) {
        char path[64] = "x";
        struct pw_waitline line;
        setenv("TERM", is_dumb ? "dumb" : "xterm", 1);
        freopen("/dev/null", "w", stderr);
        pw_waitline_terminal(path, sizeof(path), 0);
        assert_string_equal(path, "");
        pw_waitline_begin(&line, path, 4, 0);
        pw_waitline_show(&line, 5000);
        assert_null(line.to);
        assert_null(line.files);
        pw_waitline_end(&line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_it_waits_for),
        cmocka_unit_test(test_no_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
