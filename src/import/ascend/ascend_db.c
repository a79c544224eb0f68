/* Reads the tables of a profile's database by one query for each layer; see ascend_db.h. The tables
 * are those of Ascend/msprof (analysis/csrc/application/database) and of torch_npu
 * (profiler/analysis). */
#include "import/ascend/ascend_db.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/safefile.h"
#include "import/ascend/ascend_events.h"

int pw_ascend_is_db(const char *path)
{
    static const char mark[16] = "SQLite format 3";
    char begin[sizeof(mark)] = "";
    FILE *in = pw_fopen_regular(path);
    if (!in)
        return 0;
    size_t n = fread(begin, 1, sizeof(begin), in);
    fclose(in);
    return n == sizeof(mark) && memcmp(begin, mark, sizeof(mark)) == 0;
}

/* The head of a database has the size of its pages, and their number, which is up to date if two
 * counters of changes are the same. */
int pw_ascend_db_is_whole(const char *path)
{
    unsigned char head[100];
    struct stat status;
    FILE *in = pw_ascend_is_db(path) ? pw_fopen_regular(path) : NULL;
    const size_t n = in ? fread(head, 1, sizeof(head), in) : 0;
    const int is_stat = in && fstat(fileno(in), &status) == 0;
    if (in)
        fclose(in);
    if (n < sizeof(head) || !is_stat)
        return 0;
    const int64_t page = head[16] << 8 | head[17];
    const int64_t pages =
        (int64_t)head[28] << 24 | (int64_t)head[29] << 16 | (int64_t)head[30] << 8 | head[31];
    if (memcmp(head + 24, head + 92, 4) != 0)
        return status.st_size > (off_t)sizeof(head);
    return status.st_size >= (page == 1 ? 65536 : page) * pages;
}

#ifdef PW_HAVE_SQLITE

#include <sqlite3.h>

int pw_ascend_db_can_be_read(void)
{
    return 1;
}

/* ---- queries ---- */

/* The layers, by the numbers of their processes. */
enum { HOST = 1, CALLS, DEVICE, HCCL, LAYERS };

/* Columns named start, end (ns), tid and name are those of the event, all others its arguments. */
static const struct {
    const char *table; /* without it nothing is read */
    int layer;
    const char *query;
} queries[] = {
    {"STEP_TIME", HOST,
     "SELECT startNs AS start, endNs AS end, 0 AS tid, 'ProfilerStep#' || id AS name "
     "FROM STEP_TIME"},
    {"PYTORCH_API", HOST,
     "SELECT a.startNs AS start, a.endNs AS end, a.globalTid & 4294967295 AS tid, n.value AS name, "
     "a.sequenceNumber AS \"Sequence number\" "
     "FROM PYTORCH_API a LEFT JOIN STRING_IDS n ON n.id = a.name"},
    {"CANN_API", CALLS,
     "SELECT a.startNs AS start, a.endNs AS end, a.globalTid & 4294967295 AS tid, n.value AS name, "
     "a.connectionId AS connection_id "
     "FROM CANN_API a LEFT JOIN STRING_IDS n ON n.id = a.name"},
    {"COMPUTE_TASK_INFO", DEVICE,
     "SELECT t.startNs AS start, t.endNs AS end, t.streamId AS tid, n.value AS name, "
     "t.connectionId AS connection_id, k.value AS \"Task Type\" "
     "FROM COMPUTE_TASK_INFO c JOIN TASK t ON t.globalTaskId = c.globalTaskId "
     "LEFT JOIN STRING_IDS n ON n.id = c.name LEFT JOIN STRING_IDS k ON k.id = c.taskType"},
    {"MEMCPY_INFO", DEVICE,
     "SELECT t.startNs AS start, t.endNs AS end, t.streamId AS tid, 'MEMCPY_ASYNC' AS name, "
     "t.connectionId AS connection_id, 'MEMCPY_ASYNC' AS \"Task Type\", m.size AS \"size(B)\", "
     "o.name AS operation "
     "FROM MEMCPY_INFO m JOIN TASK t ON t.globalTaskId = m.globalTaskId "
     "LEFT JOIN ENUM_MEMCPY_OPERATION o ON o.id = m.memcpyOperation"},
    {"COMMUNICATION_OP", HCCL,
     "SELECT c.startNs AS start, c.endNs AS end, c.groupName AS tid, n.value AS name, "
     "c.connectionId AS connection_id, c.count AS count, d.name AS data_type, a.value AS alg_type "
     "FROM COMMUNICATION_OP c LEFT JOIN STRING_IDS n ON n.id = c.opName "
     "LEFT JOIN ENUM_HCCL_DATA_TYPE d ON d.id = c.dataType "
     "LEFT JOIN STRING_IDS a ON a.id = c.algType"},
};
enum { QUERIES = sizeof(queries) / sizeof(queries[0]) };

