/* Collects rows of what msprof-analyze computed: reads the CSV and JSON files of a
 * cluster_analysis_output, and its cluster_analysis.db; see msprof.h. The files are written by
 * msprof-analyze's cluster_analyse/analysis: step_trace_time_analysis.py, which takes us from the
 * profiles' step_trace_time.csv, communication_analysis.py and comm_matrix_analysis.py: ms and MB
 * by group, step, operation, and rank or link. */
#include "import/msprof/msprof.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/grow.h"
#include "core/limits.h"
#include "core/safefile.h"
#include "core/sort.h"
#include "core/text.h"
#include "import/ascend/ascend.h"
#include "import/ascend/ascend_db.h"
#include "import/ascend/ascend_events.h"
#include "import/parsers/csvfile.h"
#include "import/trace/stepsums.h"

/* The columns of its tables are those of msprof-analyze's
 * cluster_analyse/common_func/tables_config.py. The units are those of msprof-analyze's other
 * files. With the option --data_simplification, tables have other names. Rows of which another file
 * of the directory had some are not read from the database. */

/* ---- rows ---- */

enum { MOST_RANK = 1 << 24 };

/* Returns a copy of a text, the same as before for the same text in a row. "" when memory is short.
 */
static const char *msprof_text(struct pw_msprof *m, const char *text, size_t length)
{
    if (m->ntexts && strncmp(m->texts[m->ntexts - 1], text, length) == 0 &&
        !m->texts[m->ntexts - 1][length])
        return m->texts[m->ntexts - 1];
    char **more = pw_grow(m->texts, m->ntexts, sizeof(*m->texts), &m->texts_capacity);
    char *copy = more ? strndup(text, length) : NULL;
    m->texts = more ? more : m->texts;
    m->failed |= !copy;
    if (copy)
        m->texts[m->ntexts++] = copy;
    return copy ? copy : "";
}

/* Whether a number can be a rank. */
static int msprof_is_rank(int64_t rank)
{
    return rank >= 0 && rank < MOST_RANK;
}

