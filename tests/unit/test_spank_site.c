/* The plugin's settings, and the command that follows from them and from the user's options. */
#include <stdio.h>
#include <string.h>

#include "site.h"
#include "unit.h"

static void reads(const char *word, int expected)
{
    struct pw_site site;
    char note[PW_NOTE_SIZE] = "";
    pw_site_init(&site);
    assert_int_equal(pw_site_read(&site, word, note), expected);
    assert_int_equal(note[0] != '\0', expected != 0);
}

static void settings(void **state)
{
    (void)state;
    struct pw_site site;
    char note[PW_NOTE_SIZE];
    pw_site_init(&site);
    assert_int_equal(pw_site_read(&site, "output=/a/%u", note), 0);
    assert_string_equal(site.output, "/a/%u");
    assert_int_equal(pw_site_read(&site, "max-size=3M", note), 0);
    assert_int_equal(site.job_bytes, 3 << 20);
    assert_int_equal(pw_site_read(&site, "merge=epilog", note), 0);
    assert_int_equal(site.merger, PW_MERGER_EPILOG);
    assert_int_equal(pw_site_read(&site, "option=level=0", note), 0);
    assert_int_equal(pw_site_read(&site, "option=quiet", note), 0);
    assert_string_equal(site.options, "level=0 quiet");
    static const char *const wrong[] = {"",          "output",
                                        "output=a",  "max-size=",
                                        "bogus=1",   "max-size=-1",
                                        "merge=all", "max-level=3",
                                        "option=",   "max-size=9223372036854775807G"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        reads(wrong[i], -22);
}

static void users(void **state)
{
    (void)state;
    char out[16];
    assert_int_equal(pw_site_expand("/a/%u/%j", "ada", "7", out, sizeof(out)), 0);
    assert_string_equal(out, "/a/ada/7");
    assert_int_equal(pw_site_expand("/a/%u/%u", "adalovelace", "7", out, sizeof(out)), -36);
    assert_int_equal(pw_site_expand("/a/%r", "ada", "7", out, sizeof(out)), -22);
    assert_int_equal(pw_site_expand("/50%a/%", "ada", "7", out, sizeof(out)), 0);
    assert_string_equal(out, "/50%a/%");
}

/* What comes between "--unprofiled-on-error" and the "--" before the program. */
static void becomes(const struct pw_site *site, struct pw_request request, const char *expected,
                    int has_note)
{
    char command[PW_COMMAND_SIZE], wanted[PW_COMMAND_SIZE], note[PW_NOTE_SIZE];
    request.profwrap = "/bin/profwrap";
    assert_int_equal(pw_site_command(site, &request, command, note), 0);
    snprintf(wanted, sizeof(wanted), "/bin/profwrap run --unprofiled-on-error %s --", expected);
    assert_string_equal(command, wanted);
    assert_int_equal(note[0] != '\0', has_note);
}

static void commands(void **state)
{
    (void)state;
    struct pw_site site;
    pw_site_init(&site);
    becomes(&site, (struct pw_request){.options = ""}, "--summary", 0);
    becomes(&site, (struct pw_request){.options = " --sample-hz 5  quiet\tring-size=1M "},
            "--summary --sample-hz=5 --quiet --ring-size=1M", 0);
    becomes(&site, (struct pw_request){.options = "--start-paused --level=2"},
            "--summary --start-paused --level=2", 0);
    site.merger = PW_MERGER_NOBODY;
    becomes(&site, (struct pw_request){.options = "", .level = "2"}, "--no-merge --level=2", 0);
}

/* No word can become the program, end profwrap before it, or send it elsewhere. */
static void dangerous_words(void **state)
{
    (void)state;
    struct pw_site site;
    pw_site_init(&site);
    becomes(&site, (struct pw_request){.options = "--help --version"}, "--summary", 1);
    becomes(&site, (struct pw_request){.options = "--output=/x -o"}, "--summary", 1);
    becomes(&site, (struct pw_request){.options = "-- /bin/true"}, "--summary", 1);
    becomes(&site, (struct pw_request){.options = "LD_PRELOAD=/x;id"}, "--summary", 1);
}

static void limits(void **state)
{
    (void)state;
    struct pw_site site;
    pw_site_init(&site);
    site.level = 1;
    becomes(&site, (struct pw_request){.options = "level=2"}, "--summary --level=1", 1);
    becomes(&site, (struct pw_request){.options = "", .level = "2"}, "--summary --level=1", 1);
    becomes(&site, (struct pw_request){.options = "level=0", .level = "2"}, "--summary --level=0",
            0);
    becomes(&site, (struct pw_request){.options = "max-file-size=9M", .rank_bytes = 4 << 20},
            "--summary --max-file-size=4194304", 0);
    becomes(&site, (struct pw_request){.options = "max-file-size=2M", .rank_bytes = 4 << 20},
            "--summary --max-file-size=2097152", 0);
}

static void paths_that_cannot_be(void **state)
{
    (void)state;
    struct pw_site site;
    char command[PW_COMMAND_SIZE], note[PW_NOTE_SIZE], text[2 * PW_SITE_TEXT];
    struct pw_request request = {.profwrap = "/a b/profwrap", .options = ""};
    pw_site_init(&site);
    assert_int_equal(pw_site_command(&site, &request, command, note), -22);
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    request = (struct pw_request){.profwrap = "/bin/profwrap", .options = text};
    assert_int_equal(pw_site_command(&site, &request, command, note), -22);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings), cmocka_unit_test(users),
        cmocka_unit_test(commands), cmocka_unit_test(dangerous_words),
        cmocka_unit_test(limits),   cmocka_unit_test(paths_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
