/* Types, dataset creation and root attributes; see h5types.h. */
#include "core/h5/h5types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/check.h"

int pw_format_stamp(hid_t file, const char *format)
{
    int err = pw_h5_set_text(file, "format", format);
    err = err ? err : pw_h5_set_int(file, "format_version", PW_FORMAT_VERSION);
    return err ? err : pw_h5_set_text(file, "profwrap_version", PROFWRAP_VERSION);
}

int pw_format_check(hid_t file, const char *format)
{
    char found[32];
    int64_t version;
    if (pw_h5_get_text(file, "format", found, sizeof(found)) || strcmp(found, format) != 0)
        return -EINVAL;
    if (pw_h5_get_int(file, "format_version", &version))
        return -EINVAL;
    return pw_format_version_check(version);
}

int pw_format_version_check(int64_t version)
{
    return version < 1 ? -EINVAL : version > PW_FORMAT_VERSION ? -EPROTO : 0;
}

static hid_t string_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, size);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

static hid_t make_enum(const struct pw_field *field)
{
    hid_t type = H5Tenum_create(field->size == 1 ? H5T_NATIVE_UINT8 : H5T_NATIVE_UINT16);
    for (const struct pw_enum_item *item = pw_enum_borrow(field->type); item->name; item++) {
        uint8_t narrow = (uint8_t)item->value;
        uint16_t wide = (uint16_t)item->value;
        H5Tenum_insert(type, item->name, field->size == 1 ? (void *)&narrow : (void *)&wide);
    }
    return type;
}

/* Types of enumerations, which stay open: HDF5 compares each name with all earlier ones when it
 * makes a type, but not when it copies one. */
static _Atomic hid_t made_enums[PW_F_END];

static hid_t enum_type(const struct pw_field *field)
{
    hid_t type = made_enums[field->type];
    if (type <= 0) { /* two threads may both make it */
        type = make_enum(field);
        H5Tlock(type); /* so H5Fget_obj_count() does not count it as an open object */
        made_enums[field->type] = type;
    }
    return type;
}

static _Atomic hid_t made_links;
static _Atomic int is_quiet;

void pw_h5_types_forget(void)
{
    is_quiet = 0;
    made_links = 0;
    for (int i = 0; i < PW_F_END; i++)
        made_enums[i] = 0;
}

/* Returns the type of a field. Unless *is_own is set to 1, the caller may not close it. */
static hid_t field_type(const struct pw_field *field, int *is_own)
{
    *is_own = 0;
    switch (field->type) {
    case PW_F_I64:
        return H5T_NATIVE_INT64;
    case PW_F_I32:
        return H5T_NATIVE_INT32;
    case PW_F_U64:
        return H5T_NATIVE_UINT64;
    case PW_F_U32:
        return H5T_NATIVE_UINT32;
    case PW_F_U16:
        return H5T_NATIVE_UINT16;
    case PW_F_U8:
        return H5T_NATIVE_UINT8;
    case PW_F_F64:
        return H5T_NATIVE_DOUBLE;
    case PW_F_S16:
    case PW_F_S32:
    case PW_F_S64:
    case PW_F_S256:
    case PW_F_S512:
        *is_own = 1;
        return string_type(field->size);
    default:
        return enum_type(field);
    }
}

static hid_t compound_type(const struct pw_table *table, int is_packed)
{
    PW_CHECK(pw_table_is_valid(table));
    size_t size = 0;
    for (size_t i = 0; i < table->nfields; i++)
        size += table->fields()[i].size;
    hid_t type = H5Tcreate(H5T_COMPOUND, is_packed ? size : table->row_size);
    size_t at = 0;
    for (size_t i = 0; type >= 0 && i < table->nfields; i++) {
        const struct pw_field *field = &table->fields()[i];
        int is_own;
        const hid_t member = field_type(field, &is_own);
        H5Tinsert(type, field->name, is_packed ? at : field->offset, member);
        if (is_own)
            H5Tclose(member);
        at += field->size;
    }
    return type;
}

hid_t pw_h5_memory_type(const struct pw_table *table)
{
    return compound_type(table, 0);
}

hid_t pw_h5_file_type(const struct pw_table *table)
{
    return compound_type(table, 1);
}

