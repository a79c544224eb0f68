/* A comparison for merge requests and CI servers: as Markdown, and as a JUnit report. The JUnit
 * elements are those of the schema that Jenkins and GitLab read (testsuites, testsuite, testcase
 * with failure or skipped). See compare.h. */
#include "report/compare/compare_markup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/compare/compare_words.h"
#include "report/writing/safenames.h"

/* Writes a text with replacements for some of its characters. */
static void put_escaped(FILE *out, const char *text, size_t length,
                        const char *(*escape)(char character))
{
    char clean[2048];
    pw_names_printable(clean, sizeof(clean), text, length);
    for (const char *at = clean; *at; at++) {
        const char *other = escape(*at);
        if (other)
            fputs(other, out);
        else
            fputc(*at, out);
    }
}

/* ---- Markdown ---- */

static const char *escape_markdown(char character)
{
    switch (character) {
    case '|':
        return "\\|";
    case '*':
        return "\\*";
    case '_':
        return "\\_";
    case '`':
        return "\\`";
    case '[':
        return "\\[";
    case '\\':
        return "\\\\";
    case '<':
        return "&lt;";
    case '&':
        return "&amp;";
    default:
        return NULL;
    }
}

void pw_markup_markdown(FILE *out, const char *text, size_t length)
{
    put_escaped(out, text, length, escape_markdown);
}

static void put_table(FILE *out, const struct pw_comparison *c, enum pw_compare_group group,
                      size_t top)
{
    size_t rows = 0;
    for (size_t i = 0; i < c->nrows; i++) {
        struct pw_compare_cells cells;
        if (c->rows[i].group != group || rows++ >= top)
            continue;
        if (rows == 1) {
            fprintf(out, "#### %s\n\n", pw_compare_title(group));
            fputs("| what | first run | second run | change | p | |\n", out);
            fputs("|---|--:|--:|--:|--:|---|\n", out);
        }
        pw_compare_cells_write(&c->rows[i], &cells);
        fputs("| ", out);
        pw_markup_markdown(out, c->rows[i].name, sizeof(c->rows[i].name));
        fprintf(out, " | %s | %s | %s | %s | %s |\n", cells.first, cells.second, cells.change,
                cells.chance, cells.verdict);
    }
    if (rows > top)
        fprintf(out, "\n%zu more changed less.\n", rows - top);
    if (rows)
        fputc('\n', out);
}

void pw_markup_fold(FILE *out)
{
    fputs("\n<details>\n<summary>Tables</summary>\n\n", out);
}

void pw_markup_unfold(FILE *out)
{
    fputs("\n</details>\n", out);
}

int pw_compare_markdown(FILE *out, const struct pw_comparison *comparison, int top)
{
    char text[1024];
    pw_compare_headline(comparison, text, sizeof(text));
    fputs("**", out);
    pw_markup_markdown(out, text, sizeof(text));
    fputs("**\n", out);
    pw_compare_details(comparison, text, sizeof(text));
    if (text[0]) {
        fputc('\n', out);
        pw_markup_markdown(out, text, sizeof(text));
        fputc('\n', out);
    }
    if (comparison->unlike[0]) {
        fputs("\nThe runs differ: ", out);
        pw_markup_markdown(out, comparison->unlike, sizeof(comparison->unlike));
        fputs(".\n", out);
    }
    pw_markup_fold(out);
    for (int group = 0; group < PW_COMPARE_GROUPS; group++)
        put_table(out, comparison, (enum pw_compare_group)group, top > 0 ? (size_t)top : SIZE_MAX);
    fprintf(out, "%s\n", pw_compare_note);
    pw_markup_unfold(out);
    return ferror(out) ? -EIO : 0;
}

/* ---- JUnit ---- */

static const char *escape_xml(char character)
{
    switch (character) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    default:
        return NULL;
    }
}

/* Line by line: a control character would make the XML invalid. */
static void put_report(FILE *out, const char *text)
{
    fputs("    <system-out>", out);
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");
        put_escaped(out, line, length, escape_xml);
        fputc('\n', out);
        line += length + (line[length] == '\n');
    }
    fputs("</system-out>\n", out);
}

void pw_markup_junit(FILE *out, const struct pw_junit_case *given)
{
    static const char *const names[] = {"", "failure", "error", "skipped"};
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", out);
    fprintf(out,
            "  <testsuite name=\"profwrap compare\" tests=\"1\" failures=\"%d\" errors=\"%d\" "
            "skipped=\"%d\">\n    <testcase classname=\"profwrap\" "
            "name=\"%s by more than %g %%\" time=\"%.3f\">\n",
            given->outcome == PW_JUNIT_FAILURE, given->outcome == PW_JUNIT_ERROR,
            given->outcome == PW_JUNIT_SKIPPED, given->name, 100 * given->threshold,
            given->ns > 0 ? given->ns / 1e9 : 0);
    if (given->outcome != PW_JUNIT_PASSED) {
        fprintf(out, "    <%s message=\"", names[given->outcome]);
        put_escaped(out, given->message, strlen(given->message), escape_xml);
        fputs("\"/>\n", out);
    }
    put_report(out, given->report);
    fputs("    </testcase>\n  </testsuite>\n</testsuites>\n", out);
}

int pw_compare_junit(FILE *out, const struct pw_comparison *comparison, int top)
{
    char text[1024], *report = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&report, &size);
    int err = memory ? pw_compare_text(memory, comparison, top) : -ENOMEM;
    if (memory && fclose(memory) && !err)
        err = -ENOMEM;
    pw_compare_headline(comparison, text, sizeof(text));
    const struct pw_junit_case only = {
        .name = "the run is not slower",
        .threshold = comparison->threshold,
        .ns = comparison->parts[1].run,
        .outcome = comparison->kind == PW_COMPARE_UNKNOWN ? PW_JUNIT_SKIPPED
                   : pw_compare_is_slower(comparison)     ? PW_JUNIT_FAILURE
                                                          : PW_JUNIT_PASSED,
        .message = text,
        .report = report,
    };
    if (!err)
        pw_markup_junit(out, &only);
    free(report);
    return err ? err : ferror(out) ? -EIO : 0;
}
