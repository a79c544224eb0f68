/* Reads a file of comma-separated values row by row; see csvfile.h. */
#include "import/csvfile.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/safefile.h"

struct reading {
    FILE *in;
    char head[PW_CSV_ROW], text[PW_CSV_ROW];
    struct pw_csv_row row;
};

/* The next row, whose line breaks in quotes are kept. 1: there is one, 0: the end, or -EINVAL. */
static int next_line(FILE *in, char *out)
{
    size_t n = 0;
    int quoted = 0;
    for (int c; (c = getc(in)) != EOF;) {
        if (c == '\n' && !quoted) {
            out[n] = '\0';
            return 1;
        }
        quoted ^= c == '"';
        if (n + 1 == PW_CSV_ROW)
            return -EINVAL;
        out[n++] = c ? (char)c : ' ';
    }
    out[n] = '\0';
    return n > 0;
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

static int read_rows(struct reading *r, int (*take)(void *context, const struct pw_csv_row *row),
                     void *context)
{
    int more = next_line(r->in, r->head), err = 0;
    char *head = r->head;
    if (more > 0 && memcmp(head, "\xef\xbb\xbf", 3) == 0)
        head += 3; /* the mark of UTF-8 */
    r->row.n = more > 0 ? split(head, r->row.names) : 0;
    while (!err && more > 0 && (more = next_line(r->in, r->text)) > 0) {
        size_t n = split(r->text, r->row.cells);
        for (; n < r->row.n; n++)
            r->row.cells[n] = "";
        err = take(context, &r->row);
    }
    return err ? err : more < 0 ? more : ferror(r->in) ? -EIO : 0;
}

int pw_csv_read(const char *path, int (*take)(void *context, const struct pw_csv_row *row),
                void *context)
{
    struct reading *r = malloc(sizeof(*r));
    if (!r)
        return -ENOMEM;
    r->in = pw_fopen_regular(path);
    int err = r->in ? read_rows(r, take, context) : -errno;
    if (r->in)
        fclose(r->in);
    free(r);
    return err;
}