void pw_h5_quiet(void)
{
    if (is_quiet)
        return;
    is_quiet = 1;
    /* At exit HDF5 1.10 would write again what a full disk has refused, and crash. */
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    /* Do not load filter plugins that a file names: the filters that we use are built in. */
    H5PLset_loading_state(0);
}

hid_t pw_h5_creation(void)
{
    enum { MOST_IN_HEADER = 64, LEAST_OUTSIDE = 48 };
    hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_attr_phase_change(creation, MOST_IN_HEADER, LEAST_OUTSIDE);
    return creation;
}

/* ---- units and meanings of columns ---- */

/* A text that grows. */
struct text {
    char *bytes;
    size_t n, room;
    int err;
};

static void put_bytes(struct text *out, const char *bytes, size_t n)
{
    enum { LEAST_ROOM = 2048 };
    if (out->n + n >= out->room && !out->err) {
        const size_t room = 2 * (out->n + n) + LEAST_ROOM;
        char *moved = realloc(out->bytes, room);
        out->err = moved ? 0 : -ENOMEM;
        out->bytes = moved ? moved : out->bytes;
        out->room = moved ? room : out->room;
    }
    if (out->err)
        return;
    memcpy(out->bytes + out->n, bytes, n);
    out->n += n;
    out->bytes[out->n] = '\0';
}

static void put(struct text *out, const char *text)
{
    put_bytes(out, text, strlen(text));
}

/* Writes a JSON string. The texts of tables.def have no control characters. */
static void put_text(struct text *out, const char *text)
{
    put(out, "\"");
    for (size_t n; *text; text += n) {
        n = strcspn(text, "\"\\");
        put_bytes(out, text, n);
        if (text[n]) {
            put(out, "\\");
            put_bytes(out, text + n, 1);
            n++;
        }
    }
    put(out, "\"");
}

/* Writes an object with the text at `offset` in struct pw_field for each field, unless it is "". */
static void put_columns(struct text *out, const struct pw_table *table, size_t offset)
{
    const char *between = "";
    put(out, "{");
    for (size_t i = 0; i < table->nfields; i++) {
        const struct pw_field *field = &table->fields()[i];
        const char *text = *(const char *const *)((const char *)field + offset);
        if (!*text)
            continue;
        put(out, between);
        put_text(out, field->name);
        put(out, ": ");
        put_text(out, text);
        between = ", ";
    }
    put(out, "}");
}

static void put_rank_tables(struct text *out)
{
    put(out, "{");
    for (int id = 0; id < PW_RANK_TABLE_COUNT; id++) {
        put(out, id ? ", " : "");
        put_text(out, pw_table_borrow(id)->path);
        put(out, ": ");
        put_columns(out, pw_table_borrow(id), offsetof(struct pw_field, meaning));
    }
    put(out, "}");
}

/* Writes an attribute: the text at `offset` for each field of `table`, or, when that is NULL, the
 * meanings of all tables of rank files. */
static int write_attribute(hid_t object, const char *name, const struct pw_table *table,
                           size_t offset)
{
    struct text text = {.bytes = NULL};
    if (table)
        put_columns(&text, table, offset);
    else
        put_rank_tables(&text);
    const int err = text.err ? text.err : pw_h5_set_text(object, name, text.bytes);
    free(text.bytes);
    return err;
}

/* Writes the attribute PW_H5_UNITS of a table's dataset: {"start": "ns", ...}, with those of its
 * columns that have a unit. A table without units gets no attribute: the files of thousands of
 * ranks have these. Returns 0, -ENOMEM or -EIO. */
static int h5_units_write(hid_t dataset, const struct pw_table *table)
{
    size_t units = 0;
    for (size_t i = 0; i < table->nfields; i++)
        units += *table->fields()[i].unit != '\0';
    return units ? write_attribute(dataset, PW_H5_UNITS, table, offsetof(struct pw_field, unit))
                 : 0;
}

int pw_h5_meanings_write(hid_t dataset, const struct pw_table *table)
{
    return write_attribute(dataset, PW_H5_MEANINGS, table, offsetof(struct pw_field, meaning));
}

int pw_h5_rank_meanings_write(hid_t group)
{
    return write_attribute(group, PW_H5_MEANINGS, NULL, 0);
}

/* ---- datasets ---- */

/* Returns properties of links whose groups are made with them. They stay open. */
static hid_t link_properties(void)
{
    hid_t links = made_links;
    if (links <= 0) {
        links = H5Pcreate(H5P_LINK_CREATE);
        H5Pset_create_intermediate_group(links, 1);
        made_links = links;
    }
    return links;
}

