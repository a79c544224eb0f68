/* Prints paragraphs and lays out tables; see page.h. */
#include "report/writing/page.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "report/writing/safenames.h"

/* 1 when the word before text[at] belongs to the next one: a number before its unit, or a sign such
 * as "?" or "✗". */
static int is_bound(const char *text, size_t at)
{
    const unsigned char last = (unsigned char)text[at - 1];
    if (last == '?' || last == '!')
        return at >= 2 && text[at - 2] == ' ';
    return isdigit(last) || (last >= 0x80 && at >= 4 && text[at - 4] == ' ');
}

/* Returns the number of bytes of `text` for a line of `columns`, which ends at a space; if
 * possible, a number stays on one line with its unit. */
static size_t line_bytes(const char *text, size_t columns)
{
    size_t fits = pw_names_offset(text, columns ? columns : 1), any = 0;
    if (!text[fits])
        return fits;
    for (size_t at = fits; at > 0; at--) {
        if (text[at] != ' ')
            continue;
        if (!is_bound(text, at))
            return at;
        any = any ? any : at;
    }
    return any ? any : fits;
}

/* Prints `text` in lines that begin at column `hang`. The first line follows directly behind the
 * `margin` columns that are already printed. */
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

/* ---- tables ---- */

enum { INDENT = 2, TEXT_LEAST = 8, CELL_BYTES = 400 };

void pw_grid_init(struct pw_grid *grid, const struct pw_grid_column *columns, size_t ncolumns)
{
    memset(grid, 0, sizeof(*grid));
    grid->columns = columns;
    grid->ncolumns = ncolumns < PW_GRID_COLUMNS ? ncolumns : PW_GRID_COLUMNS;
}

void pw_grid_fini(struct pw_grid *grid)
{
    for (size_t i = 0; i < grid->ncells; i++)
        free(grid->cells[i]);
    for (size_t i = 0; i < grid->nnotes; i++)
        free(grid->notes[i]);
    free(grid->cells);
    free(grid->notes);
    memset(grid, 0, sizeof(*grid));
}

static char *format_cell(const char *format, va_list args)
{
    char raw[CELL_BYTES], clean[CELL_BYTES];
    vsnprintf(raw, sizeof(raw), format, args);
    return strdup(pw_names_printable(clean, sizeof(clean), raw, sizeof(raw)));
}

static int grow(struct pw_grid *grid)
{
    if (grid->ncells < grid->capacity)
        return 0;
    size_t capacity = grid->capacity ? 2 * grid->capacity : 128;
    char **cells = realloc(grid->cells, capacity * sizeof(*cells));
    if (!cells)
        return -ENOMEM;
    grid->cells = cells;
    grid->capacity = capacity;
    return 0;
}

void pw_grid_cell(struct pw_grid *grid, const char *format, ...)
{
    if (!grid->error)
        grid->error = grow(grid);
    if (grid->error)
        return;
    va_list args;
    va_start(args, format);
    char *text = format_cell(format, args);
    va_end(args);
    if (text)
        grid->cells[grid->ncells++] = text;
    else
        grid->error = -ENOMEM;
}

void pw_grid_time(struct pw_grid *grid, int64_t ns)
{
    char text[32];
    pw_grid_cell(grid, "%s", pw_text_ns(text, sizeof(text), ns));
}

void pw_grid_share(struct pw_grid *grid, double share)
{
    char text[32];
    pw_grid_cell(grid, "%s", pw_page_percent(text, sizeof(text), share));
}

void pw_grid_bytes(struct pw_grid *grid, int64_t bytes)
{
    char text[32];
    pw_grid_cell(grid, "%s", pw_text_bytes(text, sizeof(text), bytes));
}

void pw_grid_note(struct pw_grid *grid, const char *format, ...)
{
    size_t rows = grid->ncells / grid->ncolumns;
    if (grid->error || rows == 0 || rows <= grid->nnotes)
        return;
    char **notes = realloc(grid->notes, rows * sizeof(*notes));
    grid->error = notes ? 0 : -ENOMEM;
    if (!notes)
        return;
    grid->notes = notes;
    while (grid->nnotes < rows)
        notes[grid->nnotes++] = NULL;
    va_list args;
    va_start(args, format);
    notes[rows - 1] = format_cell(format, args);
    va_end(args);
}

