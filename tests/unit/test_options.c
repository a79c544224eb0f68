/* The option parser: environment, command line, and the sentence that a bad value gets. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/options.h"

static const char *const variables[] = {"PROFWRAP_LEVEL",     "PROFWRAP_QUIET",
                                        "PROFWRAP_OUTPUT",    "PROFWRAP_RING_SIZE",
                                        "PROFWRAP_SAMPLE_HZ", "PROFWRAP_MERGE_OUTPUT"};

static int clear_environment(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        unsetenv(variables[i]);
    return 0;
}

/* Parses words for `run`; the index of the first word that is no option, or the error. */
static int parse(struct pw_options *o, enum pw_command command, const char *const *words, int n)
{
    struct pw_options_end end;
    pw_options_init(o);
    int err = pw_options_parse(o, command, n, (char **)words, &end);
    return err ? err : end.next;
}

#define PARSE(o, command, ...)                            \
    parse(o, command, (const char *[]){"x", __VA_ARGS__}, \
          (int)(sizeof((const char *[]){"x", __VA_ARGS__}) / sizeof(char *)))

/* One sentence: it names the culprit, and has neither a line break nor a full stop. */
static void assert_problem(const struct pw_options *o, const char *part)
{
    assert_non_null(strstr(o->problem, part));
    assert_null(strchr(o->problem, '\n'));
    assert_true(o->problem[strlen(o->problem) - 1] != '.');
}

static void test_defaults(void **state)
{
    (void)state;
    struct pw_options o;
    pw_options_init(&o);
    assert_string_equal(o.text[PW_OPT_OUTPUT], "profwrap-%j");
    assert_int_equal(pw_option_int(&o, PW_OPT_LEVEL), 1);
    assert_int_equal(pw_option_size(&o, PW_OPT_RING_SIZE), 8 << 20);
    assert_false(pw_option_flag(&o, PW_OPT_QUIET));
    for (int id = 0; id < PW_OPT_COUNT; id++)
        assert_non_null(o.text[id]);
}

static void test_forms(void **state)
{
    (void)state;
    struct pw_options o;
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "-o", "dir", "prog", "-q"), 3);
    assert_string_equal(o.text[PW_OPT_OUTPUT], "dir");
    assert_false(pw_option_flag(&o, PW_OPT_QUIET)); /* -q is the program's */
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "-odir", "--level=2", "-q", "prog"), 4);
    assert_string_equal(o.text[PW_OPT_OUTPUT], "dir");
    assert_int_equal(pw_option_int(&o, PW_OPT_LEVEL), 2);
    assert_true(pw_option_flag(&o, PW_OPT_QUIET));
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "--level", "0", "--no-merge"), 4);
    assert_int_equal(pw_option_int(&o, PW_OPT_LEVEL), 0);
    assert_true(pw_option_flag(&o, PW_OPT_NO_MERGE));
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "--output="), 2);
    assert_string_equal(o.text[PW_OPT_OUTPUT], "");
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "--output", "a", "--output", "b"), 5);
    assert_string_equal(o.text[PW_OPT_OUTPUT], "b");
}

static void test_double_dash(void **state)
{
    (void)state;
    struct pw_options o;
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "-q", "--", "--level", "9"), 3);
    assert_true(pw_option_flag(&o, PW_OPT_QUIET));
    assert_int_equal(pw_option_int(&o, PW_OPT_LEVEL), 1);
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "-o", "--", "prog"), 3); /* a value like any other */
    assert_string_equal(o.text[PW_OPT_OUTPUT], "--");
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "--"), 2);
}

static void test_commands_have_their_own(void **state)
{
    (void)state;
    struct pw_options o;
    assert_int_equal(PARSE(&o, PW_CMD_MERGE, "--output=c.h5", "dir"), 2);
    assert_string_equal(o.text[PW_OPT_MERGE_OUTPUT], "c.h5");
    assert_string_equal(o.text[PW_OPT_OUTPUT], "profwrap-%j");
    assert_int_equal(PARSE(&o, PW_CMD_REPORT, "-or.txt"), 2);
    assert_string_equal(o.text[PW_OPT_REPORT_OUTPUT], "r.txt");
    assert_int_equal(PARSE(&o, PW_CMD_MERGE, "--level=1"), -EINVAL);
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "--hostname=h"), -EINVAL); /* environment only */
}

