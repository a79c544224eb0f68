/* A table of texts that become a dataset of strings: rows are made as they are named, in any order,
 * and a text may come in pieces. Called by rankfile.c for /strings and for call stacks. Tool code;
 * texts come from records and may hold any bytes. */
#ifndef PW_RANK_FILE_TEXTS_H
#define PW_RANK_FILE_TEXTS_H

#include <hdf5.h>
#include <stdint.h>

#include "rank/file/budget.h"

/* Rows and bytes past these are refused. */
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

/* Another text for a row that has one; cut at PW_LONGEST_TEXT. */
void pw_texts_replace(struct pw_texts *texts, struct pw_budget *budget, uint32_t row,
                      const char *text);

/* The text of `row`, "" when there is none. */
const char *pw_texts_borrow(const struct pw_texts *texts, uint32_t row);

/* Writes dataset `path` unless there are no rows. 0 or -errno. */
int pw_texts_write(const struct pw_texts *texts, hid_t file, const char *path);

void pw_texts_fini(struct pw_texts *texts);

#endif
