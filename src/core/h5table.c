/* Streaming reads of one table; see h5table.h. */
#include "core/h5table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/h5reader.h"
#include "core/h5types.h"

enum { MOST_RUNS = 64 };

/* Fields that are side by side in the file and in the row struct. */
struct run {
    size_t from, to, size;
};

struct pw_h5_table {
    hid_t dataset, type; /* type: what is read, the file's own when it is packed */
    hsize_t rows;
    size_t row_size, packed_size;
    int packed;
    struct run runs[MOST_RUNS];
    size_t nruns;
    char *buffer; /* packed rows */
    size_t buffered;
};

static void find_runs(struct pw_h5_table *t, const struct pw_table *info)
{
    t->row_size = info->row_size;
    for (size_t i = 0; i < info->nfields; i++) {
        const struct pw_field *field = &info->fields()[i];
        struct run *last = t->nruns ? &t->runs[t->nruns - 1] : NULL;
        if (last && last->to + last->size == field->offset)
            last->size += field->size;
        else if (t->nruns < MOST_RUNS)
            t->runs[t->nruns++] = (struct run){t->packed_size, field->offset, field->size};
        t->packed_size += field->size;
    }
}

int pw_h5_table_open(hid_t file, int table, struct pw_h5_table **out)
{
    const struct pw_table *info = pw_table_borrow(table);
    hsize_t dims[2];
    int err = pw_h5_extent(file, table, dims); /* checks links, class and dimensions */
    if (err || dims[1] != 1)
        return err ? err : -EINVAL;
    struct pw_h5_table *t = calloc(1, sizeof(*t));
    if (!t)
        return -ENOMEM;
    t->rows = dims[0];
    t->dataset = H5Dopen2(file, info->path, H5P_DEFAULT);
    find_runs(t, info);
    hid_t stored = H5Dget_type(t->dataset), packed = pw_h5_file_type(info);
    t->packed = info->nfields <= MOST_RUNS && H5Tequal(stored, packed) > 0;
    t->type = t->packed ? stored : pw_h5_memory_type(info);
    if (!t->packed)
        H5Tclose(stored);
    H5Tclose(packed);
    *out = t;
    return 0;
}

hsize_t pw_h5_table_rows(const struct pw_h5_table *t)
{
    return t->rows;
}

static void unpack(const struct pw_h5_table *t, size_t count, char *rows)
{
    for (size_t i = 0; i < count; i++) {
        const char *from = t->buffer + i * t->packed_size;
        char *to = rows + i * t->row_size;
        for (size_t k = 0; k < t->nruns; k++)
            memcpy(to + t->runs[k].to, from + t->runs[k].from, t->runs[k].size);
    }
}

static int make_room(struct pw_h5_table *t, size_t count)
{
    if (!t->packed || count <= t->buffered)
        return 0;
    char *buffer = realloc(t->buffer, count * t->packed_size);
    if (!buffer)
        return -ENOMEM;
    t->buffer = buffer;
    t->buffered = count;
    return 0;
}

int pw_h5_table_read(struct pw_h5_table *t, hsize_t first, size_t count, void *rows)
{
    hsize_t n = count;
    if (first > t->rows || n > t->rows - first)
        return -ERANGE;
    if (make_room(t, count))
        return -ENOMEM;
    memset(rows, 0, count * t->row_size);
    if (!count)
        return 0;
    hid_t file_space = H5Dget_space(t->dataset), memory_space = H5Screate_simple(1, &n, NULL);
    H5Sselect_hyperslab(file_space, H5S_SELECT_SET, &first, NULL, &n, NULL);
    herr_t got = H5Dread(t->dataset, t->type, memory_space, file_space, H5P_DEFAULT,
                         t->packed ? t->buffer : rows);
    H5Sclose(memory_space);
    H5Sclose(file_space);
    if (got >= 0 && t->packed)
        unpack(t, count, rows);
    return got < 0 ? -EIO : 0;
}

void pw_h5_table_close(struct pw_h5_table *t)
{
    if (!t)
        return;
    H5Tclose(t->type);
    H5Dclose(t->dataset);
    free(t->buffer);
    free(t);
}
