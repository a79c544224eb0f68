/* Edits of what is in the tables; see edits.h. */
#include <stdlib.h>
#include <string.h>

#include "edits.h"

enum { MOST_ROWS = 1 << 16, MOST_ROW_BYTES = 1 << 12 };

/* A 1-D or 2-D table in memory, as the file has it. */
struct content {
    hid_t dataset, type;
    size_t rows, row_size;
    char *bytes;
};

static size_t count_rows(hid_t dataset)
{
    hid_t space = H5Dget_space(dataset);
    hssize_t n = H5Sget_simple_extent_npoints(space);
    H5Sclose(space);
    return n > 0 && n <= MOST_ROWS ? (size_t)n : 0;
}

/* Pointers are not for changing. */
static int has_pointers(hid_t type)
{
    int found = H5Tdetect_class(type, H5T_VLEN) > 0;
    for (int i = 0; i < H5Tget_nmembers(type); i++) {
        hid_t member = H5Tget_member_type(type, (unsigned)i);
        found |= H5Tis_variable_str(member) > 0;
        H5Tclose(member);
    }
    return found;
}

static int load(hid_t file, struct dice *dice, struct content *c)
{
    *c = (struct content){.dataset = pick_dataset(file, dice), .type = -1};
    if (c->dataset < 0)
        return 0;
    c->type = H5Dget_type(c->dataset);
    c->row_size = H5Tget_size(c->type);
    c->rows = count_rows(c->dataset);
    if (H5Tget_class(c->type) != H5T_COMPOUND || !c->rows || c->row_size > MOST_ROW_BYTES ||
        has_pointers(c->type) || !is_readable(c->dataset))
        return 0;
    c->bytes = calloc(c->rows, c->row_size);
    return c->bytes && H5Dread(c->dataset, c->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, c->bytes) >= 0;
}

static void store(struct content *c, int changed)
{
    if (changed)
        H5Dwrite(c->dataset, c->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, c->bytes);
    free(c->bytes);
    if (c->type >= 0)
        H5Tclose(c->type);
    if (c->dataset >= 0)
        H5Dclose(c->dataset);
}

/* Where a member is in a row. */
static char *pick_member(const struct content *c, struct dice *dice, size_t *size)
{
    int members = H5Tget_nmembers(c->type);
    unsigned member = (unsigned)dice_below(dice, (size_t)members);
    hid_t type = H5Tget_member_type(c->type, member);
    *size = H5Tget_size(type);
    H5Tclose(type);
    return c->bytes + H5Tget_member_offset(c->type, member);
}

void edit_value(hid_t file, struct dice *dice)
{
    struct content c;
    int ok = load(file, dice, &c);
    for (size_t n = ok ? 1 + dice_below(dice, 3) : 0; n; n--) {
        size_t size;
        char *at = pick_member(&c, dice, &size);
        pick_bytes(dice, at + dice_below(dice, c.rows) * c.row_size, size);
    }
    store(&c, ok);
}

/* One member of many rows: all alike, or each another. */
void edit_column(hid_t file, struct dice *dice)
{
    struct content c;
    int ok = load(file, dice, &c);
    if (ok) {
        size_t size, first = dice_below(dice, c.rows);
        char *at = pick_member(&c, dice, &size), value[MOST_ROW_BYTES] = {0};
        int alike = dice_below(dice, 2) != 0;
        pick_bytes(dice, value, size);
        for (size_t i = first; i < c.rows; i++)
            if (alike)
                memcpy(at + i * c.row_size, value, size);
            else
                pick_bytes(dice, at + i * c.row_size, size);
    }
    store(&c, ok);
}

void edit_copy_row(hid_t file, struct dice *dice)
{
    struct content c;
    int ok = load(file, dice, &c);
    for (size_t n = ok ? 1 + dice_below(dice, 4) : 0; n; n--)
        memmove(c.bytes + dice_below(dice, c.rows) * c.row_size,
                c.bytes + dice_below(dice, c.rows) * c.row_size, c.row_size);
    store(&c, ok);
}

void edit_texts(hid_t file, struct dice *dice)
{
    static const char *const texts[] = {"",           "data",
                                        "forward",    "backward",
                                        "allreduce",  "optimizer",
                                        "step",       "\x1b[31mred",
                                        "\xff\xfe",   "a\nb",
                                        "%s%n",       "\342\200\256backwards",
                                        "\"quoted\\", "longer than most of them are likely to be"};
    hid_t dataset = H5Dopen2(file, dice_below(dice, 4) ? "/strings" : "/stacks", H5P_DEFAULT);
    if (dataset < 0)
        return;
    size_t rows = count_rows(dataset);
    const char **values = calloc(rows + 1, sizeof(*values));
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    for (size_t i = 0; i < rows; i++)
        values[i] = texts[dice_below(dice, sizeof(texts) / sizeof(texts[0]))];
    H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Tclose(type);
    free(values);
    H5Dclose(dataset);
}

/* A chunk whose bytes are damaged, shorter or longer than they should be, or said to be stored with
 * other filters. */
void edit_raw_chunk(hid_t file, struct dice *dice)
{
    enum { MOST = 1 << 16 };
    hid_t dataset = pick_dataset(file, dice);
    hsize_t first[2] = {0, 0}, size = 0;
    uint32_t mask = 0;
    if (dataset < 0)
        return;
    if (H5Dget_chunk_storage_size(dataset, first, &size) >= 0 && size > 0 && size <= MOST) {
        char *bytes = calloc(2, size);
        H5Dread_chunk(dataset, H5P_DEFAULT, first, &mask, bytes);
        for (size_t n = 1 + dice_below(dice, 3); n; n--)
            bytes[dice_below(dice, size)] = (char)dice_bits(dice);
        size_t stored = dice_below(dice, 2) ? size : 1 + dice_below(dice, 2 * size);
        mask ^= dice_below(dice, 4) ? 0 : (uint32_t)dice_below(dice, 8);
        H5Dwrite_chunk(dataset, H5P_DEFAULT, mask, first, stored, bytes);
        free(bytes);
    }
    H5Dclose(dataset);
}