/* Returns line `line` (0 or 1) of a title; a title of one line is on the second. *length: bytes. */
static const char *title_line(const char *title, int line, size_t *length)
{
    const char *second = strchr(title, '\n');
    if (!second) {
        *length = line ? strlen(title) : 0;
        return title;
    }
    *length = line ? strlen(second + 1) : (size_t)(second - title);
    return line ? second + 1 : title;
}

static void natural_widths(const struct pw_grid *grid, size_t *widths)
{
    for (size_t c = 0; c < grid->ncolumns; c++) {
        size_t upper, lower;
        title_line(grid->columns[c].title, 0, &upper);
        title_line(grid->columns[c].title, 1, &lower);
        widths[c] = upper > lower ? upper : lower;
    }
    for (size_t i = 0; i < grid->ncells; i++) {
        size_t columns = pw_names_columns(grid->cells[i]);
        if (columns > widths[i % grid->ncolumns])
            widths[i % grid->ncolumns] = columns;
    }
}

/* How a table is laid out: widths of columns, and the gap between them. */
struct layout {
    size_t widths[PW_GRID_COLUMNS], gap;
    enum { SHOWN, UNKNOWN, TOO_WIDE } is[PW_GRID_COLUMNS];
};

static size_t total_width(const struct pw_grid *grid, const struct layout *l)
{
    size_t total = INDENT;
    for (size_t c = 0, n = 0; c < grid->ncolumns; c++)
        if (l->is[c] == SHOWN)
            total += l->widths[c] + (n++ ? l->gap : 0);
    return total;
}

/* Returns the widest column; with `text`, only of text columns wider than TEXT_LEAST.
 * grid->ncolumns when there is none. */
static size_t widest(const struct pw_grid *grid, const struct layout *l, int text)
{
    size_t best = grid->ncolumns;
    for (size_t c = 0; c < grid->ncolumns; c++) {
        if (l->is[c] != SHOWN ||
            (text && (grid->columns[c].kind != PW_GRID_TEXT || l->widths[c] <= TEXT_LEAST)))
            continue;
        if (best == grid->ncolumns || l->widths[c] > l->widths[best])
            best = c;
    }
    return best;
}

/* Returns the column to leave out next: the last one that need not be kept, or else the last one;
 * 0: there is only the first. */
static size_t least_needed(const struct pw_grid *grid, const struct layout *l)
{
    for (int is_kept = 0; is_kept < 2; is_kept++)
        for (size_t c = grid->ncolumns; c-- > 1;)
            if (l->is[c] == SHOWN && (is_kept || grid->columns[c].kind != PW_GRID_KEPT))
                return c;
    return 0;
}

/* Columns in which each cell is "n/a". The first names the row. */
static void hide_unknown(const struct pw_grid *grid, struct layout *l)
{
    for (size_t c = 1; c < grid->ncolumns; c++) {
        size_t at = c;
        while (at < grid->ncells && strcmp(grid->cells[at], "n/a") == 0)
            at += grid->ncolumns;
        l->is[c] = at >= grid->ncells && grid->ncells ? UNKNOWN : SHOWN;
    }
}

/* Makes the table fit `limit`: first the gaps are narrower, then columns without a known value are
 * left out, then the text columns are narrower, then more columns are left out. What is left of a
 * table is shortened only if it is a single column. */
static void fit(const struct pw_grid *grid, struct layout *l, size_t limit)
{
    l->gap = 2;
    if (total_width(grid, l) > limit)
        l->gap = 1;
    if (total_width(grid, l) > limit)
        hide_unknown(grid, l);
    for (size_t c; total_width(grid, l) > limit;) {
        if ((c = widest(grid, l, 1)) < grid->ncolumns)
            l->widths[c]--;
        else if ((c = least_needed(grid, l)) > 0)
            l->is[c] = TOO_WIDE;
        else if (l->widths[0] > 1)
            l->widths[0]--;
        else
            break;
    }
}

/* A line that is being printed. Spaces are printed only when text follows, so that no line ends
 * with a space. */
struct line {
    FILE *out;
    size_t spaces;
};