static const char groups_query[] =
    "SELECT DISTINCT c.groupName, g.value FROM COMMUNICATION_OP c "
    "JOIN STRING_IDS g ON g.id = c.groupName ORDER BY c.groupName LIMIT 65536";

/* ---- the database ---- */

sqlite3 *pw_ascend_db_open(const char *path)
{
    sqlite3 *db = NULL;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW, NULL) !=
        SQLITE_OK) {
        sqlite3_close(db);
        return NULL;
    }
    /* what a database of unknown origin may make SQLite do */
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    return db;
}

int pw_ascend_db_has_table(sqlite3 *db, const char *table)
{
    sqlite3_stmt *row = NULL;
    int found =
        sqlite3_prepare_v2(db, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1", -1,
                           &row, NULL) == SQLITE_OK &&
        sqlite3_bind_text(row, 1, table, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW;
    sqlite3_finalize(row);
    return found;
}

/* The first value of a query, or `otherwise`. */
static int64_t get_int(sqlite3 *db, const char *query, int64_t otherwise)
{
    sqlite3_stmt *row = NULL;
    if (sqlite3_prepare_v2(db, query, -1, &row, NULL) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW && sqlite3_column_type(row, 0) == SQLITE_INTEGER)
        otherwise = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return otherwise;
}

static void get_text(sqlite3 *db, const char *query, char *out, size_t size)
{
    sqlite3_stmt *row = NULL;
    if (sqlite3_prepare_v2(db, query, -1, &row, NULL) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW && sqlite3_column_text(row, 0))
        snprintf(out, size, "%s", (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
}

/* The groups of HCCL as threads, by their numbers. */
static int read_groups(sqlite3 *db, struct pw_ascend_layers *layers)
{
    sqlite3_stmt *row = NULL;
    if (!pw_ascend_db_has_table(db, "COMMUNICATION_OP") ||
        sqlite3_prepare_v2(db, groups_query, -1, &row, NULL) != SQLITE_OK)
        return 0;
    while (sqlite3_step(row) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 1);
        struct pw_ascend_thread *more =
            realloc(layers->threads, (layers->nthreads + 1) * sizeof(*more));
        if (!more) {
            sqlite3_finalize(row);
            return -ENOMEM;
        }
        layers->threads = more;
        more[layers->nthreads] = (struct pw_ascend_thread){
            .pid = HCCL, .tid = sqlite3_column_int64(row, 0), .is_group = 1};
        snprintf(more[layers->nthreads++].group, sizeof(more->group), "%.63s", name ? name : "");
    }
    sqlite3_finalize(row);
    return 0;
}

static int read_layers(sqlite3 *db, struct pw_ascend_layers *layers)
{
    static const enum pw_ascend_layer of[LAYERS] = {
        [HOST] = PW_LAYER_FRAMEWORK,
        [CALLS] = PW_LAYER_CANN,
        [DEVICE] = PW_LAYER_DEVICE,
        [HCCL] = PW_LAYER_HCCL,
    };
    *layers = (struct pw_ascend_layers){.first_ns = INT64_MAX};
    layers->processes = calloc(LAYERS, sizeof(*layers->processes));
    if (!layers->processes)
        return -ENOMEM;
    for (int i = HOST; i < LAYERS; i++)
        layers->processes[layers->nprocesses++] = (struct pw_ascend_process){
            .pid = i,
            .layer = of[i],
            .device = (int32_t)get_int(db, "SELECT deviceId FROM RANK_DEVICE_MAP", 0),
        };
    return read_groups(db, layers);
}

/* ---- rows as events ---- */

/* Takes a row: times in ns become microseconds with decimals, as traces have them. */
static int take_row(struct pw_ascend *a, sqlite3_stmt *row, const char *layer)
{
    enum { MOST_COLUMNS = 16 };
    char ts[32] = "", dur[32] = "";
    int64_t start = 0, end = -1;
    a->json.object.n = 0;
    pw_ascend_set_item(&a->json.object, "ph", "X", 0);
    pw_ascend_set_item(&a->json.object, "pid", layer, 0);
    for (int i = 0; i < sqlite3_column_count(row) && i < MOST_COLUMNS; i++) {
        const char *key = sqlite3_column_name(row, i);
        const char *text = (const char *)sqlite3_column_text(row, i);
        if (!key) /* memory is short */
            continue;
        if (strcmp(key, "start") == 0)
            start = sqlite3_column_int64(row, i);
        else if (strcmp(key, "end") == 0)
            end = sqlite3_column_int64(row, i);
        else if (text)
            pw_ascend_set_item(&a->json.object, key, text,
                               strcmp(key, "tid") != 0 && strcmp(key, "name") != 0);
    }
    if (start > 0 && end >= start) {
        snprintf(ts, sizeof(ts), "%lld.%03d", (long long)(start / 1000), (int)(start % 1000));
        snprintf(dur, sizeof(dur), "%lld.%03d", (long long)((end - start) / 1000),
                 (int)((end - start) % 1000));
    }
    pw_ascend_set_item(&a->json.object, "ts", ts, 0);
    pw_ascend_set_item(&a->json.object, "dur", dur, 0);
    return pw_ascend_take(a);
}

/* How many rows a query may have: each row of its table has one task and one name. In a damaged
 * database, where all have the same number, it would have the square of that. */
static int64_t most_rows(sqlite3 *db, const char *table)
{
    enum { TIMES = 4 };
    char query[128];
    snprintf(query, sizeof(query), "SELECT count(*) FROM %s", table);
    const int64_t rows = get_int(db, query, 0);
    return rows < INT64_MAX / TIMES ? TIMES * rows : INT64_MAX;
}

static int run_query(struct pw_ascend *a, sqlite3 *db, size_t number, char *problem, size_t size)
{
    char layer[8];
    sqlite3_stmt *row = NULL;
    int64_t left = most_rows(db, queries[number].table);
    int status = sqlite3_prepare_v2(db, queries[number].query, -1, &row, NULL);
    snprintf(layer, sizeof(layer), "%d", queries[number].layer);
    while (status == SQLITE_OK || status == SQLITE_ROW) {
        status = sqlite3_step(row);
        if (status != SQLITE_ROW)
            break;
        if (left-- == 0) {
            snprintf(problem, size,
                     "its table %s is not read to its end: its rows have the same number",
                     queries[number].table);
            status = SQLITE_DONE;
            break;
        }
        a->trace->counts.events++;
        int omitted = take_row(a, row, layer);
        if (omitted)
            pw_trace_omit(a->trace, (enum pw_omission)omitted);
    }
    if (status != SQLITE_DONE && !problem[0])
        snprintf(problem, size, "its table %s is damaged, or of another version: %.120s",
                 queries[number].table, sqlite3_errmsg(db));
    sqlite3_finalize(row);
    return status == SQLITE_NOMEM ? -ENOMEM : 0;
}

/* Tasks that no event is made of. */
static void count_others(struct pw_trace *trace, sqlite3 *db)
{
    static const struct {
        const char *query;
        enum pw_omission reason;
    } counts[] = {
        {"SELECT count(*) FROM COMMUNICATION_TASK_INFO", PW_OMIT_HCCL_TASK},
        {"SELECT count(*) FROM OVERLAP_ANALYSIS", PW_OMIT_DERIVED},
        {"SELECT (SELECT count(*) FROM TASK) - (SELECT count(*) FROM COMPUTE_TASK_INFO)",
         PW_OMIT_TASK},
    };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        int64_t n = get_int(db, counts[i].query, 0);
        n -= counts[i].reason == PW_OMIT_TASK
                 ? get_int(db, "SELECT count(*) FROM COMMUNICATION_TASK_INFO", 0) +
                       get_int(db, "SELECT count(*) FROM MEMCPY_INFO", 0)
                 : 0;
        n = n < 0 ? 0 : n;
        trace->counts.events += n;
        trace->counts.omitted[counts[i].reason] += n;
    }
}

int pw_ascend_db_read(const char *path, struct pw_trace_window *window, char *problem, size_t size)
{
    struct pw_ascend_layers layers = {0};
    struct pw_ascend *a = calloc(1, sizeof(*a));
    sqlite3 *db = pw_ascend_db_open(path);
    int err = !a ? -ENOMEM : !db ? -EIO : read_layers(db, &layers);
    if (a && !err) {
        *a = (struct pw_ascend){.window = window, .trace = window->trace, .layers = &layers};
        for (size_t i = 0; i < QUERIES && !err; i++)
            if (pw_ascend_db_has_table(db, queries[i].table))
                err = run_query(a, db, i, problem, size);
        count_others(window->trace, db);
    }
    sqlite3_close(db);
    pw_ascend_layers_fini(&layers);
    free(a);
    return err;
}

int pw_ascend_db_look(const char *path, struct pw_import_head *out)
{
    sqlite3 *db = pw_ascend_db_open(path);
    int err = db ? 0 : -EIO;
    if (db && !pw_ascend_db_has_table(db, "TASK") &&
        !pw_ascend_db_has_table(db, "COMMUNICATION_OP")) {
        snprintf(out->problem, sizeof(out->problem),
                 "has neither tasks nor operations: it is damaged, or no profile of Ascend");
        err = -ENOTSUP;
    }
    if (!err) {
        int64_t rank = get_int(db, "SELECT rankId FROM RANK_DEVICE_MAP", -1);
        out->rank = rank >= 0 && rank < 1 << 24 ? rank : -1;
        out->first_ns = get_int(db, "SELECT min(startNs) FROM TASK", INT64_MAX);
        get_text(db, "SELECT hostName FROM HOST_INFO", out->hostname, sizeof(out->hostname));
        sqlite3_stmt *row = NULL;
        if (pw_ascend_db_has_table(db, "COMMUNICATION_OP") &&
            sqlite3_prepare_v2(db, groups_query, -1, &row, NULL) == SQLITE_OK)
            while (sqlite3_step(row) == SQLITE_ROW)
                pw_import_add_group_name(out, (const char *)sqlite3_column_text(row, 1));
        sqlite3_finalize(row);
    }
    sqlite3_close(db);
    return err;
}

#else

int pw_ascend_db_can_be_read(void)
{
    return 0;
}

int pw_ascend_db_look(const char *path, struct pw_import_head *out)
{
    (void)path;
    snprintf(out->problem, sizeof(out->problem),
             "is a database, which needs a profwrap that was built with SQLite (libsqlite3-dev)");
    return -ENOTSUP;
}

int pw_ascend_db_read(const char *path, struct pw_trace_window *window, char *problem, size_t size)
{
    (void)path, (void)window;
    snprintf(problem, size, "this profwrap was built without SQLite");
    return -ENOTSUP;
}

#endif
