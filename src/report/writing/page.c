/* Prints paragraphs; see page.h. */
#include "report/writing/page.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "report/writing/safenames.h"

/* Bytes of `text` that fit `columns`, broken at the last space that allows it; a number stays with
 * its unit where it can. */
static size_t line_bytes(const char *text, size_t columns)
{
    size_t fits = pw_names_offset(text, columns ? columns : 1), any = 0;
    if (!text[fits])
        return fits;
    for (size_t at = fits; at > 0; at--) {
        if (text[at] != ' ')
            continue;
        if (!isdigit((unsigned char)text[at - 1]))
            return at;
        any = any ? any : at;
    }
    return any ? any : fits;
}

/* `text` in lines that begin at column `hang`, but the first one right after what stands in its
 * first `margin` columns. */
static void print_wrapped(const struct pw_page *page, size_t margin, size_t hang, const char *text)
{
    for (;;) {
        size_t bytes = line_bytes(text, page->width - margin), solid = bytes;
        while (solid && text[solid - 1] == ' ')
            solid--;
        fprintf(page->out, "%.*s\n", (int)solid, text);
        text += bytes;
        text += strspn(text, " ");
        if (!*text)
            return;
        fprintf(page->out, "%*s", (int)hang, "");
        margin = hang;
    }
}

static char *format_clean(const char *format, va_list args)
{
    char *raw = NULL, *clean = NULL;
    int length = vasprintf(&raw, format, args);
    if (length < 0)
        return NULL;
    clean = malloc((size_t)length + 1);
    if (clean)
        pw_names_printable(clean, (size_t)length + 1, raw, (size_t)length);
    free(raw);
    return clean;
}

static int print_and_free(const struct pw_page *page, size_t margin, size_t hang, char *text)
{
    if (!text)
        return -ENOMEM;
    print_wrapped(page, margin, hang, text);
    free(text);
    return 0;
}

int pw_page_print(const struct pw_page *page, size_t indent, size_t hang, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = format_clean(format, args);
    va_end(args);
    if (text)
        fprintf(page->out, "%*s", (int)indent, "");
    return print_and_free(page, indent, hang, text);
}

int pw_page_property(const struct pw_page *page, const char *name, const char *format, ...)
{
    enum { MARGIN = 14 };
    va_list args;
    va_start(args, format);
    char *text = format_clean(format, args);
    va_end(args);
    if (text)
        fprintf(page->out, "  %-11s ", name);
    return print_and_free(page, MARGIN, MARGIN, text);
}

const char *pw_page_percent(char *out, size_t size, double share)
{
    double percent = 100 * share;
    int digits = percent == 0 || percent >= 9.95 ? 0 : percent < 0.1 ? 2 : 1;
    if (!(percent >= 0))
        snprintf(out, size, "n/a");
    else if (percent > 9999)
        snprintf(out, size, ">9999 %%");
    else
        snprintf(out, size, "%.*f %%", digits, percent);
    return out;
}

const char *pw_page_cross_ns(const struct pw_page *page, char *out, size_t size, int64_t ns)
{
    char time[32];
    int unresolved = pw_figures_is_unresolved(page->figures, ns);
    snprintf(out, size, "%s%s", unresolved ? "~" : "", pw_text_ns(time, sizeof(time), ns));
    return out;
}
