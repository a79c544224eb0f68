/* What to do: the advice, with its evidence and what it saves. */

#include "analysis/figures/figures.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/csv.h"
#include "report/writing/json_row.h"
#include "report/writing/page.h"
#include "report/writing/words.h"

static int print_advice(const struct pw_page *page, const struct pw_advice_input *input,
                        const struct pw_advice *advice)
{
    char saves[96];
    pw_words_saves(advice, pw_advice_share(input, advice), saves, sizeof(saves));
    int err = pw_page_print(page, 2, 4, "- %s", advice->text);
    if (!err && (saves[0] || advice->evidence[0]))
        err = pw_page_print(page, 4, 4, "%s%s%s%s[%s]", saves, advice->evidence[0] ? "Seen: " : "",
                            advice->evidence, advice->evidence[0] ? ". " : "", advice->rule);
    return err;
}

static int show_advice(const struct pw_page *page)
{
    struct pw_advice advice[PW_ADVICE_MAX];
    struct pw_advice_input input = pw_figures_advice(page->figures);
    size_t n = pw_advice_collect(&input, advice);
    int err = 0;
    for (size_t i = 0; i < n && !err; i++)
        err = print_advice(page, &input, &advice[i]);
    if (!err && advice[0].of)
        err = pw_page_print(page, 2, 2, "More on each, by the name in brackets: docs/advice.md.");
    return err;
}

static json_t *make_one(const struct pw_advice_input *input, const struct pw_advice *advice)
{
    struct pw_row_c_advice row = pw_advice_row(input, advice);
    json_t *object = json_object(), *ranks = json_array();
    int bad = !ranks;
    for (size_t r = 0; r < pw_advice_listed(advice); r++)
        bad |= json_array_append_new(ranks, json_integer(advice->ranks[r]));
    bad |= json_object_set_new(object, "rule", json_string(advice->rule));
    bad |= json_object_set_new(object, "text", pw_json_text(row.text, sizeof(row.text)));
    bad |=
        json_object_set_new(object, "evidence", pw_json_text(row.evidence, sizeof(row.evidence)));
    bad |= json_object_set_new(object, "saves_ns", pw_json_int(row.saves_ns));
    bad |= json_object_set_new(object, "share", pw_json_real(row.share));
    bad |= json_object_set_new(object, "ranks", ranks);
    bad |= json_object_set_new(object, "ranks_total", json_integer((json_int_t)advice->nranks));
    bad |= json_object_set_new(object, "docs", pw_json_text(row.docs, sizeof(row.docs)));
    return pw_json_or_null(object, bad);
}

static json_t *make_advice(const struct pw_figures *f)
{
    struct pw_advice advice[PW_ADVICE_MAX];
    struct pw_advice_input input = pw_figures_advice(f);
    size_t n = pw_advice_collect(&input, advice);
    json_t *array = json_array();
    int bad = !array;
    for (size_t i = 0; i < n && !bad; i++)
        bad = json_array_append_new(array, make_one(&input, &advice[i]));
    return pw_json_or_null(array, bad);
}

static int put_advice(FILE *out, const struct pw_figures *f,
                      const struct pw_report_options *options)
{
    struct pw_advice advice[PW_ADVICE_MAX];
    struct pw_row_c_advice rows[PW_ADVICE_MAX];
    struct pw_advice_input input = pw_figures_advice(f);
    size_t n = pw_advice_collect(&input, advice);
    (void)options;
    for (size_t i = 0; i < n; i++)
        rows[i] = pw_advice_row(&input, &advice[i]);
    pw_csv_table(out, "advice", PW_TABLE_c_advice, (struct pw_cluster_rows){rows, n});
    return 0;
}

const struct pw_section pw_section_advice = {
    .name = "advice",
    .title = "What to do",
    .flags = PW_SECTION_DUMPS | PW_SECTION_END | PW_SECTION_PAGE,
    .print = show_advice,
    .keys = {{"advice", make_advice}},
    .csv = put_advice,
};