/* pw_msprof_add_ROW(): adds a row to its list, if its numbers are possible. */
#define ADD(row, list, is_possible)                                                      \
    void pw_msprof_add_##row(struct pw_msprof *m, const struct pw_msprof_##row *row)     \
    {                                                                                    \
        struct pw_msprof_##row *more = NULL;                                             \
        if (!(is_possible)) {                                                            \
            m->incomplete++;                                                             \
        } else {                                                                         \
            if (!m->failed)                                                              \
                more = pw_grow(m->list, m->n##list, sizeof(*more), &m->list##_capacity); \
            m->failed |= !more;                                                          \
        }                                                                                \
        if (more) {                                                                      \
            m->list = more;                                                              \
            m->list[m->n##list++] = *row;                                                \
        }                                                                                \
    }
ADD(step, steps, msprof_is_rank(step->rank) && step->row.computing_ns >= 0)
ADD(time, times, msprof_is_rank(time->rank) && time->elapsed_ns >= 0)
ADD(link, links,
    msprof_is_rank(link->src) && msprof_is_rank(link->dst) && link->bytes >= 0 &&
        link->transfer_ns >= 0)

/* Returns the number of ranks in a list such as "(0, 1)". 0: the text is no such list, a number
 * cannot be a rank, or memory is short. */
static size_t read_ranks(const char *text, int32_t **out)
{
    size_t n = 0, capacity = 0;
    *out = NULL;
    if (text[strspn(text, "()[], 0123456789")])
        return 0;
    for (const char *at = text; (at += strcspn(at, "0123456789")), *at; n++) {
        char *end;
        const long long rank = strtoll(at, &end, 10);
        int32_t *more = pw_grow(*out, n, sizeof(**out), &capacity);
        if (!more || !msprof_is_rank(rank)) {
            free(*out);
            *out = NULL;
            return 0;
        }
        *out = more;
        more[n] = (int32_t)rank;
        at = end;
    }
    return n;
}

/* Adds a group, if it is new; ranks are the numbers in a text such as "(0, 1, 2, 3)". */
static void msprof_add_group(struct pw_msprof *m, const char *name, const char *ranks)
{
    int32_t *members;
    for (size_t i = m->ngroups; i-- > 0;)
        if (strncmp(m->groups[i].name, name, sizeof(m->groups[i].name) - 1) == 0)
            return;
    const size_t n = *name ? read_ranks(ranks, &members) : 0;
    if (n < 2) {
        if (n)
            free(members);
        return;
    }
    struct pw_group *more = realloc(m->groups, (m->ngroups + 1) * sizeof(*more));
    if (!more) {
        free(members);
        m->failed = 1;
        return;
    }
    m->groups = more;
    struct pw_group *group = &m->groups[m->ngroups++];
    *group = (struct pw_group){.members = members, .size = n};
    snprintf(group->name, sizeof(group->name), "%s", name);
}

void pw_msprof_complain(struct pw_msprof *m, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!m->problem[0])
        vsnprintf(m->problem, sizeof(m->problem), format, arguments);
    va_end(arguments);
}

/* The number in "step4" or "4"; -1: there is none. The ns of a number of ms, us, ...; -1: not
 * possible. */
static int64_t msprof_step_of(const char *text)
{
    const char *digits = text + strcspn(text, "0123456789");
    errno = 0;
    const long long step = *digits ? strtoll(digits, NULL, 10) : -1;
    return errno || step >= PW_LIMIT ? -1 : step;
}

static int64_t msprof_scaled(double number, double unit)
{
    const double scaled = number * unit;
    return scaled >= 0 && scaled < (double)PW_LIMIT ? llround(scaled) : -1;
}

/* ---- cluster_analysis.db ---- */

#ifdef PW_HAVE_SQLITE
#include <sqlite3.h>

static const char *text_of(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return text ? text : "";
}

static int64_t ns_of(sqlite3_stmt *row, int column, double unit)
{
    const int type = sqlite3_column_type(row, column);
    return type == SQLITE_FLOAT || type == SQLITE_INTEGER
               ? msprof_scaled(sqlite3_column_double(row, column), unit)
               : -1;
}

static int32_t rank_of(sqlite3_stmt *row, int column)
{
    const char *text = text_of(row, column);
    char *end;
    const long long rank = strtoll(text, &end, 10);
    return end != text && !*end && rank >= 0 && rank < 1 << 24 ? (int32_t)rank : -1;
}

static void take_step(struct pw_msprof *m, sqlite3_stmt *row)
{
    const double us = 1e3;
    const struct pw_msprof_step step = {.rank = rank_of(row, 1),
                                        .row = {.step = msprof_step_of(text_of(row, 0)),
                                                .computing_ns = ns_of(row, 2, us),
                                                .exposed_ns = ns_of(row, 3, us),
                                                .overlapped_ns = ns_of(row, 4, us),
                                                .comm_ns = ns_of(row, 5, us),
                                                .free_ns = ns_of(row, 6, us),
                                                .stage_ns = ns_of(row, 7, us),
                                                .bubble_ns = ns_of(row, 8, us),
                                                .exposed_no_receive_ns = ns_of(row, 9, us),
                                                .preparing_ns = ns_of(row, 10, us)}};
    pw_msprof_add_step(m, &step);
}

static void take_time(struct pw_msprof *m, sqlite3_stmt *row)
{
    const double us = 1e3, ms = 1e6;
    const char *name = text_of(row, 2), *group = text_of(row, 3);
    if (strncmp(name, "Total", 5) == 0)
        return;
    const struct pw_msprof_time time = {.rank = rank_of(row, 1),
                                        .name = msprof_text(m, name, strlen(name)),
                                        .group = msprof_text(m, group, strlen(group)),
                                        .step = msprof_step_of(text_of(row, 0)),
                                        .start_ns = ns_of(row, 4, us),
                                        .elapsed_ns = ns_of(row, 5, ms),
                                        .transfer_ns = ns_of(row, 6, ms),
                                        .wait_ns = ns_of(row, 7, ms),
                                        .sync_ns = ns_of(row, 8, ms)};
    pw_msprof_add_time(m, &time);
}

static void take_link(struct pw_msprof *m, sqlite3_stmt *row)
{
    const double mb = 1e6, ms = 1e6;
    const char *name = text_of(row, 1), *group = text_of(row, 2), *transport = text_of(row, 7);
    if (strncmp(name, "Total", 5) == 0 || strstr(name, "-top") || strstr(name, "-middle") ||
        strstr(name, "-bottom"))
        return;
    const struct pw_msprof_link link = {.src = rank_of(row, 3),
                                        .dst = rank_of(row, 4),
                                        .name = msprof_text(m, name, strlen(name)),
                                        .group = msprof_text(m, group, strlen(group)),
                                        .transport = msprof_text(m, transport, strlen(transport)),
                                        .step = msprof_step_of(text_of(row, 0)),
                                        .bytes = ns_of(row, 5, mb),
                                        .transfer_ns = ns_of(row, 6, ms)};
    pw_msprof_add_link(m, &link);
}

static void take_group(struct pw_msprof *m, sqlite3_stmt *row)
{
    msprof_add_group(m, text_of(row, 0), text_of(row, 1));
}

static void take_host(struct pw_msprof *m, sqlite3_stmt *row)
{
    struct pw_msprof_host *more =
        pw_grow(m->hosts, m->nhosts, sizeof(*m->hosts), &m->hosts_capacity);
    const char *name = text_of(row, 1);
    m->failed |= !more;
    if (!more)
        return;
    m->hosts = more;
    more[m->nhosts++] =
        (struct pw_msprof_host){rank_of(row, 0), msprof_text(m, name, strlen(name))};
}

static void take_base(struct pw_msprof *m, sqlite3_stmt *row)
{
    const int64_t size = sqlite3_column_int64(row, 0);
    m->world_size = size > 0 && size < 1 << 24 ? size : m->world_size;
}

#define TIMES(table)                                                                  \
    "SELECT step, rank_id, hccl_op_name, group_name, start_timestamp, elapsed_time, " \
    "transit_time, "                                                                  \
    "wait_time, synchronization_time FROM " table
#define LINKS(table)                                                                          \
    "SELECT step, hccl_op_name, group_name, src_rank, dst_rank, transit_size, transit_time, " \
    "transport_type FROM " table

enum what { STEPS, MEASURED, MOVED, OTHERS };

static const struct {
    enum what what; /* a table is not read if there are such rows already; OTHERS: always */
    const char *table, *query;
    void (*take)(struct pw_msprof *m, sqlite3_stmt *row);
} tables[] = {
    {STEPS, "ClusterStepTraceTime",
     "SELECT step, \"index\", computing, communication_not_overlapped, overlapped, communication, "
     "free, stage, bubble, communication_not_overlapped_and_exclude_receive, preparing "
     "FROM ClusterStepTraceTime WHERE type = 'rank'",
     take_step},
    {MEASURED, "ClusterCommAnalyzerTime", TIMES("ClusterCommAnalyzerTime"), take_time},
    {MEASURED, "ClusterCommunicationTime", TIMES("ClusterCommunicationTime"), take_time},
    {MOVED, "ClusterCommAnalyzerMatrix", LINKS("ClusterCommAnalyzerMatrix"), take_link},
    {MOVED, "ClusterCommunicationMatrix", LINKS("ClusterCommunicationMatrix"), take_link},
    {OTHERS, "CommunicationGroup", "SELECT group_name, rank_set FROM CommunicationGroup",
     take_group},
    {OTHERS, "CommunicationGroupMapping",
     "SELECT group_name, rank_set FROM CommunicationGroupMapping", take_group},
    {OTHERS, "HostInfo",
     "SELECT r.rankId, h.hostName FROM RankDeviceMap r JOIN HostInfo h ON h.hostUid = r.hostUid "
     "LIMIT 16777216",
     take_host},
    {OTHERS, "ClusterBaseInfo",
     "SELECT json_extract(value, '$.world_size') FROM ClusterBaseInfo "
     "WHERE key = 'distributed_args' AND json_valid(value)",
     take_base},
};

static void read_table(struct pw_msprof *m, sqlite3 *db, size_t i)
{
    sqlite3_stmt *row = NULL;
    int status = sqlite3_prepare_v2(db, tables[i].query, -1, &row, NULL);
    while (status == SQLITE_OK || status == SQLITE_ROW) {
        status = sqlite3_step(row);
        if (status == SQLITE_ROW)
            tables[i].take(m, row);
        if (m->failed)
            break;
    }
    if (status != SQLITE_DONE && !m->failed)
        pw_msprof_complain(m,
                           "its table %s in cluster_analysis.db is damaged, or of another version: "
                           "%.120s",
                           tables[i].table, sqlite3_errmsg(db));
    sqlite3_finalize(row);
}

/* Reads the tables of cluster_analysis.db; needs SQLite. */
static void msprof_read_db(struct pw_msprof *m, const char *path)
{
    sqlite3 *db = pw_ascend_db_is_whole(path) ? pw_ascend_db_open(path) : NULL;
    if (!db) {
        pw_msprof_complain(m, "cluster_analysis.db is no database, or half written");
        return;
    }
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !m->failed; i++) {
        const size_t had[] = {m->nsteps, m->ntimes, m->nlinks, 0};
        if (!had[tables[i].what] && pw_ascend_db_has_table(db, tables[i].table))
            read_table(m, db, i);
    }
    sqlite3_close(db);
}

