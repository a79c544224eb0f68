/* A table of texts that is written as a dataset of strings. Rows are created when they are first
 * set, in any order, and a text may come in pieces. Called by rankfile.c for /strings and for call
 * stacks. Tool code; texts come from records and may hold any bytes. */
#ifndef PW_RANK_FILE_TEXTS_H
#define PW_RANK_FILE_TEXTS_H

#include <hdf5.h>
#include <stdint.h>

#include "rank/file/budget.h"

/* Limits; further rows and bytes are refused. */
enum { PW_MOST_TEXTS = 1 << 20, PW_LONGEST_TEXT = 8192 };

struct pw_text;

struct pw_texts {
    struct pw_text **rows;
    uint32_t n, capacity;
};

/* Bytes [offset, offset + length) of the text of `row`, which is `total` bytes long. */
struct pw_text_piece {
    uint32_t row, total, offset, length;
    const char *bytes;
};

/* Makes the row, if it is new, and copies the piece; bytes past `total` are ignored. */
void pw_texts_add(struct pw_texts *texts, struct pw_budget *budget,
                  const struct pw_text_piece *piece);

/* Replaces the text of a row; cuts it at PW_LONGEST_TEXT bytes. */
void pw_texts_replace(struct pw_texts *texts, struct pw_budget *budget, uint32_t row,
                      const char *text);

/* Returns the text of `row`, "" when there is none. */
const char *pw_texts_borrow(const struct pw_texts *texts, uint32_t row);

/* Writes the dataset `path` if there are rows. Returns 0 or -errno. */
int pw_texts_write(const struct pw_texts *texts, hid_t file, const char *path);

void pw_texts_fini(struct pw_texts *texts);

#endif
