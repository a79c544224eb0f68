/* Edits of extents, types, layouts and filters; see edits.h. */
#include <string.h>

#include "core/tables.h"
#include "edits.h"

static const hsize_t extents[] = {0, 1, 2, 3, 64, 100, 5000, 1 << 20, 1ULL << 32, 1ULL << 60};

static hsize_t pick_extent(struct dice *dice)
{
    return extents[dice_below(dice, sizeof(extents) / sizeof(extents[0]))];
}

/* HDF5 would write, or visit, every chunk between the old extent and the new one. */
static int may_change(hid_t dataset)
{
    enum { MOST_ROWS = 10000 };
    hid_t space = H5Dget_space(dataset), properties = H5Dget_create_plist(dataset);
    hssize_t rows = H5Sget_simple_extent_npoints(space);
    H5D_alloc_time_t when = H5D_ALLOC_TIME_ERROR;
    H5Pget_alloc_time(properties, &when);
    H5Pclose(properties);
    H5Sclose(space);
    return rows >= 0 && rows <= MOST_ROWS && when == H5D_ALLOC_TIME_INCR;
}

void edit_extent(hid_t file, struct dice *dice)
{
    hid_t dataset = pick_dataset(file, dice);
    hsize_t dims[2] = {pick_extent(dice), dice_below(dice, 6)};
    if (dataset < 0)
        return;
    if (may_change(dataset))
        H5Dset_extent(dataset, dims);
    H5Dclose(dataset);
}

/* Some member of some row, or what none of them is. */
static hid_t pick_member_type(struct dice *dice)
{
    static const size_t sizes[] = {1, 3, 16, 64, 256, 5000, 1 << 20};
    hid_t type;
    switch (dice_below(dice, 9)) {
    case 0:
        return H5Tcopy(H5T_STD_I64BE);
    case 1:
        return H5Tcopy(H5T_NATIVE_UINT8);
    case 2:
        return H5Tcopy(H5T_IEEE_F32LE);
    case 3:
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    case 4:
        type = H5Tcopy(H5T_C_S1);
        H5Tset_size(type, sizes[dice_below(dice, sizeof(sizes) / sizeof(sizes[0]))]);
        H5Tset_strpad(type, (H5T_str_t)dice_below(dice, 3));
        return type;
    case 5:
        type = H5Tcopy(H5T_C_S1);
        H5Tset_size(type, H5T_VARIABLE);
        return type;
    case 6:
        return H5Tvlen_create(H5T_NATIVE_INT);
    case 7:
        type = H5Tenum_create(H5T_NATIVE_INT8);
        H5Tenum_insert(type, "one", "\1");
        return type;
    default:
        return H5Tcreate(H5T_OPAQUE, sizes[dice_below(dice, sizeof(sizes) / sizeof(sizes[0]))]);
    }
}

/* The table whose path is `path`, from `first` on, or -1: rank and cluster files both have /steps.
 */
static int find_table(const char *path, int first)
{
    for (int id = first; id < PW_TABLE_COUNT; id++)
        if (strcmp(pw_table_borrow(id)->path, path) == 0)
            return id;
    return -1;
}

/* Ours, but for a member that is of another type, or not there. */
static hid_t pick_row_type(const char *path, struct dice *dice)
{
    enum { MOST = 64 };
    hid_t members[MOST];
    size_t size = 0;
    int id = find_table(path, dice_below(dice, 2) ? PW_RANK_TABLE_COUNT : 0);
    if (id < 0 || pw_table_borrow(id)->nfields > MOST || dice_below(dice, 8) == 0)
        return pick_member_type(dice);
    const struct pw_table *table = pw_table_borrow(id);
    size_t odd = dice_below(dice, table->nfields), lacks = dice_below(dice, 3) == 0 ? odd : MOST;
    for (size_t i = 0; i < table->nfields; i++) {
        members[i] = i == odd ? pick_member_type(dice) : H5Tcopy(H5T_NATIVE_INT64);
        size += H5Tget_size(members[i]);
    }
    hid_t type = H5Tcreate(H5T_COMPOUND, size);
    for (size_t i = 0, offset = 0; i < table->nfields; i++) {
        if (i != lacks)
            H5Tinsert(type, table->fields()[i].name, offset, members[i]);
        offset += H5Tget_size(members[i]);
        H5Tclose(members[i]);
    }
    return type;
}

