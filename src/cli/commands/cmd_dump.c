/* `profwrap dump FILE`: every table of a rank or cluster file, one record a line. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/confine.h"
#include "core/h5/h5reader.h"
#include "core/h5/h5types.h"
#include "core/h5/h5watch.h"
#include "core/log.h"
#include "core/readlimit.h"
#include "report/writing/safenames.h"

enum { BLOCK_ROWS = 4096 };

/* The parts of the file that cannot be read; the first one with its name. */
struct damage {
    const char *first;
    int parts;
    int is_short; /* 1: memory was short */
};

static void note(struct damage *damage, const char *part, int err)
{
    if (!err || err == -ENOENT)
        return;
    damage->first = damage->parts ? damage->first : part;
    damage->parts++;
    damage->is_short |= err == -ENOMEM;
}

/* Prints a text without control characters, which could send commands to the terminal. */
static void print_text(const char *text, size_t size)
{
    char some[256];
    size_t length = strnlen(text, size);
    char *clean = length < sizeof(some) ? some : malloc(length + 1);
    putchar('"');
    if (clean)
        pw_names_printable(clean, length + 1, text, length);
    for (const char *at = clean; at && *at; at++)
        putchar(*at == '"' ? '?' : *at);
    putchar('"');
    if (clean != some)
        free(clean);
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
    case PW_F_S512:
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

/* Prints a 2-D table, which is small enough to be read at once. */
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
    if (!err)
        err = dims[1] == 1 ? dump_rows(file, id, dims[0]) : dump_grid(file, id);
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
    return err;
}

static void dump_attributes(hid_t file, struct damage *damage)
{
    static const char *const texts[] = {"format",       "profwrap_version", "hostname",
                                        "clock_domain", "clock_sync",       "tick_source",
                                        "job_id",       "command",          "gpu_unrecorded",
                                        "gpu_lacking",  "cupti_taken_by",   "imported"};
    static const char *const numbers[] = {
        "format_version",     "rank",           "world_size", "local_rank",  "pid",
        "start_unix_ns",      "end_unix_ns",    "exit_code",  "exit_signal", "complete",
        "dropped_events",     "nranks",         "nhosts",     "nsteps",      "steps_inferred",
        "clock_error_max_ns", "merge_processes"};
    char text[2048];
    int64_t number;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        int err = pw_h5_get_text(file, texts[i], text, sizeof(text));
        note(damage, texts[i], err);
        if (err)
            continue;
        printf("/ %s=", texts[i]);
        print_text(text, sizeof(text));
        putchar('\n');
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        int err = pw_h5_get_int(file, numbers[i], &number);
        note(damage, numbers[i], err);
        if (!err)
            printf("/ %s=%" PRId64 "\n", numbers[i], number);
    }
}

/* Prints all tables that can be read, and returns which cannot. */
static struct damage dump_all(hid_t file, int first, int last)
{
    static const char *const strings[] = {"/strings", "/stacks"};
    struct damage damage = {0};
    dump_attributes(file, &damage);
    for (int id = first; id < last; id++)
        note(&damage, pw_table_borrow(id)->path, dump_table(file, id));
    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
        note(&damage, strings[i], dump_strings(file, strings[i]));
    return damage;
}

static const char anew[] = "'profwrap merge DIR' makes it again from the rank files";
static const char recovered[] = "'profwrap recover DIR' makes it again if its journal is left";

int pw_cli_dump_file(const char *path)
{
    hid_t file;
    int err = pw_h5_open(path, &file);
    if (err) {
        pw_error("%s cannot be read: %s", path,
                 err == -EINVAL
                     ? "it is not an HDF5 file; give one of a run, such as DIR/cluster.h5"
                     : pw_readlimit_remedy(err));
        return 1;
    }
    int first = 0;
    err = pw_format_check(file, PW_FORMAT_RANK);
    if (err == -EINVAL) {
        first = PW_RANK_TABLE_COUNT;
        err = pw_format_check(file, PW_FORMAT_CLUSTER);
    }
    struct damage damage = {0};
    if (!err)
        damage = dump_all(file, first, first ? PW_TABLE_COUNT : PW_RANK_TABLE_COUNT);
    pw_h5_close(file);
    if (err)
        pw_error("%s %s", path,
                 err == -EPROTO
                     ? "was written by a newer profwrap: read it with that version"
                     : "is not a file of profwrap's; give one of a run, such as DIR/cluster.h5");
    else if (damage.is_short)
        pw_error("not all of %s can be read: %s", path, pw_readlimit_remedy(-ENOMEM));
    else if (damage.parts > 1)
        pw_error("%s is damaged: %s and %d other parts of it cannot be read; %s", path,
                 damage.first, damage.parts - 1, first ? anew : recovered);
    else if (damage.parts)
        pw_error("%s is damaged: %s cannot be read; %s", path, damage.first,
                 first ? anew : recovered);
    return err || damage.parts ? 1 : 0;
}

/* 1 when `path` is a directory, after a message that names files in it. */
static int is_directory(const char *path)
{
    struct stat status;
    char example[256] = "";
    if (stat(path, &status) || !S_ISDIR(status.st_mode))
        return 0;
    DIR *stream = opendir(path);
    int ranks = 0, has_cluster = 0;
    for (const struct dirent *e = stream ? readdir(stream) : NULL; e; e = readdir(stream)) {
        const size_t length = strlen(e->d_name);
        const int is_h5 = length > 3 && strcmp(e->d_name + length - 3, ".h5") == 0;
        has_cluster |= strcmp(e->d_name, "cluster.h5") == 0;
        if (!is_h5 || strncmp(e->d_name, "rank-", 5) != 0)
            continue;
        if (!ranks++ || strcmp(e->d_name, example) < 0)
            snprintf(example, sizeof(example), "%s", e->d_name);
    }
    if (stream)
        closedir(stream);
    if (ranks || has_cluster)
        pw_error("'%s' is a directory: dump one of its files, as %s%s%s%s%s%s (there %s %d rank "
                 "file%s)",
                 path, has_cluster ? path : "", has_cluster ? "/cluster.h5" : "",
                 has_cluster && ranks ? " or " : "", ranks ? path : "", ranks ? "/" : "", example,
                 ranks == 1 ? "is" : "are", ranks, ranks == 1 ? "" : "s");
    else
        pw_error("'%s' is a directory, without files of profwrap: give a file of a run", path);
    return 1;
}

int pw_cli_dump(int argc, char **argv)
{
    if (argc != 2 || argv[1][0] == '-') {
        pw_error("usage: profwrap dump FILE");
        return argc == 2 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) ? 0 : 2;
    }
    if (is_directory(argv[1]))
        return 1;
    pw_h5_quiet();
    pw_h5_watch_install();
    pw_confine(pw_readlimit_size(argv[1]), 0);
    return pw_cli_dump_file(argv[1]);
}