#else

void msprof_read_db(struct pw_msprof *m, const char *path)
{
    (void)path;
    pw_msprof_complain(m, "cluster_analysis.db needs a profwrap that was built with SQLite "
                          "(libsqlite3-dev)");
}

#endif

static const char output[] = "cluster_analysis_output";
enum { PATH_SIZE = 4096 };

/* ---- where it is ---- */

static int is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int pw_msprof_find(const char *path, char *directory, size_t size)
{
    char full[PATH_MAX], *slash;
    if (!realpath(path, full))
        return -ENOENT;
    if (is_directory(full)) {
        slash = strrchr(full, '/');
        if (strcmp(slash + 1, output) == 0)
            return (size_t)snprintf(directory, size, "%s", path) < size ? 0 : -ENOENT;
        return (size_t)snprintf(directory, size, "%s/%s", path, output) < size &&
                       is_directory(directory)
                   ? 0
                   : -ENOENT;
    }
    slash = strrchr(full, '/');
    const int is_own = fnmatch("cluster_step_trace_time.csv", slash + 1, 0) == 0 ||
                       fnmatch("cluster_communication*.json", slash + 1, 0) == 0 ||
                       fnmatch("cluster_analysis*.db", slash + 1, 0) == 0;
    *slash = '\0';
    return is_own && (size_t)snprintf(directory, size, "%s", *full ? full : "/") < size ? 0
                                                                                        : -ENOENT;
}

