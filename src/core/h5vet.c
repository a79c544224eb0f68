/* Judges datasets of files that may lie; see h5vet.h. */
#include "core/h5vet.h"

#include <errno.h>

enum {
    MOST_CHUNK_BYTES = 1 << 26,
    MOST_ELEMENT_BYTES = 1 << 15, /* h5reader.c converts them in twice that */
    FREE_BYTES = 1 << 20, /* so much may be made up: asking takes longer than reading it */
    /* Deflate makes at most 1032 bytes of one; rows in memory have padding, and fields that an
     * older file lacks. */
    MOST_GROWTH = 2048,
};

/* Once each: a deflate of a deflate would grow a million times. */
static int are_filters_known(hid_t properties)
{
    int n = H5Pget_nfilters(properties), seen = 0;
    for (int i = 0; i < n; i++) {
        unsigned flags, config;
        size_t values = 0;
        H5Z_filter_t filter =
            H5Pget_filter2(properties, (unsigned)i, &flags, &values, NULL, 0, NULL, &config);
        if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE &&
            filter != H5Z_FILTER_FLETCHER32)
            return 0;
        if (seen & 1 << filter)
            return 0;
        seen |= 1 << filter;
    }
    return n >= 0;
}

static int are_chunks_small(hid_t properties, size_t element)
{
    hsize_t dims[2] = {0, 1};
    int rank = H5Pget_chunk(properties, 2, dims);
    return (rank == 1 || rank == 2) && dims[0] && dims[1] && dims[0] <= MOST_CHUNK_BYTES &&
           dims[1] <= MOST_CHUNK_BYTES / dims[0] && dims[0] * dims[1] <= MOST_CHUNK_BYTES / element;
}

static int is_layout_plain(hid_t properties, size_t element)
{
    switch (H5Pget_layout(properties)) {
    case H5D_COMPACT:
        return 1;
    case H5D_CONTIGUOUS:
        return H5Pget_external_count(properties) == 0;
    case H5D_CHUNKED:
        return are_chunks_small(properties, element) && are_filters_known(properties);
    default: /* virtual: made of datasets of other files */
        return 0;
    }
}

int pw_h5_vet_storage(hid_t dataset)
{
    hid_t properties = H5Dget_create_plist(dataset), type = H5Dget_type(dataset);
    size_t element = type >= 0 ? H5Tget_size(type) : 0;
    int ok = properties >= 0 && element > 0 && element <= MOST_ELEMENT_BYTES &&
             is_layout_plain(properties, element);
    if (type >= 0)
        H5Tclose(type);
    if (properties >= 0)
        H5Pclose(properties);
    return ok ? 0 : -EINVAL;
}

int pw_h5_vet_rows(hid_t file, hid_t dataset, uint64_t count, size_t row_size)
{
    if (count <= FREE_BYTES / row_size)
        return 0;
    hsize_t whole = 0, stored = H5Dget_storage_size(dataset);
    if (H5Fget_filesize(file, &whole) < 0)
        return -EINVAL;
    stored = stored < whole ? stored : whole;
    return count / MOST_GROWTH <= stored / row_size ? 0 : -EINVAL;
}
