/* `profwrap dump FILE`: every table of a rank or cluster file, one record a line. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "core/format.h"
#include "core/h5reader.h"
#include "core/h5types.h"
#include "core/log.h"

enum { BLOCK_ROWS = 4096 };

/* Text from files goes to terminals: control characters do not. */
static void print_text(const char *text, size_t size)
{
    putchar('"');
    for (size_t i = 0; i < size && text[i]; i++)
        putchar((unsigned char)text[i] < ' ' || text[i] == 127 || text[i] == '"' ? '?' : text[i]);
    putchar('"');
}

static int64_t read_integer(const struct pw_field *field, const char *at)
{
    int64_t value = 0;
    memcpy(&value, at, field->size);
    if (field->type == PW_F_I32)
        value = (int32_t)value;
    return value;
}

static void print_field(const struct pw_field *field, const char *row)
{
    const char *at = row + field->offset;
    double number;
    printf(" %s=", field->name);
    switch (field->type) {
    case PW_F_F64:
        memcpy(&number, at, sizeof(number));
        printf("%.6g", number);
        break;
    case PW_F_S16:
    case PW_F_S32:
    case PW_F_S64:
    case PW_F_S256:
        print_text(at, field->size);
        break;
    case PW_F_U64:
        printf("0x%" PRIx64, (uint64_t)read_integer(field, at));
        break;
    default:
        if (pw_enum_borrow(field->type))
            printf("%s", pw_enum_name(field->type, (int)read_integer(field, at)));
        else
            printf("%" PRId64, read_integer(field, at));
        break;
    }
}

static void print_row(const struct pw_table *table, const char *row)
{
    printf("%s", table->path);
    for (size_t i = 0; i < table->nfields; i++)
        print_field(&table->fields()[i], row);
    putchar('\n');
}

static int dump_rows(hid_t file, int id, hsize_t rows)
{
    const struct pw_table *table = pw_table_borrow(id);
    char *block = malloc(BLOCK_ROWS * table->row_size);
    int err = block ? 0 : -ENOMEM;
    for (hsize_t at = 0; !err && at < rows; at += BLOCK_ROWS) {
        size_t n = rows - at < BLOCK_ROWS ? (size_t)(rows - at) : BLOCK_ROWS;
        err = pw_h5_read_rows(file, id, at, n, block);
        for (size_t i = 0; !err && i < n; i++)
            print_row(table, block + i * table->row_size);
    }
    free(block);
    return err;
}

/* 2-D tables are small enough to read whole. */
static int dump_grid(hid_t file, int id)
{
    void *rows = NULL;
    size_t count = 0;
    int err = pw_h5_read_all(file, id, &rows, &count);
    for (size_t i = 0; !err && i < count; i++)
        print_row(pw_table_borrow(id), (char *)rows + i * pw_table_borrow(id)->row_size);
    free(rows);
    return err;
}

static int dump_table(hid_t file, int id)
{
    hsize_t dims[2];
    int err = pw_h5_extent(file, id, dims);
    if (err == -ENOENT)
        return 0;
    if (!err)
        err = dims[1] == 1 ? dump_rows(file, id, dims[0]) : dump_grid(file, id);
    if (err)
        pw_error("%s cannot be read: %s", pw_table_borrow(id)->path, strerror(-err));
    return err;
}

static int dump_strings(hid_t file, const char *path)
{
    char **strings = NULL;
    size_t count = 0;
    int err = pw_h5_read_strings(file, path, &strings, &count);
    for (size_t i = 0; !err && i < count; i++) {
        printf("%s row=%zu text=", path, i);
        print_text(strings[i], strlen(strings[i]));
        putchar('\n');
    }
    free(strings);
    return err == -ENOENT ? 0 : err;
}

static void dump_attributes(hid_t file)
{
    static const char *const texts[] = {"format",       "profwrap_version", "hostname",
                                        "clock_domain", "clock_sync",       "tick_source",
                                        "job_id",       "command"};
    static const char *const numbers[] = {
        "format_version",     "rank",           "world_size", "local_rank",  "pid",
        "start_unix_ns",      "end_unix_ns",    "exit_code",  "exit_signal", "complete",
        "dropped_events",     "nranks",         "nhosts",     "nsteps",      "steps_inferred",
        "clock_error_max_ns", "merge_processes"};
    char text[2048];
    int64_t number;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (pw_h5_get_text(file, texts[i], text, sizeof(text)) == 0) {
            printf("/ %s=", texts[i]);
            print_text(text, sizeof(text));
            putchar('\n');
        }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (pw_h5_get_int(file, numbers[i], &number) == 0)
            printf("/ %s=%" PRId64 "\n", numbers[i], number);
}

int pw_cli_dump(int argc, char **argv)
{
    if (argc != 2 || argv[1][0] == '-') {
        pw_error("usage: profwrap dump FILE");
        return argc == 2 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) ? 0 : 2;
    }
    pw_h5_quiet();
    hid_t file;
    int err = pw_h5_open(argv[1], &file);
    if (err) {
        pw_error("%s cannot be read: %s", argv[1],
                 err == -EINVAL ? "it is not an HDF5 file" : strerror(-err));
        return 1;
    }
    int first = 0;
    err = pw_format_check(file, PW_FORMAT_RANK);
    if (err == -EINVAL) {
        first = PW_RANK_TABLE_COUNT;
        err = pw_format_check(file, PW_FORMAT_CLUSTER);
    }
    if (err) {
        pw_error("%s %s", argv[1],
                 err == -EPROTO ? "was written by a newer profwrap"
                                : "is not a file of profwrap's");
        H5Fclose(file);
        return 1;
    }
    dump_attributes(file);
    int last = first ? PW_TABLE_COUNT : PW_RANK_TABLE_COUNT;
    for (int id = first; id < last; id++)
        err = dump_table(file, id) ? 1 : err;
    err = dump_strings(file, "/strings") ? 1 : err;
    err = dump_strings(file, "/stacks") ? 1 : err;
    H5Fclose(file);
    return err ? 1 : 0;
}
