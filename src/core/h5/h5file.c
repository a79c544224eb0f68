/* Chooses between the contents and the HDF5 library; see h5file.h. */
#include "core/h5/h5file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/h5/h5contents.h"
#include "core/h5/h5reader.h"
#include "core/h5/h5types.h"
#include "core/safefile.h"

struct pw_h5_file {
    struct pw_h5_types *types;
    struct pw_h5_contents *contents; /* NULL: read with the library */
    int fd;                          /* of a file with contents; otherwise -1 */
    int is_borrowed;                 /* 1: `fd` is the caller's */
    hid_t hdf5;                      /* of a file without contents; otherwise -1 */
    char *path;
};

static void close_fd(struct pw_h5_file *f)
{
    if (f->fd >= 0 && !f->is_borrowed)
        close(f->fd);
    f->fd = -1;
}

/* Makes a file of `fd`, which belongs to it unless it is borrowed. */
static int make(struct pw_h5_file file, const char *path, struct pw_h5_file **out)
{
    struct pw_h5_file *f = malloc(sizeof(*f));
    if (!f) {
        close_fd(&file);
        return -ENOMEM;
    }
    *f = file;
    f->path = strdup(path);
    int err = f->path ? 0 : -ENOMEM;
    if (!err && pw_h5_contents_read(f->fd, &f->contents)) {
        close_fd(f);
        err = pw_h5_open(path, &f->hdf5);
    }
    if (err)
        pw_h5_file_close(f);
    else
        *out = f;
    return err;
}

int pw_h5_file_open(struct pw_h5_types *types, const char *path, struct pw_h5_file **out)
{
    const struct pw_h5_file file = {.types = types, .fd = pw_open_regular(path, 0), .hdf5 = -1};
    return file.fd < 0 ? file.fd : make(file, path, out);
}

int pw_h5_file_open_at(struct pw_h5_types *types, int fd, const char *path, struct pw_h5_file **out)
{
    const struct pw_h5_file file = {.types = types, .fd = fd, .is_borrowed = 1, .hdf5 = -1};
    return make(file, path, out);
}

void pw_h5_file_close(struct pw_h5_file *f)
{
    if (!f)
        return;
    close_fd(f);
    if (f->hdf5 >= 0)
        pw_h5_close(f->hdf5);
    pw_h5_contents_free(f->contents);
    free(f->path);
    free(f);
}

int pw_h5_file_text(const struct pw_h5_file *f, const char *name, char *value, size_t size)
{
    return f->contents ? pw_h5_contents_text(f->contents, name, value, size)
                       : pw_h5_get_text(f->hdf5, name, value, size);
}

int pw_h5_file_int(const struct pw_h5_file *f, const char *name, int64_t *value)
{
    return f->contents ? pw_h5_contents_int(f->contents, name, value)
                       : pw_h5_get_int(f->hdf5, name, value);
}

int pw_h5_file_check(const struct pw_h5_file *f, const char *format)
{
    char found[32];
    int64_t version;
    if (pw_h5_file_text(f, "format", found, sizeof(found)) || strcmp(found, format) != 0 ||
        pw_h5_file_int(f, "format_version", &version))
        return -EINVAL;
    return pw_format_version_check(version);
}

int pw_h5_file_place(const struct pw_h5_file *f, int table, struct pw_h5_place *out)
{
    struct pw_h5_place place;
    if (!f->contents)
        return pw_h5_place_find(f->types, f->hdf5, table, out);
    pw_h5_contents_place(f->contents, table, &place);
    if (place.rows) {
        const size_t bytes = place.nchunks * sizeof(*place.chunks);
        struct pw_h5_chunk *chunks = malloc(bytes);
        if (!chunks)
            return -ENOMEM;
        place.chunks = memcpy(chunks, place.chunks, bytes);
    }
    *out = place;
    return 0;
}

int pw_h5_file_rows(const struct pw_h5_file *f, int table, uint64_t *rows)
{
    struct pw_h5_place place;
    hsize_t dims[2];
    if (!f->contents) {
        const int err = pw_h5_extent(f->hdf5, table, dims);
        *rows = err ? 0 : dims[0];
        return err;
    }
    pw_h5_contents_place(f->contents, table, &place);
    *rows = place.rows;
    return 0;
}

int pw_h5_file_table(const struct pw_h5_file *f, const struct pw_h5_place *place,
                     struct pw_h5_table **out)
{
    return f->contents ? pw_h5_table_open_at(f->fd, place, out)
                       : pw_h5_table_open(f->path, place, out);
}

/* Reads all rows of the place. Padding between their fields is zero. */
static int read_place(const struct pw_h5_file *f, const struct pw_h5_place *place, void **rows)
{
    struct pw_h5_table *table;
    void *buffer = calloc((size_t)place->rows, pw_table_borrow(place->table)->row_size);
    int err = buffer ? pw_h5_file_table(f, place, &table) : -ENOMEM;
    if (!err) {
        err = pw_h5_table_read(table, 0, (size_t)place->rows, buffer);
        pw_h5_table_close(table);
    }
    if (err)
        free(buffer);
    else
        *rows = buffer;
    return err;
}

int pw_h5_file_read_all(const struct pw_h5_file *f, int table, void **rows, size_t *count)
{
    struct pw_h5_place place;
    if (!f->contents)
        return pw_h5_read_all(f->hdf5, table, rows, count);
    pw_h5_contents_place(f->contents, table, &place);
    if (!place.rows)
        return -ENOENT;
    const int err = place.rows > (uint64_t)1 << 31 ? -ENOMEM : read_place(f, &place, rows);
    *count = err ? *count : (size_t)place.rows;
    return err;
}

int pw_h5_file_read_cells(const struct pw_h5_file *f, int table, const size_t dims[2],
                          struct pw_cells *cells)
{
    void *rows = NULL;
    size_t n = 0;
    if (!f->contents)
        return pw_h5_read_cells(f->hdf5, table, dims, cells);
    int err = pw_h5_file_read_all(f, table, &rows, &n);
    err = err == -ENOENT ? 0 : err;
    if (!err && n && n != dims[0] * dims[1])
        err = -EINVAL;
    if (err)
        free(rows);
    else
        *cells = pw_cells_of_rows(table, rows, dims[0], dims[1]);
    return err;
}

int pw_h5_file_strings(const struct pw_h5_file *f, char ***strings, size_t *count)
{
    hid_t hdf5 = f->hdf5;
    int err = f->contents ? pw_h5_contents_strings(f->contents, f->fd, strings, count) : -EIO;
    if (!err || err == -ENOENT || err == -ENOMEM)
        return err;
    /* Without contents, or texts that another HDF5 has stored in another way. */
    err = f->contents ? pw_h5_open(f->path, &hdf5) : 0;
    err = err ? err : pw_h5_read_strings(hdf5, "/strings", strings, count);
    if (hdf5 >= 0 && hdf5 != f->hdf5)
        pw_h5_close(hdf5);
    return err;
}
