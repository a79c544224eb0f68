/* The mutator of the fuzz targets: opens an input as an HDF5 file in memory and changes its
 * contents. Sometimes, and always if the input is not an HDF5 file any more, libFuzzer changes
 * bytes instead. */
#include <stdio.h>
#include <string.h>

#include "core/h5/h5vet.h"
#include "core/tables.h"
#include "edits.h"
#include "fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

enum { MOST_EDITS = 4, BYTES_EVERY = 12, MOST_BYTES = 1 << 18 };

/* More entries, more often. */
static edit *const edits[] = {
    edit_value,  edit_value,     edit_value,     edit_value,   edit_value,
    edit_value,  edit_column,    edit_column,    edit_texts,   edit_copy_row,
    edit_extent, edit_type,      edit_type,      edit_replace, edit_link,
    edit_link,   edit_attribute, edit_attribute, edit_remove,  edit_raw_chunk,
};

const char *pick_path(struct dice *dice)
{
    size_t at = dice_below(dice, PW_TABLE_COUNT + 2);
    if (at >= PW_TABLE_COUNT)
        return at == PW_TABLE_COUNT ? "/strings" : "/stacks";
    return pw_table_borrow((int)at)->path;
}

hid_t pick_dataset(hid_t file, struct dice *dice)
{
    for (int tries = 0; tries < 8; tries++) {
        hid_t dataset = H5Dopen2(file, pick_path(dice), H5P_DEFAULT);
        if (dataset >= 0)
            return dataset;
    }
    return -1;
}

int is_readable(hid_t dataset)
{
    struct pw_h5_storage storage;
    hsize_t dims[2] = {0, 1};
    hid_t space = H5Dget_space(dataset);
    int rank = H5Sget_simple_extent_ndims(space);
    int ok = (rank == 1 || rank == 2) && H5Sget_simple_extent_dims(space, dims, NULL) == rank;
    H5Sclose(space);
    hid_t type = H5Dget_type(dataset);
    size_t element = H5Tget_size(type);
    H5Tclose(type);
    return ok && pw_h5_vet_storage(dataset, element, &storage) == 0 &&
           pw_h5_vet_chunks(dataset, &storage, (hsize_t[2]){0, 0}, dims) == 0;
}

/* Through a file: only closing one takes back the mark that it is open. */
static hid_t open_for_edits(char path[FUZZ_PATH], const uint8_t *data, size_t size)
{
    fuzz_put(path, "edited.h5", data, size);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, access);
    H5Pclose(access);
    return file;
}

static size_t read_back(const char *path, uint8_t *data, size_t most)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    size_t size = fread(data, 1, most, file);
    if (getc(file) != EOF)
        size = 0; /* too long */
    fclose(file);
    return size;
}

/* 0 when nothing came of it. */
static size_t edit_file(uint8_t *data, size_t size, size_t most, struct dice *dice)
{
    static uint8_t edited[MOST_BYTES];
    char path[FUZZ_PATH];
    hid_t file = open_for_edits(path, data, size);
    if (file < 0)
        return 0;
    size_t n = 1 + dice_below(dice, MOST_EDITS);
    for (size_t i = 0; i < n; i++)
        edits[dice_below(dice, sizeof(edits) / sizeof(edits[0]))](file, dice);
    H5Fclose(file);
    size_t got = read_back(path, edited, most < MOST_BYTES ? most : MOST_BYTES);
    memcpy(data, edited, got);
    return got;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    struct dice dice = {seed};
    size_t edited = 0;
    if (dice_below(&dice, BYTES_EVERY))
        edited = edit_file(data, size, most, &dice);
    return edited ? edited : LLVMFuzzerMutate(data, size, most);
}