static void put_text(struct line *line, const char *text, size_t bytes)
{
    size_t solid = bytes;
    while (solid && text[solid - 1] == ' ')
        solid--;
    if (solid)
        fprintf(line->out, "%*s%.*s", (int)line->spaces, "", (int)solid, text);
    line->spaces = (solid ? 0 : line->spaces) + bytes - solid;
}

static void end_line(struct line *line)
{
    fputc('\n', line->out);
    line->spaces = 0;
}

/* Prints a cell. Text that is too long is shortened in the middle, because names of hosts differ at
 * both ends. */
static void put_cell(struct line *line, const char *text, size_t bytes, size_t width, int left)
{
    char whole[CELL_BYTES];
    snprintf(whole, sizeof(whole), "%.*s", (int)bytes, text);
    size_t columns = pw_names_columns(whole), pad = columns < width ? width - columns : 0;
    line->spaces += left ? 0 : pad;
    if (columns > width && width > 4) {
        size_t tail = pw_names_offset(whole, columns - (width - 2) / 2);
        put_text(line, whole, pw_names_offset(whole, (width - 2 + 1) / 2));
        put_text(line, "..", 2);
        put_text(line, whole + tail, strlen(whole + tail));
    } else {
        put_text(line, whole, pw_names_offset(whole, width));
    }
    line->spaces += left ? pad : 0;
}

static void print_titles(const struct pw_grid *grid, const struct pw_page *page,
                         const struct layout *l)
{
    struct line out = {page->out, 0};
    int two = 0;
    for (size_t c = 0; c < grid->ncolumns; c++)
        two |= l->is[c] == SHOWN && strchr(grid->columns[c].title, '\n') != NULL;
    for (int line = !two; line < 2; line++) {
        for (size_t c = 0; c < grid->ncolumns; c++) {
            size_t length;
            const char *title = title_line(grid->columns[c].title, line, &length);
            if (l->is[c] != SHOWN)
                continue;
            out.spaces += c ? l->gap : INDENT;
            put_cell(&out, title, length, l->widths[c], grid->columns[c].kind == PW_GRID_TEXT);
        }
        end_line(&out);
    }
}

/* Names the columns that did not fit. */
static int print_left_out(const struct pw_grid *grid, const struct pw_page *page,
                          const struct layout *l)
{
    char names[CELL_BYTES];
    struct pw_sentence s = pw_sentence_on(names, sizeof(names));
    size_t n = 0;
    for (size_t c = 0; c < grid->ncolumns; c++) {
        const char *title = grid->columns[c].title, *second = strchr(title, '\n');
        if (l->is[c] != TOO_WIDE)
            continue;
        pw_sentence_add(&s, "%s%.*s", n++ ? ", " : "",
                        (int)(second ? (size_t)(second - title) : strlen(title)), title);
        pw_sentence_add(&s, "%s%s", second ? " " : "", second ? second + 1 : "");
    }
    return n ? pw_page_print(page, INDENT, 2 * INDENT, "Too wide for this page: %s.", names) : 0;
}

static int print_cells(const struct pw_grid *grid, const struct pw_page *page,
                       const struct layout *l)
{
    const size_t n = grid->ncolumns;
    struct line out = {page->out, 0};
    for (size_t i = 0; i < grid->ncells; i++) {
        size_t c = i % n, row = i / n;
        if (l->is[c] == SHOWN) {
            out.spaces += c ? l->gap : INDENT;
            put_cell(&out, grid->cells[i], CELL_BYTES, l->widths[c],
                     grid->columns[c].kind == PW_GRID_TEXT);
        }
        if (c < n - 1)
            continue;
        end_line(&out);
        if (row < grid->nnotes && grid->notes[row] &&
            pw_page_print(page, 2 * INDENT, 3 * INDENT, "%s", grid->notes[row]))
            return -ENOMEM;
    }
    return 0;
}

int pw_grid_print(const struct pw_grid *grid, const struct pw_page *page)
{
    struct layout layout = {.gap = 2};
    if (grid->error)
        return grid->error;
    natural_widths(grid, layout.widths);
    fit(grid, &layout, page->width);
    print_titles(grid, page, &layout);
    int err = print_cells(grid, page, &layout);
    return err ? err : print_left_out(grid, page, &layout);
}
