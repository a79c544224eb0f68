/* Collects rows of what msprof-analyze computed, and reads a cluster_analysis.db; see
 * msprof_rows.h. The columns of its tables are those of msprof-analyze's
 * cluster_analyse/common_func/tables_config.py. The units are those of msprof-analyze's other
 * files. With the option --data_simplification, tables have other names. Rows of which another file
 * of the directory had some are not read from the database. */
#include "import/msprof/msprof_rows.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/grow.h"
#include "core/limits.h"
#include "import/ascend/ascend_db.h"

/* ---- rows ---- */

enum { MOST_RANK = 1 << 24 };

const char *pw_msprof_text(struct pw_msprof *m, const char *text, size_t length)
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

int pw_msprof_is_rank(int64_t rank)
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
ADD(step, steps, pw_msprof_is_rank(step->rank) && step->row.computing_ns >= 0)
ADD(time, times, pw_msprof_is_rank(time->rank) && time->elapsed_ns >= 0)
ADD(link, links,
    pw_msprof_is_rank(link->src) && pw_msprof_is_rank(link->dst) && link->bytes >= 0 &&
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
        if (!more || !pw_msprof_is_rank(rank)) {
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

void pw_msprof_add_group(struct pw_msprof *m, const char *name, const char *ranks)
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

int64_t pw_msprof_step_of(const char *text)
{
    const char *digits = text + strcspn(text, "0123456789");
    errno = 0;
    const long long step = *digits ? strtoll(digits, NULL, 10) : -1;
    return errno || step >= PW_LIMIT ? -1 : step;
}

int64_t pw_msprof_scaled(double number, double unit)
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
               ? pw_msprof_scaled(sqlite3_column_double(row, column), unit)
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
                                        .row = {.step = pw_msprof_step_of(text_of(row, 0)),
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
                                        .name = pw_msprof_text(m, name, strlen(name)),
                                        .group = pw_msprof_text(m, group, strlen(group)),
                                        .step = pw_msprof_step_of(text_of(row, 0)),
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
                                        .name = pw_msprof_text(m, name, strlen(name)),
                                        .group = pw_msprof_text(m, group, strlen(group)),
                                        .transport =
                                            pw_msprof_text(m, transport, strlen(transport)),
                                        .step = pw_msprof_step_of(text_of(row, 0)),
                                        .bytes = ns_of(row, 5, mb),
                                        .transfer_ns = ns_of(row, 6, ms)};
    pw_msprof_add_link(m, &link);
}

static void take_group(struct pw_msprof *m, sqlite3_stmt *row)
{
    pw_msprof_add_group(m, text_of(row, 0), text_of(row, 1));
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
        (struct pw_msprof_host){rank_of(row, 0), pw_msprof_text(m, name, strlen(name))};
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

void pw_msprof_read_db(struct pw_msprof *m, const char *path)
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

void pw_msprof_read_db(struct pw_msprof *m, const char *path)
{
    (void)path;
    pw_msprof_complain(m, "cluster_analysis.db needs a profwrap that was built with SQLite "
                          "(libsqlite3-dev)");
}

#endif