static void test_bad_words(void **state)
{
    (void)state;
    struct pw_options o;
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "--nonsense"), -EINVAL);
    assert_problem(&o, "unknown option '--nonsense'");
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "-z"), -EINVAL);
    assert_problem(&o, "unknown option '-z'");
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "-"), -EINVAL);
    assert_problem(&o, "unknown option '-'");
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "--lev=1"), -EINVAL); /* no abbreviations */
    assert_problem(&o, "'--lev=1'");
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "--quiet=1"), -EINVAL);
    assert_problem(&o, "takes no value");
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "--level"), -EINVAL);
    assert_problem(&o, "'--level' needs a value");
}

static void test_bad_values(void **state)
{
    (void)state;
    struct pw_options o;
    static const char *const levels[] = {"3", "", "0|1", "01", "x"};
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        assert_int_equal(PARSE(&o, PW_CMD_RUN, "--level", levels[i]), -EINVAL);
        assert_problem(&o, "takes 0|1|2");
    }
    static const char *const counts[] = {"-1", "", "1.5", "ten", "1e3", "9999999999"};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        assert_int_equal(PARSE(&o, PW_CMD_RUN, "--sample-hz", counts[i]), -EINVAL);
        assert_problem(&o, "takes a whole number");
    }
    static const char *const sizes[] = {
        "", "-1", "8X", "8MB", "M", "9223372036854775807K", "99999999999999999999"};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_int_equal(PARSE(&o, PW_CMD_RUN, "--ring-size", sizes[i]), -EINVAL);
        assert_problem(&o, "takes a size");
    }
}

static void test_sizes_with_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {{"0", 0},
                 {"4096", 4096},
                 {"64K", 65536},
                 {"64k", 65536},
                 {"8M", 8388608},
                 {"1G", 1073741824},
                 {"8589934591G", INT64_C(9223372035781033984)}}; /* (2^33 - 1) x 2^30 */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pw_options o;
        assert_int_equal(PARSE(&o, PW_CMD_RUN, "--ring-size", cases[i].text), 3);
        assert_int_equal(pw_option_size(&o, PW_OPT_RING_SIZE), cases[i].bytes);
    }
}

static void test_environment(void **state)
{
    (void)state;
    struct pw_options o;
    setenv("PROFWRAP_RING_SIZE", "1M", 1);
    setenv("PROFWRAP_MERGE_OUTPUT", "env.h5", 1);
    setenv("PROFWRAP_QUIET", "0", 1);
    setenv("PROFWRAP_LEVEL", "", 1); /* as if unset */
    pw_options_init(&o);
    assert_int_equal(pw_option_size(&o, PW_OPT_RING_SIZE), 1 << 20);
    assert_string_equal(o.text[PW_OPT_MERGE_OUTPUT], "env.h5");
    assert_false(pw_option_flag(&o, PW_OPT_QUIET));
    assert_int_equal(pw_option_int(&o, PW_OPT_LEVEL), 1);
    setenv("PROFWRAP_QUIET", "1", 1);
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "--ring-size=2M"), 2); /* the command line wins */
    assert_int_equal(pw_option_size(&o, PW_OPT_RING_SIZE), 2 << 20);
    assert_true(pw_option_flag(&o, PW_OPT_QUIET));
}

/* Every row has a value whatever the environment says; the command line replaces what is wrong. */
static void test_bad_environment(void **state)
{
    (void)state;
    struct pw_options o;
    setenv("PROFWRAP_LEVEL", "7", 1);
    setenv("PROFWRAP_SAMPLE_HZ", "1001", 1);
    pw_options_init(&o);
    for (int id = 0; id < PW_OPT_COUNT; id++)
        assert_non_null(o.text[id]);
    assert_int_equal(pw_option_int(&o, PW_OPT_LEVEL), 1);
    assert_int_equal(pw_options_check_environment(&o, PW_CMD_RUN), -EINVAL);
    assert_problem(&o, "PROFWRAP_LEVEL is '7', but takes 0|1|2");
    assert_int_equal(pw_options_check_environment(&o, PW_CMD_MERGE), 0);
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "-q", "prog"), -EINVAL);
    assert_true(o.in_environment);
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "--level=2", "prog"), 2);
    assert_int_equal(pw_option_refuse(&o, PW_OPT_SAMPLE_HZ, "0 to 1000"), -EINVAL);
    assert_problem(&o, "PROFWRAP_SAMPLE_HZ is '1001', but takes 0 to 1000");
    assert_true(o.in_environment);
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "--level=2", "--sample-hz=2000"), 3);
    assert_int_equal(pw_option_refuse(&o, PW_OPT_SAMPLE_HZ, "0 to 1000"), -EINVAL);
    assert_problem(&o, "--sample-hz is '2000', but takes 0 to 1000");
    assert_false(o.in_environment);
}

