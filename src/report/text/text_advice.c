/* What to do, and why. */
#include <string.h>

#include "core/text.h"
#include "report/text/sections.h"

static int print_advice(const struct pw_page *page, const struct pw_advice_input *input,
                        const struct pw_advice *advice)
{
    char saves[96] = "", time[32], percent[32], of_all[40] = "";
    double share = pw_advice_share(input, advice);
    if (share >= 0)
        snprintf(of_all, sizeof(of_all), " (%s)", pw_page_percent(percent, sizeof(percent), share));
    if (advice->saves_ns > 0)
        snprintf(saves, sizeof(saves), "Would save up to %s%s. ",
                 pw_text_ns(time, sizeof(time), advice->saves_ns), of_all);
    int err = pw_page_print(page, 2, 4, "- %s", advice->text);
    if (!err && (saves[0] || advice->evidence[0]))
        err = pw_page_print(page, 4, 4, "%s%s%s%s[%s]", saves, advice->evidence[0] ? "Seen: " : "",
                            advice->evidence, advice->evidence[0] ? ". " : "", advice->rule);
    return err;
}

int pw_section_advice(const struct pw_page *page)
{
    struct pw_advice advice[PW_ADVICE_MAX];
    struct pw_advice_input input = pw_figures_advice(page->figures);
    size_t n = pw_advice_collect(&input, advice);
    int err = 0;
    for (size_t i = 0; i < n && !err; i++)
        err = print_advice(page, &input, &advice[i]);
    if (!err && strcmp(advice[0].rule, "none") != 0)
        err = pw_page_print(page, 2, 2, "More on each, by the name in brackets: docs/advice.md.");
    return err;
}
