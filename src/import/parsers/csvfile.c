/* Reads a file of comma-separated values row by row; see csvfile.h. */
#include "import/parsers/csvfile.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/readlimit.h"
#include "core/safefile.h"

struct line {
    char *text;
    size_t size;
};

struct reading {
    FILE *in;
    struct line head, line;
    struct pw_csv_row row;
    const char *column; /* that the head must have */
};

static int grow(struct line *line)
{
    enum { FIRST = 1 << 12 };
    const size_t size = line->size ? 2 * line->size : FIRST;
    char *more = size > PW_CSV_ROW ? NULL : realloc(line->text, size);
    if (!more)
        return size > PW_CSV_ROW ? -EINVAL : -ENOMEM;
    line->text = more;
    line->size = size;
    return 0;
}

/* The next row, whose line breaks in quotes are kept. 1: there is one, 0: the end, or -errno;
 * -ENODATA: the file ends in it. */
static int next_line(FILE *in, struct line *out)
{
    size_t n = 0;
    int quoted = 0, c, err = 0;
    while (!err && (c = getc(in)) != EOF && (c != '\n' || quoted)) {
        quoted ^= c == '"';
        err = n + 1 >= out->size ? grow(out) : 0;
        if (!err)
            out->text[n++] = c ? (char)c : ' ';
    }
    if (err || (!out->size && (err = grow(out))))
        return err;
    out->text[n] = '\0';
    return c == '\n' ? 1 : n > 0 ? -ENODATA : 0;
}

static char *trim(char *cell)
{
    while (isspace((unsigned char)*cell))
        cell++;
    for (size_t n = strlen(cell); n && isspace((unsigned char)cell[n - 1]); n--)
        cell[n - 1] = '\0';
    return cell;
}

/* Cuts the text into cells in place. How many there are. */
static size_t split(char *text, const char **cells)
{
    size_t n = 0;
    for (char *at = text; at && n < PW_CSV_COLUMNS; n++) {
        char *cell = at, *to = at;
        int quoted = 0;
        for (; *at && (*at != ',' || quoted); at++) {
            if (*at == '"' && quoted && at[1] == '"')
                *to++ = *at++; /* a quote that is doubled is one */
            else if (*at == '"')
                quoted = !quoted;
            else
                *to++ = *at;
        }
        at = *at ? at + 1 : NULL;
        *to = '\0';
        cells[n] = trim(cell);
    }
    return n;
}

const char *pw_csv_cell(const struct pw_csv_row *row, const char *name)
{
    for (size_t i = 0; i < row->n; i++)
        if (strcmp(row->names[i], name) == 0)
            return row->cells[i];
    return "";
}

static int has_column(const struct pw_csv_row *head, const char *name)
{
    for (size_t i = 0; i < head->n; i++)
        if (strcmp(head->names[i], name) == 0)
            return 1;
    return 0;
}

static int read_rows(struct reading *r, int (*take)(void *context, const struct pw_csv_row *row),
                     void *context)
{
    int more = next_line(r->in, &r->head), err = 0;
    char *head = r->head.text;
    if (more > 0 && strncmp(head, "\xef\xbb\xbf", 3) == 0)
        head += 3; /* the mark of UTF-8 */
    r->row.n = more > 0 ? split(head, r->row.names) : 0;
    if (r->row.n == PW_CSV_COLUMNS)
        return -EINVAL;
    if (!more)
        return -ENODATA;
    if (more > 0 && !has_column(&r->row, r->column))
        return -ENOTSUP;
    while (!err && more > 0 && (more = next_line(r->in, &r->line)) > 0) {
        size_t n = split(r->line.text, r->row.cells);
        for (; n < r->row.n; n++)
            r->row.cells[n] = "";
        err = take(context, &r->row);
    }
    return err ? err : more < 0 ? more : ferror(r->in) ? -EIO : 0;
}

const char *pw_csv_error(int err)
{
    return err == -EINVAL    ? "a row is too long"
           : err == -ENODATA ? "it is empty, or ends in the middle of a row, which is left out"
           : err == -ENOTSUP ? "its head has other columns"
                             : pw_readlimit_error(err);
}

int pw_csv_read(const char *path, const char *column,
                int (*take)(void *context, const struct pw_csv_row *row), void *context)
{
    struct reading *r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    r->column = column;
    r->in = pw_fopen_regular(path);
    int err = r->in ? read_rows(r, take, context) : -errno;
    if (r->in)
        fclose(r->in);
    free(r->head.text);
    free(r->line.text);
    free(r);
    return err;
}
