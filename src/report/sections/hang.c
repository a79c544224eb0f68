/* Operations of dumps that had not ended: who waits in each, and who did not reach it. */

#include <inttypes.h>

#include "core/limits.h"
#include "core/text.h"
#include "report/content/firstscreen.h"
#include "report/content/hang.h"
#include "report/content/opencall.h"
#include "report/sections/section.h"
#include "report/writing/page.h"

static const struct {
    int role;
    const char *words;
} roles[] = {
    {PW_REACH_MISSING, "did not reach it"},
    {PW_REACH_HELD, "did not reach it, wait in others"},
    {PW_REACH_NO_OPERATIONS, "not known, no operations in the dump"},
    {PW_REACH_NO_DUMP, "not known, no dump"},
    {PW_REACH_WAITING, "wait in it"},
    {PW_REACH_ENDED, "have ended it"},
};

static int print_operation(const struct pw_page *page, const struct pw_row_c_hang *rows, size_t n)
{
    char text[256], ranks[512];
    struct pw_sentence s = pw_sentence_on(text, sizeof(text));
    size_t at = 0;
    while (at + 1 < n && rows[at].role != PW_REACH_WAITING)
        at++;
    text[0] = '\0';
    pw_hang_operation(&rows[at], &s);
    int err = pw_page_print(page, 2, 2, "%s", text);
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]) && !err; i++) {
        struct pw_sentence list = pw_sentence_on(ranks, sizeof(ranks));
        if (pw_hang_ranks(rows, n, roles[i].role, &list))
            err = pw_page_print(page, 4, 2, "%s: %s", roles[i].words, ranks);
    }
    return err;
}

/* The calls with which the files of a job end that did not end well: how it ended, and who was in
 * which call for how long. */
static int print_end(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    char text[PW_HEADLINE_BYTES] = "", call[PW_CALL_TEXT], time[32];
    struct pw_sentence s = pw_sentence_on(text, sizeof(text));
    pw_ending_write(page->figures, &s);
    int err = s.used ? pw_page_print(page, 2, 2, "%s", text) : 0;
    for (size_t i = 0; i < c->nopen_calls && i < page->top && !err; i++) {
        const struct pw_row_c_open_call *one = &c->open_calls[i];
        err = pw_page_print(
            page, 4, 6, "rank %" PRId32 ": in %s for %s", one->rank, pw_opencall_write(one, call),
            pw_text_ns(time, sizeof(time), pw_difference(one->seen_until, one->start)));
    }
    if (!err && c->nopen_calls > page->top)
        err = pw_page_print(page, 4, 6, "and %zu more, in cluster.h5 /open_calls",
                            c->nopen_calls - page->top);
    return err;
}

static int show_hang(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    size_t shown = 0, n;
    int err = 0;
    if (!c->nhang && c->nopen_calls && !pw_hang_is_of_dumps(c))
        return print_end(page);
    if (!c->nhang)
        return pw_page_print(page, 2, 2, "None.");
    for (size_t i = 0; i < c->nhang && !err; i += n) {
        n = pw_hang_rows(c, i);
        if (shown++ == page->top)
            return pw_page_print(page, 2, 2, "and more, in cluster.h5 /hang");
        err = print_operation(page, &c->hang[i], n);
    }
    return err;
}

static bool has_hang(const struct pw_cluster *c)
{
    return c->nhang > 0;
}

const struct pw_section pw_section_hang = {
    .name = "hang",
    .title = "Operations that had not ended: who waits, and who is missing",
    .flags = PW_SECTION_WHOLE | PW_SECTION_DUMPS,
    .tables = {PW_TABLE_c_hang},
    .is_of = has_hang,
    .print = show_hang,
};