static void test_long_values(void **state)
{
    (void)state;
    struct pw_options o;
    char text[100001];
    memset(text, '9', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    setenv("PROFWRAP_RING_SIZE", text, 1);
    assert_int_equal(PARSE(&o, PW_CMD_RUN, "prog"), -EINVAL);
    assert_problem(&o, "PROFWRAP_RING_SIZE is '9999");
    assert_problem(&o, "9...', but takes a size");
}

static void test_close_words(void **state)
{
    (void)state;
    struct pw_options o;
    PARSE(&o, PW_CMD_RUN, "--outptu", "a");
    assert_problem(&o, "unknown option '--outptu'; did you mean '--output'?");
    PARSE(&o, PW_CMD_RUN, "--ring-sized=4M", "a");
    assert_problem(&o, "did you mean '--ring-size'?");
    PARSE(&o, PW_CMD_RUN, "--section", "x"); /* an option of another command only */
    assert_null(strstr(o.problem, "did you mean"));
    PARSE(&o, PW_CMD_REPORT, "--format", "htm", "a");
    assert_problem(&o, "; did you mean 'html'?");
    PARSE(&o, PW_CMD_REPORT, "--format", "pdf", "a");
    assert_null(strstr(o.problem, "did you mean"));
}

static void test_help_and_version(void **state)
{
    (void)state;
    struct pw_options o;
    struct pw_options_end end;
    char *words[] = {"x", "-q", "--help", "--nonsense", NULL};
    pw_options_init(&o);
    assert_int_equal(pw_options_parse(&o, PW_CMD_RUN, 4, words, &end), 0);
    assert_int_equal(end.help, 2);
    assert_int_equal(end.version, 0);
    words[2] = "-V";
    assert_int_equal(pw_options_parse(&o, PW_CMD_RUN, 4, words, &end), 0);
    assert_int_equal(end.help, 0);
    assert_int_equal(end.version, 2);
}

static void test_help_has_every_row(void **state)
{
    (void)state;
    static const char *const words[] = {
#define PW_OPTION(id, name, letter, kind, value, meta, command, help) help,
#include "core/options.def"
#undef PW_OPTION
    };
    char *text;
    size_t size, lines = 0;
    FILE *out = open_memstream(&text, &size);
    for (int command = PW_CMD_RUN; command <= PW_CMD_ENV; command++)
        pw_options_print_help(out, (enum pw_command)command);
    fclose(out);
    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    size_t expected = PW_OPT_COUNT;
    for (size_t i = 0; i < PW_OPT_COUNT; i++) {
        struct pw_option_row row;
        pw_option_describe((enum pw_option)i, &row);
        expected += row.command == PW_CMD_RUN_OR_REPORT; /* in the help of both */
        assert_non_null(strstr(text, words[i]));
    }
    assert_int_equal(lines, expected);
    assert_non_null(strstr(text, "-o, --output DIR"));
    assert_non_null(strstr(text, "PROFWRAP_HOSTNAME=NAME"));
    assert_null(strstr(text, "merge-output"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_defaults, clear_environment),
        cmocka_unit_test_setup(test_forms, clear_environment),
        cmocka_unit_test_setup(test_double_dash, clear_environment),
        cmocka_unit_test_setup(test_commands_have_their_own, clear_environment),
        cmocka_unit_test_setup(test_bad_words, clear_environment),
        cmocka_unit_test_setup(test_bad_values, clear_environment),
        cmocka_unit_test_setup(test_sizes_with_units, clear_environment),
        cmocka_unit_test_setup(test_environment, clear_environment),
        cmocka_unit_test_setup(test_bad_environment, clear_environment),
        cmocka_unit_test_setup(test_long_values, clear_environment),
        cmocka_unit_test_setup(test_close_words, clear_environment),
        cmocka_unit_test_setup(test_help_and_version, clear_environment),
        cmocka_unit_test_setup(test_help_has_every_row, clear_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
