/* Checked reads of compound tables; see h5reader.h. */
#include "core/h5reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/h5types.h"

int pw_h5_open(const char *path, hid_t *out)
{
    if (access(path, R_OK) != 0)
        return -errno;
    if (H5Fis_hdf5(path) <= 0)
        return -EINVAL;
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0)
        return -EINVAL;
    *out = file;
    return 0;
}

/* True when every group on the way to `path` and the dataset itself is a hard link: a soft or
 * external link could lead out of the file. */
static int is_own_object(hid_t file, const char *path)
{
    char prefix[128];
    size_t length = strlen(path);
    if (length >= sizeof(prefix))
        return 0;
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(prefix, path, i);
        prefix[i] = '\0';
        H5L_info_t link;
        if (H5Lexists(file, prefix, H5P_DEFAULT) <= 0 ||
            H5Lget_info(file, prefix, &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD)
            return 0;
    }
    return 1;
}

static int open_dataset(hid_t file, const char *path, H5T_class_t want, hid_t *out)
{
    if (!is_own_object(file, path))
        return -ENOENT;
    hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    if (dataset < 0)
        return -EINVAL;
    hid_t type = H5Dget_type(dataset);
    H5T_class_t got = H5Tget_class(type);
    H5Tclose(type);
    if (got != want) {
        H5Dclose(dataset);
        return -EINVAL;
    }
    *out = dataset;
    return 0;
}

static int dataset_extent(hid_t dataset, hsize_t dims[2])
{
    hsize_t found[2] = {0, 1};
    hid_t space = H5Dget_space(dataset);
    int rank = H5Sget_simple_extent_ndims(space);
    if (rank == 1 || rank == 2)
        H5Sget_simple_extent_dims(space, found, NULL);
    H5Sclose(space);
    if (rank != 1 && rank != 2)
        return -EINVAL;
    dims[0] = found[0];
    dims[1] = found[1];
    return 0;
}

int pw_h5_open_table(hid_t file, int table, hid_t *out, hsize_t dims[2])
{
    hid_t dataset;
    int err = open_dataset(file, pw_table_borrow(table)->path, H5T_COMPOUND, &dataset);
    if (err)
        return err;
    err = dataset_extent(dataset, dims);
    if (err)
        H5Dclose(dataset);
    else
        *out = dataset;
    return err;
}

int pw_h5_extent(hid_t file, int table, hsize_t dims[2])
{
    hid_t dataset;
    int err = pw_h5_open_table(file, table, &dataset, dims);
    if (!err)
        H5Dclose(dataset);
    return err;
}

static int read_selection(hid_t dataset, int table, hid_t memory_space, hid_t file_space,
                          void *rows)
{
    hid_t type = pw_h5_memory_type(pw_table_borrow(table));
    herr_t got = H5Dread(dataset, type, memory_space, file_space, H5P_DEFAULT, rows);
    H5Tclose(type);
    return got < 0 ? -EIO : 0;
}

int pw_h5_read_rows(hid_t file, int table, hsize_t first, size_t count, void *rows)
{
    const struct pw_table *info = pw_table_borrow(table);
    hid_t dataset;
    int err = open_dataset(file, info->path, H5T_COMPOUND, &dataset);
    if (err)
        return err;

    hsize_t dims[2], n = count;
    err = dataset_extent(dataset, dims);
    if (!err && (dims[1] != 1 || first > dims[0] || n > dims[0] - first))
        err = -ERANGE;
    if (!err && n) {
        memset(rows, 0, count * info->row_size);
        hid_t file_space = H5Dget_space(dataset), memory_space = H5Screate_simple(1, &n, NULL);
        H5Sselect_hyperslab(file_space, H5S_SELECT_SET, &first, NULL, &n, NULL);
        err = read_selection(dataset, table, memory_space, file_space, rows);
        H5Sclose(memory_space);
        H5Sclose(file_space);
    }
    H5Dclose(dataset);
    return err;
}

int pw_h5_read_all(hid_t file, int table, void **rows, size_t *count)
{
    const struct pw_table *info = pw_table_borrow(table);
    hid_t dataset;
    int err = open_dataset(file, info->path, H5T_COMPOUND, &dataset);
    if (err)
        return err;

    hsize_t dims[2];
    void *buffer = NULL;
    size_t n = 0;
    err = dataset_extent(dataset, dims);
    if (!err && dims[0] && dims[1] > ((hsize_t)1 << 31) / dims[0])
        err = -ENOMEM;
    if (!err && dims[0] && dims[1]) {
        n = (size_t)(dims[0] * dims[1]);
        buffer = calloc(n, info->row_size);
        err = buffer ? read_selection(dataset, table, H5S_ALL, H5S_ALL, buffer) : -ENOMEM;
    }
    H5Dclose(dataset);
    if (err) {
        free(buffer);
        return err;
    }
    *rows = buffer;
    *count = n;
    return 0;
}

/* One allocation: the pointers, then the bytes they point to. */
static int pack_strings(char **from, size_t n, char ***strings)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += from[i] ? strlen(from[i]) + 1 : 1;
    char **to = malloc(n * sizeof(*to) + bytes + 1);
    if (!to)
        return -ENOMEM;
    char *next = (char *)(to + n);
    for (size_t i = 0; i < n; i++) {
        const char *text = from[i] ? from[i] : "";
        to[i] = next;
        next = stpcpy(next, text) + 1;
    }
    *strings = to;
    return 0;
}

int pw_h5_read_strings(hid_t file, const char *path, char ***strings, size_t *count)
{
    hid_t dataset;
    int err = open_dataset(file, path, H5T_STRING, &dataset);
    if (err)
        return err;

    hsize_t dims[2];
    hid_t stored = H5Dget_type(dataset), space = H5Dget_space(dataset), type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    err = dataset_extent(dataset, dims);
    if (!err && (dims[1] != 1 || dims[0] > 1 << 22 || !H5Tis_variable_str(stored)))
        err = -EINVAL;
    char **raw = err ? NULL : calloc(dims[0] + 1, sizeof(*raw));
    if (!err && !raw)
        err = -ENOMEM;
    if (!err && dims[0] && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, raw) < 0)
        err = -EIO;
    if (!err) {
        err = pack_strings(raw, (size_t)dims[0], strings);
        *count = err ? *count : (size_t)dims[0];
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, raw);
    }
    free(raw);
    H5Tclose(type);
    H5Sclose(space);
    H5Tclose(stored);
    H5Dclose(dataset);
    return err;
}