int pw_msprof_is(const char *path)
{
    char full[PATH_MAX], directory[PATH_SIZE];
    return pw_msprof_find(path, directory, sizeof(directory)) == 0 && realpath(path, full) &&
           (!is_directory(full) || strcmp(strrchr(full, '/') + 1, output) == 0);
}

/* ---- cluster_step_trace_time.csv ---- */

static int64_t cell_ns(const struct pw_csv_row *row, const char *name)
{
    const double us = 1e3;
    const char *cell = pw_csv_cell(row, name);
    char *end;
    const double number = strtod(cell, &end);
    return end != cell && !*end ? msprof_scaled(number, us) : -1;
}

static int32_t number_of(const char *text)
{
    char *end;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    return end != text && !*end && !errno && msprof_is_rank(number) ? (int32_t)number : -1;
}

static int msprof_take_step(void *context, const struct pw_csv_row *row)
{
    struct pw_msprof *m = context;
    const char *type = pw_csv_cell(row, "Type");
    if (strcmp(type, "stage") == 0)
        return 0; /* the most of its ranks */
    const struct pw_msprof_step step = {
        .rank = strcmp(type, "rank") == 0 ? number_of(pw_csv_cell(row, "Index")) : -1,
        .row = {.step = msprof_step_of(pw_csv_cell(row, "Step")),
                .computing_ns = cell_ns(row, "Computing"),
                .comm_ns = cell_ns(row, "Communication"),
                .exposed_ns = cell_ns(row, "Communication(Not Overlapped)"),
                .overlapped_ns = cell_ns(row, "Overlapped"),
                .free_ns = cell_ns(row, "Free"),
                .stage_ns = cell_ns(row, "Stage"),
                .bubble_ns = cell_ns(row, "Bubble"),
                .exposed_no_receive_ns =
                    cell_ns(row, "Communication(Not Overlapped and Exclude Receive)"),
                .preparing_ns = cell_ns(row, "Preparing")}};
    pw_msprof_add_step(m, &step);
    return m->failed ? -ENOMEM : 0;
}

static void read_steps(struct pw_msprof *m, const char *path)
{
    const int err = pw_csv_read(path, "Computing", msprof_take_step, m);
    m->failed |= err == -ENOMEM;
    if (err)
        pw_msprof_complain(m, "cluster_step_trace_time.csv is not read to its end: %s",
                           pw_csv_error(err));
}

/* ---- the files of JSON: by group, step and operation ---- */

static int64_t scaled(const json_t *object, const char *key, double unit)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? msprof_scaled(json_number_value(value), unit) : -1;
}

static void take_ranks(struct pw_msprof *m, struct pw_msprof_time *time, json_t *ranks)
{
    const double us = 1e3, ms = 1e6;
    const char *rank;
    json_t *one;
    json_object_foreach(ranks, rank, one)
    {
        const json_t *info = json_object_get(one, "Communication Time Info");
        time->rank = number_of(rank);
        time->start_ns = scaled(info, "Start Timestamp(us)", us);
        time->elapsed_ns = scaled(info, "Elapse Time(ms)", ms);
        time->transfer_ns = scaled(info, "Transit Time(ms)", ms);
        time->wait_ns = scaled(info, "Wait Time(ms)", ms);
        time->sync_ns = scaled(info, "Synchronization Time(ms)", ms);
        pw_msprof_add_time(m, time);
    }
}

static void take_links(struct pw_msprof *m, struct pw_msprof_link *link, json_t *links)
{
    const double mb = 1e6, ms = 1e6;
    const char *key;
    json_t *one;
    json_object_foreach(links, key, one)
    {
        const char *transport = json_string_value(json_object_get(one, "Transport Type"));
        int src = -1, dst = -1, end = 0;
        if (sscanf(key, "%8d-%8d%n", &src, &dst, &end) != 2 || key[end])
            src = -1;
        link->src = src;
        link->dst = dst;
        link->transport =
            msprof_text(m, transport ? transport : "", transport ? strlen(transport) : 0);
        link->bytes = scaled(one, "Transit Size(MB)", mb);
        link->transfer_ns = scaled(one, "Transit Time(ms)", ms);
        pw_msprof_add_link(m, link);
    }
}

/* Of the sums by kind that newer versions write, the fastest and slowest are parts. */
static int is_part(const char *name)
{
    return strncmp(name, "Total", 5) == 0 || strstr(name, "-top") || strstr(name, "-middle") ||
           strstr(name, "-bottom");
}

