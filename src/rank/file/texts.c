/* Gathers texts; see texts.h. */
#include "rank/file/texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/h5/h5writer.h"
#include "core/text.h"

struct pw_text {
    uint32_t total;
    char bytes[]; /* [total + 1] */
};

static int make_row(struct pw_texts *texts, struct pw_budget *budget, uint32_t row)
{
    if (row >= PW_MOST_TEXTS)
        return -ERANGE;
    struct pw_text **rows =
        pw_budget_grow(budget, texts->rows, sizeof(*rows), row, &texts->capacity);
    if (!rows)
        return -ENOMEM;
    texts->rows = rows;
    if (row >= texts->n)
        texts->n = row + 1;
    return 0;
}

void pw_texts_add(struct pw_texts *texts, struct pw_budget *budget,
                  const struct pw_text_piece *piece)
{
    const uint32_t total = piece->total, offset = piece->offset;
    if (total > PW_LONGEST_TEXT || make_row(texts, budget, piece->row))
        return;
    struct pw_text **text = &texts->rows[piece->row];
    if (!*text && pw_budget_take(budget, (int64_t)sizeof(**text) + total + 1)) {
        *text = calloc(1, sizeof(**text) + total + 1);
        if (*text)
            (*text)->total = total;
    }
    if (!*text || offset > (*text)->total)
        return;
    uint32_t left = (*text)->total - offset;
    memcpy((*text)->bytes + offset, piece->bytes, piece->length < left ? piece->length : left);
}

void pw_texts_replace(struct pw_texts *texts, struct pw_budget *budget, uint32_t row,
                      const char *text)
{
    struct pw_text *before = row < texts->n ? texts->rows[row] : NULL;
    uint32_t total = (uint32_t)strnlen(text, PW_LONGEST_TEXT);
    if (!before)
        return;
    texts->rows[row] = NULL;
    pw_texts_add(texts, budget, &(struct pw_text_piece){row, total, 0, total, text});
    if (!texts->rows[row]) {
        texts->rows[row] = before;
        return;
    }
    pw_budget_give(budget, (int64_t)sizeof(*before) + before->total + 1);
    free(before);
}

const char *pw_texts_borrow(const struct pw_texts *texts, uint32_t row)
{
    const struct pw_text *text = row < texts->n ? texts->rows[row] : NULL;
    return text ? text->bytes : "";
}

int pw_texts_write(const struct pw_texts *texts, hid_t file, const char *path)
{
    if (!texts->n)
        return 0;
    const char **rows = calloc(texts->n, sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    /* Names from the program may be any bytes; those in the file are valid UTF-8. */
    for (uint32_t i = 0; i < texts->n; i++) {
        if (texts->rows[i])
            pw_utf8_repair(texts->rows[i]->bytes, strlen(texts->rows[i]->bytes));
        rows[i] = pw_texts_borrow(texts, i);
    }
    int err = pw_h5_write_strings(file, path, rows, texts->n);
    free(rows);
    return err;
}

void pw_texts_fini(struct pw_texts *texts)
{
    for (uint32_t i = 0; i < texts->n; i++)
        free(texts->rows[i]);
    free(texts->rows);
}