hid_t pw_h5_create_table(hid_t file, const struct pw_table *table, const struct pw_h5_form *form)
{
    hsize_t max[2] = {H5S_UNLIMITED, H5S_UNLIMITED};
    hid_t space = H5Screate_simple(form->rank, form->dims, form->is_unlimited ? max : NULL);
    hid_t props = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(props, form->rank, form->chunk);
    if (form->level > 0) {
        H5Pset_shuffle(props);
        H5Pset_deflate(props, (unsigned)form->level);
    }
    hid_t type = pw_h5_file_type(table);
    hid_t dataset =
        H5Dcreate2(file, table->path, type, space, link_properties(), props, H5P_DEFAULT);
    H5Tclose(type);
    H5Pclose(props);
    H5Sclose(space);
    if (dataset >= 0 && h5_units_write(dataset, table)) {
        H5Dclose(dataset);
        dataset = H5I_INVALID_HID;
    }
    return dataset;
}

/* Deletes the attribute, if there is one, and creates it: HDF5 cannot overwrite one with a value of
 * another size. */
static int set_attribute(hid_t file, const char *name, hid_t type, const void *value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 && H5Aexists(file, name) > 0 && H5Adelete(file, name) >= 0)
        attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    int err = attribute < 0 || H5Awrite(attribute, type, value) < 0 ? -EIO : 0;
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    return err;
}

int pw_h5_set_text(hid_t file, const char *name, const char *value)
{
    size_t length = strlen(value);
    hid_t type = string_type(length ? length : 1);
    int err = set_attribute(file, name, type, value);
    H5Tclose(type);
    return err;
}

int pw_h5_set_int(hid_t file, const char *name, int64_t value)
{
    return set_attribute(file, name, H5T_NATIVE_INT64, &value);
}

static int read_fixed_text(hid_t attribute, hid_t type, char *value, size_t size)
{
    size_t stored = H5Tget_size(type);
    if (H5Tis_variable_str(type) || stored == 0 || stored > 1 << 20)
        return -EINVAL;

    char *text = calloc(1, stored + 1);
    if (!text)
        return -ENOMEM;
    int err = H5Aread(attribute, type, text) < 0 ? -EIO : 0;
    if (!err) {
        size_t length = strnlen(text, stored < size ? stored : size - 1);
        memcpy(value, text, length);
        value[length] = '\0';
    }
    free(text);
    return err;
}

H5Z_filter_t pw_h5_filter(hid_t properties, int i)
{
    unsigned flags, config;
    size_t values = 0;
    return H5Pget_filter2(properties, (unsigned)i, &flags, &values, NULL, 0, NULL, &config);
}

/* Opens a scalar attribute of class `want`, and its type; the caller closes both. */
static int open_attribute(hid_t file, const char *name, H5T_class_t want, hid_t *attribute,
                          hid_t *type)
{
    if (H5Aexists(file, name) <= 0)
        return -ENOENT;
    hid_t found = H5Aopen(file, name, H5P_DEFAULT);
    if (found < 0)
        return -EIO;
    hid_t space = H5Aget_space(found);
    hssize_t values = H5Sget_simple_extent_npoints(space);
    H5Sclose(space);
    hid_t stored = H5Aget_type(found);
    if (values != 1 || H5Tget_class(stored) != want) {
        H5Tclose(stored);
        H5Aclose(found);
        return -EINVAL;
    }
    *attribute = found;
    *type = stored;
    return 0;
}

int pw_h5_get_text(hid_t file, const char *name, char *value, size_t size)
{
    hid_t attribute, type;
    int err = open_attribute(file, name, H5T_STRING, &attribute, &type);
    if (err)
        return err;
    err = read_fixed_text(attribute, type, value, size);
    H5Tclose(type);
    H5Aclose(attribute);
    return err;
}

int pw_h5_get_int(hid_t file, const char *name, int64_t *value)
{
    hid_t attribute, type;
    int err = open_attribute(file, name, H5T_INTEGER, &attribute, &type);
    if (err)
        return err;
    err = H5Aread(attribute, H5T_NATIVE_INT64, value) < 0 ? -EIO : 0;
    H5Tclose(type);
    H5Aclose(attribute);
    return err;
}