static void take_operations(struct pw_msprof *m, const char *ranks, int64_t step,
                            json_t *operations, int of_links)
{
    const char *key;
    json_t *operation;
    json_object_foreach(operations, key, operation)
    {
        const char *at = strrchr(key, '@');
        if (is_part(key))
            continue;
        const char *name = msprof_text(m, key, at ? (size_t)(at - key) : strlen(key));
        const char *group = msprof_text(m, at ? at + 1 : "", at ? strlen(at + 1) : 0);
        msprof_add_group(m, group, ranks);
        struct pw_msprof_time time = {.name = name, .group = group, .step = step};
        struct pw_msprof_link link = {.name = name, .group = group, .step = step};
        if (of_links)
            take_links(m, &link, operation);
        else
            take_ranks(m, &time, operation);
    }
}

static void read_json(struct pw_msprof *m, const char *path, int of_links)
{
    enum { MOST_JSON = 256 << 20 };
    const char *name = strrchr(path, '/') + 1, *ranks, *step;
    struct stat status;
    json_t *groups = NULL, *steps, *operations;
    FILE *in = pw_fopen_regular(path);
    if (in && fstat(fileno(in), &status) == 0 && status.st_size > MOST_JSON)
        pw_msprof_complain(m, "%s is larger than 256 MiB, and is not read", name);
    else if (!in || !(groups = json_loadf(in, 0, NULL)))
        pw_msprof_complain(m, "%s ends early, or is no JSON, and is not read", name);
    if (in)
        fclose(in);
    json_object_foreach(groups, ranks, steps)
    {
        json_object_foreach(steps, step, operations)
        {
            take_operations(m, ranks, msprof_step_of(step), operations, of_links);
        }
    }
    json_decref(groups);
}

static void read_times(struct pw_msprof *m, const char *path)
{
    read_json(m, path, 0);
}

static void read_links(struct pw_msprof *m, const char *path)
{
    read_json(m, path, 1);
}

/* ---- all ---- */

static int by_rank(const void *a, const void *b)
{
    const struct pw_msprof_step *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->row.step > y->row.step) - (x->row.step < y->row.step);
}

static int times_by_rank(const void *a, const void *b)
{
    const struct pw_msprof_time *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int links_by_source(const void *a, const void *b)
{
    const struct pw_msprof_link *x = a, *y = b;
    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return x->dst != y->dst ? (x->dst < y->dst ? -1 : 1) : strcmp(x->name, y->name);
}

static void read_file(struct pw_msprof *m, const char *name,
                      void (*read)(struct pw_msprof *m, const char *path))
{
    char path[PATH_SIZE];
    const size_t used = strlen(m->files);
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", m->directory, name) >= sizeof(path) ||
        access(path, F_OK))
        return;
    const size_t rows = m->nsteps + m->ntimes + m->nlinks;
    read(m, path);
    if (m->nsteps + m->ntimes + m->nlinks > rows)
        snprintf(m->files + used, sizeof(m->files) - used, "%s%s", used ? ", " : "", name);
}

int pw_msprof_read(const char *directory, struct pw_msprof **out)
{
    struct pw_msprof *m = calloc(1, sizeof(*m));
    *out = m;
    if (!m || !(m->directory = strdup(directory)))
        return -ENOMEM;
    m->world_size = -1;
    read_file(m, "cluster_step_trace_time.csv", read_steps);
    read_file(m, "cluster_communication.json", read_times);
    read_file(m, "cluster_communication_matrix.json", read_links);
    read_file(m, "cluster_analysis.db", msprof_read_db); /* what the files do not have */
    pw_sort(m->steps, m->nsteps, sizeof(*m->steps), by_rank);
    pw_sort(m->times, m->ntimes, sizeof(*m->times), times_by_rank);
    pw_sort(m->links, m->nlinks, sizeof(*m->links), links_by_source);
    return m->failed ? -ENOMEM : m->files[0] ? 0 : -ENOENT;
}

void pw_msprof_destroy(struct pw_msprof *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->ntexts; i++)
        free(m->texts[i]);
    for (size_t i = 0; i < m->ngroups; i++)
        free(m->groups[i].members);
    free(m->texts);
    free(m->groups);
    free(m->steps);
    free(m->times);
    free(m->links);
    free(m->hosts);
    free(m->directory);
    free(m);
}

