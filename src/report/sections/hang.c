/* Operations of dumps that had not ended: who waits in each, and who did not reach it. */

#include "report/content/hang.h"
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

static int show_hang(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    size_t shown = 0, n;
    int err = 0;
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
