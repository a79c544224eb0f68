/* Edits of attributes and links; see edits.h. */
#include <string.h>

#include "edits.h"

static const char *const attributes[] = {
    "format",      "format_version", "profwrap_version",   "rank",           "world_size",
    "local_rank",  "hostname",       "clock_domain",       "clock_sync",     "job_id",
    "pid",         "command",        "start_unix_ns",      "end_unix_ns",    "exit_code",
    "exit_signal", "complete",       "dropped_events",     "nranks",         "nhosts",
    "nsteps",      "steps_inferred", "clock_error_max_ns", "merge_processes"};

static void put(hid_t file, const char *name, hid_t type, hid_t space, const void *value)
{
    H5Adelete(file, name);
    hid_t attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0) {
        H5Awrite(attribute, type, value);
        H5Aclose(attribute);
    }
}

static int64_t get_number(hid_t file, const char *name)
{
    int64_t value = 0;
    hid_t attribute = H5Aopen(file, name, H5P_DEFAULT);
    if (attribute < 0)
        return 0;
    hid_t space = H5Aget_space(attribute);
    if (H5Sget_simple_extent_npoints(space) == 1)
        H5Aread(attribute, H5T_NATIVE_INT64, &value);
    H5Sclose(space);
    H5Aclose(attribute);
    return value;
}

static void put_number(hid_t file, const char *name, struct dice *dice)
{
    hid_t space = H5Screate(H5S_SCALAR);
    int64_t value = get_number(file, name);
    pick_bytes(dice, &value, sizeof(value));
    put(file, name, H5T_NATIVE_INT64, space, &value);
    H5Sclose(space);
}

static void put_text(hid_t file, const char *name, struct dice *dice)
{
    static char text[60000];
    static const size_t sizes[] = {1, 15, 16, 63, 64, 65, 127, 128, 511, 513, 60000};
    size_t size = sizes[dice_below(dice, sizeof(sizes) / sizeof(sizes[0]))];
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    memset(text, "x\x1b\xff "[dice_below(dice, 4)], size); /* no end */
    H5Tset_size(type, size);
    H5Tset_strpad(type, (H5T_str_t)dice_below(dice, 3));
    put(file, name, type, space, text);
    H5Sclose(space);
    H5Tclose(type);
}

static void put_other(hid_t file, const char *name, struct dice *dice)
{
    static const int64_t values[4] = {0, 1, 2, 3};
    const hsize_t n = 1 + dice_below(dice, 4);
    hid_t type = dice_below(dice, 2) ? H5Tcopy(H5T_NATIVE_DOUBLE) : H5Tcopy(H5T_STD_I8BE);
    hid_t space = dice_below(dice, 4) ? H5Screate_simple(1, &n, NULL) : H5Screate(H5S_NULL);
    put(file, name, type, space, values);
    H5Sclose(space);
    H5Tclose(type);
}

static void put_pointer(hid_t file, const char *name)
{
    const char *text = "of variable length";
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, H5T_VARIABLE);
    put(file, name, type, space, &text);
    H5Sclose(space);
    H5Tclose(type);
}

void edit_attribute(hid_t file, struct dice *dice)
{
    const char *name = attributes[dice_below(dice, sizeof(attributes) / sizeof(attributes[0]))];
    switch (dice_below(dice, 8)) {
    case 0:
        H5Adelete(file, name);
        break;
    case 1:
        put_text(file, name, dice);
        break;
    case 2:
        put_other(file, name, dice);
        break;
    case 3:
        put_pointer(file, name);
        break;
    default:
        put_number(file, name, dice);
        break;
    }
}

void edit_remove(hid_t file, struct dice *dice)
{
    static const char *const groups[] = {"/events", "/samples", "/rank"};
    H5Ldelete(file, dice_below(dice, 6) ? pick_path(dice) : groups[dice_below(dice, 3)],
              H5P_DEFAULT);
}

/* Instead of one of ours, a link to something else: here, elsewhere, nowhere, to itself. */
void edit_link(hid_t file, struct dice *dice)
{
    static const char *const files[] = {"/etc/passwd", "../rank-00000.h5", "rank-00001.h5",
                                        "/dev/zero"};
    const char *path = dice_below(dice, 5) ? pick_path(dice) : "/events", *other = pick_path(dice);
    if (dice_below(dice, 3) && strcmp(path, other) != 0) { /* one of our datasets for another */
        hid_t links = H5Pcreate(H5P_LINK_CREATE);
        H5Pset_create_intermediate_group(links, 1);
        H5Ldelete(file, path, H5P_DEFAULT);
        H5Lcreate_hard(file, other, file, path, links, H5P_DEFAULT);
        H5Pclose(links);
        return;
    }
    H5Ldelete(file, path, H5P_DEFAULT);
    switch (dice_below(dice, 4)) {
    case 0:
        H5Lcreate_soft(other, file, path, H5P_DEFAULT, H5P_DEFAULT);
        break;
    case 1:
        H5Lcreate_soft(path, file, path, H5P_DEFAULT, H5P_DEFAULT);
        break;
    case 2:
        H5Lcreate_hard(file, "/", file, path, H5P_DEFAULT, H5P_DEFAULT);
        break;
    default:
        H5Lcreate_external(files[dice_below(dice, 4)], "/", file, path, H5P_DEFAULT, H5P_DEFAULT);
        break;
    }
}