static int by_number(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

size_t pw_msprof_ranks(const struct pw_msprof *m, int32_t **out)
{
    size_t n = 0, used = 0;
    int32_t *ranks = malloc((m->nsteps + m->ntimes + m->nlinks + 1) * sizeof(*ranks));
    *out = ranks;
    if (!ranks)
        return 0;
    for (size_t i = 0; i < m->nsteps; i++)
        ranks[n++] = m->steps[i].rank;
    for (size_t i = 0; i < m->ntimes; i++)
        ranks[n++] = m->times[i].rank;
    for (size_t i = 0; i < m->nlinks; i++)
        ranks[n++] = m->links[i].src;
    pw_sort(ranks, n, sizeof(*ranks), by_number);
    for (size_t i = 0; i < n; i++)
        if (!used || ranks[used - 1] != ranks[i])
            ranks[used++] = ranks[i];
    return used;
}

/* ---- the file of a rank of what msprof-analyze computed, where there are no profiles ----
 *
 * It has /msprof/steps, /hccl/times and /hccl/links, no events, and no steps: msprof-analyze has
 * how long they were, but not when. */

static void write_steps(struct pw_trace *trace, const struct pw_msprof *m)
{
    for (size_t i = 0; i < m->nsteps; i++) {
        if (m->steps[i].rank != trace->rank)
            continue;
        pw_rankfile_append(trace->file, PW_TABLE_msprof_step, &m->steps[i].row);
        trace->counts.events++;
        trace->counts.taken++;
    }
}

static void write_times(struct pw_trace_window *w, const struct pw_msprof *m)
{
    struct pw_trace *trace = w->trace;
    for (size_t i = 0; i < m->ntimes; i++) {
        const struct pw_msprof_time *t = &m->times[i];
        uint16_t op = 0;
        if (t->rank != trace->rank)
            continue;
        struct pw_row_hccl_time row = {
            .step = t->step,
            .comm = pw_ascend_comm_of(trace, t->group),
            .seq = -1,
            .name = pw_names_find(&trace->names, t->name, strlen(t->name)),
            .start = t->start_ns,
            .elapsed_ns = t->elapsed_ns,
            .transfer_ns = t->transfer_ns,
            .wait_ns = t->wait_ns,
            .sync_ns = t->sync_ns,
        };
        pw_ascend_operation(t->name, strlen(t->name), &op, &row.seq);
        row.op = op;
        pw_rankfile_append(trace->file, PW_TABLE_hccl_time, &row);
        trace->counts.events++;
        trace->counts.taken++;
        if (t->start_ns <= 0)
            continue;
        const int64_t end = pw_sum(t->start_ns, t->elapsed_ns);
        w->start_ns = t->start_ns < w->start_ns ? t->start_ns : w->start_ns;
        w->end_ns = end > w->end_ns ? end : w->end_ns;
    }
}

static void write_links(struct pw_trace *trace, const struct pw_msprof *m)
{
    for (size_t i = 0; i < m->nlinks; i++) {
        const struct pw_msprof_link *l = &m->links[i];
        if (l->src != trace->rank)
            continue;
        const struct pw_row_hccl_link row = {
            .step = l->step,
            .comm = pw_ascend_comm_of(trace, l->group),
            .name = pw_names_find(&trace->names, l->name, strlen(l->name)),
            .src = l->src,
            .dst = l->dst,
            .transport = pw_names_find(&trace->names, l->transport, strlen(l->transport)),
            .bytes = l->bytes,
            .transfer_ns = l->transfer_ns,
        };
        pw_rankfile_append(trace->file, PW_TABLE_hccl_link, &row);
        trace->counts.events++;
        trace->counts.taken++;
    }
}

/* It is found by planner.c, in directories. */
static int look(const char *path, struct pw_import_head *out)
{
    (void)path;
    *out = (struct pw_import_head){.rank = -1, .world_size = -1, .first_ns = INT64_MAX};
    return -EINVAL;
}

static int read_rank(const char *path, struct pw_trace_window *window,
                     const struct pw_import_progress *progress, char *problem, size_t size)
{
    const struct pw_msprof *m = window->trace->msprof;
    (void)path;
    (void)progress;
    if (!m)
        return -EINVAL;
    write_steps(window->trace, m);
    write_times(window, m);
    write_links(window->trace, m);
    if (m->problem[0]) {
        snprintf(problem, size, "%s", m->problem);
        window->trace->counts.cut_files++;
    }
    return 0;
}

static const char *const files[] = {NULL};

const struct pw_import_format pw_import_msprof = {
    .name = "msprof-analyze",
    .what = "what msprof-analyze computed from profiles (cluster_analysis_output)",
    .files = files,
    .look = look,
    .read = read_rank,
};

/* Compares sums of steps, operations and links. */

/* A value of both. `room` is how far rounding may take them apart. */
struct value {
    enum pw_msprof_kind kind;
    const char *column;
    int64_t rank, step, other, theirs, ours, room;
    int is_bytes;
};

static int64_t distance(int64_t a, int64_t b)
{
    const int64_t d = pw_difference(a, b);
    return d < 0 ? (d == INT64_MIN ? INT64_MAX : -d) : d;
}

static void compare(struct pw_msprof_compared *out, const struct value *v)
{
    if (v->theirs < 0)
        return;
    out->values[v->kind]++;
    if (distance(v->theirs, v->ours) <= v->room)
        return;
    int64_t all = 0;
    for (int i = 0; i < PW_MSPROF_KINDS; i++)
        all += out->different[i];
    out->different[v->kind]++;
    if (all && distance(out->worst.theirs, out->worst.ours) >= distance(v->theirs, v->ours))
        return;
    out->worst = (struct pw_msprof_difference){.rank = v->rank,
                                               .step = v->step,
                                               .other = v->other,
                                               .theirs = v->theirs,
                                               .ours = v->ours,
                                               .is_bytes = v->is_bytes};
    snprintf(out->worst.column, sizeof(out->worst.column), "%s", v->column);
}

/* ---- steps ---- */

static const struct pw_stepsum *find_step(const struct pw_stepsums *sums, int64_t step)
{
    /* a profile of one step may have no number in their file */
    if (step < 0)
        return sums->nsteps == 1 ? &sums->steps[0] : NULL;
    for (size_t i = 0; i < sums->nsteps; i++)
        if (sums->steps[i].step == step)
            return &sums->steps[i];
    return NULL;
}

static void compare_step(const struct pw_trace *trace, const struct pw_row_msprof_step *theirs,
                         struct pw_msprof_compared *out)
{
    const struct pw_stepsum *ours = find_step(trace->sums, theirs->step);
    if (!ours || ours->crossed) {
        out->unknown += !ours;
        out->crossed += ours != NULL;
        return;
    }
    const struct {
        const char *column;
        int64_t theirs, ours;
    } columns[] = {
        {"Computing", theirs->computing_ns, ours->computing_ns},
        {"Communication", theirs->comm_ns, ours->comm_ns},
        {"Communication(Not Overlapped)", theirs->exposed_ns, ours->exposed_ns},
        {"Overlapped", theirs->overlapped_ns, ours->comm_ns - ours->exposed_ns},
    };
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        compare(out, &(struct value){PW_MSPROF_OF_STEPS, columns[i].column, trace->rank,
                                     theirs->step, -1, columns[i].theirs, columns[i].ours, 1, 0});
}

/* ---- operations and links: their sums, by the same readers as ours ---- */

static int64_t plus(int64_t sum, int64_t one)
{
    return one > 0 ? pw_sum(sum, one) : sum;
}

static void compare_operations(const struct pw_trace *trace, struct pw_msprof_compared *out)
{
    struct pw_stepsums theirs = {0};
    for (size_t i = 0; i < trace->msprof->ntimes; i++) {
        const struct pw_msprof_time *t = &trace->msprof->times[i];
        struct pw_hcclsum *sum =
            t->rank == trace->rank ? pw_stepsums_operations(&theirs, t->step) : NULL;
        if (!sum)
            continue;
        sum->operations++;
        sum->elapsed_ns = plus(sum->elapsed_ns, t->elapsed_ns);
        sum->transfer_ns = plus(sum->transfer_ns, t->transfer_ns);
        sum->wait_ns = plus(sum->wait_ns, t->wait_ns);
        sum->sync_ns = plus(sum->sync_ns, t->sync_ns);
    }
    for (size_t i = 0; i < theirs.noperations; i++) {
        const struct pw_hcclsum *sum = &theirs.operations[i], *ours = NULL;
        for (size_t k = 0; k < trace->sums->noperations && !ours; k++)
            if (trace->sums->operations[k].step == sum->step)
                ours = &trace->sums->operations[k];
        out->unknown += !ours;
        const struct {
            const char *column;
            int64_t theirs, ours;
        } columns[] = {
            {"Elapse Time", sum->elapsed_ns, ours ? ours->elapsed_ns : 0},
            {"Transit Time", sum->transfer_ns, ours ? ours->transfer_ns : 0},
            {"Wait Time", sum->wait_ns, ours ? ours->wait_ns : 0},
            {"Synchronization Time", sum->sync_ns, ours ? ours->sync_ns : 0},
        };
        for (size_t c = 0; ours && c < sizeof(columns) / sizeof(columns[0]); c++)
            compare(out, &(struct value){PW_MSPROF_OF_OPERATIONS, columns[c].column, trace->rank,
                                         sum->step, -1, columns[c].theirs, columns[c].ours,
                                         sum->operations, 0});
    }
    pw_stepsums_fini(&theirs);
}

static void compare_links(const struct pw_trace *trace, struct pw_msprof_compared *out)
{
    struct pw_stepsums theirs = {0};
    for (size_t i = 0; i < trace->msprof->nlinks; i++) {
        const struct pw_msprof_link *l = &trace->msprof->links[i];
        struct pw_linksum *sum =
            l->src == trace->rank ? pw_stepsums_link(&theirs, l->src, l->dst) : NULL;
        if (!sum)
            continue;
        sum->rows++;
        sum->bytes = plus(sum->bytes, l->bytes);
        sum->transfer_ns = plus(sum->transfer_ns, l->transfer_ns);
    }
    for (size_t i = 0; i < theirs.nlinks; i++) {
        const struct pw_linksum *sum = &theirs.links[i], *ours = NULL;
        for (size_t k = 0; k < trace->sums->nlinks && !ours; k++)
            if (trace->sums->links[k].src == sum->src && trace->sums->links[k].dst == sum->dst)
                ours = &trace->sums->links[k];
        out->unknown += !ours;
        if (!ours)
            continue;
        compare(out, &(struct value){PW_MSPROF_OF_LINKS, "Transit Size", trace->rank, -1, sum->dst,
                                     sum->bytes, ours->bytes, sum->rows, 1});
        compare(out, &(struct value){PW_MSPROF_OF_LINKS, "Transit Time", trace->rank, -1, sum->dst,
                                     sum->transfer_ns, ours->transfer_ns, sum->rows, 0});
    }
    pw_stepsums_fini(&theirs);
}

void pw_msprof_compare(const struct pw_trace *trace, struct pw_msprof_compared *out)
{
    const struct pw_msprof *m = trace->msprof;
    *out = (struct pw_msprof_compared){0};
    for (size_t i = 0; i < m->nsteps; i++)
        if (m->steps[i].rank == trace->rank)
            compare_step(trace, &m->steps[i].row, out);
    compare_operations(trace, out);
    compare_links(trace, out);
}

/* ---- the line ---- */

void pw_msprof_compare_add(struct pw_msprof_compared *sum, const struct pw_msprof_compared *one)
{
    int64_t before = 0, now = 0;
    for (int i = 0; i < PW_MSPROF_KINDS; i++) {
        before += sum->different[i];
        now += one->different[i];
        sum->values[i] += one->values[i];
        sum->different[i] += one->different[i];
    }
    sum->crossed += one->crossed;
    sum->unknown += one->unknown;
    if (now && (!before || distance(one->worst.theirs, one->worst.ours) >
                               distance(sum->worst.theirs, sum->worst.ours)))
        sum->worst = one->worst;
}

static size_t say_value(const struct pw_msprof_difference *d, int64_t value, char *out, size_t size)
{
    const double us = 1e3, mb = 1e6;
    return (size_t)snprintf(out, size, d->is_bytes ? "%.6f MB" : "%.3f us",
                            (double)value / (d->is_bytes ? mb : us));
}

static void say_worst(const struct pw_msprof_difference *d, char *out, size_t size)
{
    char theirs[48], ours[48], by[48], where[64] = "";
    say_value(d, d->theirs, theirs, sizeof(theirs));
    say_value(d, d->ours, ours, sizeof(ours));
    say_value(d, distance(d->theirs, d->ours), by, sizeof(by));
    if (d->other >= 0)
        snprintf(where, sizeof(where), " to rank %" PRId64, d->other);
    else if (d->step >= 0)
        snprintf(where, sizeof(where), " in step %" PRId64, d->step);
    snprintf(out, size, "%s of rank %" PRId64 "%s is %s there and %s in the profiles, %s apart",
             d->column, d->rank, where, theirs, ours, by);
}

static size_t add(char *out, size_t size, size_t used, const char *words, int64_t n)
{
    return used < size ? used + (size_t)snprintf(out + used, size - used, words, n) : used;
}

const char *pw_msprof_compare_say(const struct pw_msprof_compared *sum, char *out, size_t size)
{
    static const char *const words[PW_MSPROF_KINDS] = {"%" PRId64 " times of steps",
                                                       "%" PRId64 " sums of communication",
                                                       "%" PRId64 " sums of links"};
    char worst[256];
    size_t used = 0;
    int64_t values = 0, different = 0;
    for (int i = 0; i < PW_MSPROF_KINDS; i++) {
        values += sum->values[i];
        different += sum->different[i];
    }
    if (!values) {
        used =
            add(out, size, used, "nothing of it can be compared with these profiles%.0" PRId64, 0);
    } else {
        used = add(out, size, used, different ? "of " : "agrees with the profiles in ", 0);
        for (int i = 0, n = 0; i < PW_MSPROF_KINDS; i++)
            if (sum->values[i]) {
                used = add(out, size, used, n++ ? " and " : "", 0);
                used = add(out, size, used, words[i], sum->values[i]);
            }
    }
    if (different && used < size) {
        say_worst(&sum->worst, worst, sizeof(worst));
        used += (size_t)snprintf(out + used, size - used,
                                 ", %" PRId64 " differ%s from the profiles; most: %s", different,
                                 different == 1 ? "s" : "", worst);
    }
    if (sum->crossed)
        used = add(out, size, used,
                   "; %" PRId64 " steps whose tasks cross a border are not compared, because tasks "
                   "are divided there here",
                   sum->crossed);
    if (sum->unknown)
        used =
            add(out, size, used,
                "; %" PRId64 " of its steps, sums and links are not in the profiles", sum->unknown);
    if (sum->values[PW_MSPROF_OF_STEPS])
        add(out, size, used,
            "; Free, Stage, Bubble and Preparing are defined otherwise here, and not compared", 0);
    return out;
}