static hid_t pick_layout(int rank, const hsize_t *dims, struct dice *dice)
{
    static const hsize_t chunk_rows[] = {1, 7, 64, 4096, 1 << 20, 1 << 30};
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t chunk[3] = {chunk_rows[dice_below(dice, 6)], 1 + dice_below(dice, 5), 2};
    switch (dice_below(dice, 6)) {
    case 0:
        H5Pset_layout(properties, H5D_CONTIGUOUS);
        break;
    case 1:
        H5Pset_layout(properties, H5D_COMPACT);
        break;
    case 2:
        H5Pset_external(properties, dice_below(dice, 2) ? "/etc/passwd" : "rank-00001.h5", 0,
                        H5F_UNLIMITED);
        break;
    case 3: {
        hid_t space = H5Screate_simple(rank, dims, NULL);
        H5Pset_virtual(properties, space, "rank-00001.h5", "/steps", space);
        H5Sclose(space);
        break;
    }
    default:
        H5Pset_chunk(properties, rank, chunk);
        for (size_t n = dice_below(dice, 3); n; n--)
            if (dice_below(dice, 2))
                H5Pset_deflate(properties, 1);
            else
                H5Pset_shuffle(properties);
        if (dice_below(dice, 4) == 0)
            H5Pset_fletcher32(properties);
        break;
    }
    return properties;
}

static void replace(hid_t file, const char *path, hid_t type, struct dice *dice)
{
    hsize_t dims[3] = {pick_extent(dice), dice_below(dice, 5), 2}, most[3];
    int rank = dice_below(dice, 4) ? 1 : (int)dice_below(dice, 4);
    for (int i = 0; i < 3; i++)
        most[i] = H5S_UNLIMITED;
    hid_t layout = pick_layout(rank ? rank : 1, dims, dice), links = H5Pcreate(H5P_LINK_CREATE);
    int chunked = H5Pget_layout(layout) == H5D_CHUNKED;
    hid_t space = rank ? H5Screate_simple(rank, dims, chunked ? most : NULL)
                       : H5Screate(dice_below(dice, 2) ? H5S_SCALAR : H5S_NULL);
    H5Pset_create_intermediate_group(links, 1);
    H5Ldelete(file, path, H5P_DEFAULT);
    hid_t dataset = H5Dcreate2(file, path, type, space, links, layout, H5P_DEFAULT);
    if (dataset >= 0)
        H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(links);
    H5Pclose(layout);
}

/* An empty dataset of any shape in the place of one of ours. */
void edit_replace(hid_t file, struct dice *dice)
{
    const char *path = pick_path(dice);
    hid_t type = pick_row_type(path, dice);
    replace(file, path, type, dice);
    H5Tclose(type);
}

/* The rows that there are, converted to a type that lacks members, or has them otherwise. */
void edit_type(hid_t file, struct dice *dice)
{
    enum { MOST_ROWS = 1024, MOST_BYTES = 1 << 22 };
    static char rows[MOST_BYTES];
    const char *path = pick_path(dice);
    hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    if (dataset < 0)
        return;
    hid_t type = pick_row_type(path, dice), space = H5Dget_space(dataset);
    hssize_t n = H5Sget_simple_extent_npoints(space);
    size_t size = H5Tget_size(type);
    int got = n > 0 && n <= MOST_ROWS && is_readable(dataset) && size &&
              size <= MOST_BYTES / (size_t)n &&
              H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0;
    H5Dclose(dataset);
    if (got) {
        H5Ldelete(file, path, H5P_DEFAULT);
        dataset = H5Dcreate2(file, path, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows);
        if (dataset >= 0)
            H5Dclose(dataset);
    }
    H5Sclose(space);
    H5Tclose(type);
}
