/* Where a cluster has the rows of each table; see cluster.h. */
#include "core/cluster.h"

#include <stdlib.h>
#include <string.h>

/* Offsets in struct pw_cluster, bytes. */
struct place {
    enum pw_cluster_where where;
    size_t member, count;
};

#define PLACE_ROWS(member, count)                                                                \
    {                                                                                            \
        PW_CLUSTER_ROWS, offsetof(struct pw_cluster, member), offsetof(struct pw_cluster, count) \
    }
#define PLACE_CELLS(member, count)                               \
    {                                                            \
        PW_CLUSTER_CELLS, offsetof(struct pw_cluster, member), 0 \
    }
#define PLACE_FILE(member, count) \
    {                             \
        PW_CLUSTER_FILE, 0, 0     \
    }
#define PLACE(table, path, fields, where, member, count) \
    [PW_TABLE_##table] = PLACE_##where(member, count),

static const struct place places[PW_TABLE_COUNT] = {PW_CLUSTER_TABLES(PLACE)};

enum pw_cluster_where pw_cluster_where(int table)
{
    return places[table].where;
}

struct pw_cluster_rows pw_cluster_rows(const struct pw_cluster *cluster, int table)
{
    struct pw_cluster_rows rows;
    memcpy(&rows.rows, (const char *)cluster + places[table].member, sizeof(rows.rows));
    memcpy(&rows.n, (const char *)cluster + places[table].count, sizeof(rows.n));
    return rows;
}

void pw_cluster_take(struct pw_cluster *cluster, int table, struct pw_cluster_rows rows)
{
    memcpy((char *)cluster + places[table].member, &rows.rows, sizeof(rows.rows));
    memcpy((char *)cluster + places[table].count, &rows.n, sizeof(rows.n));
}

struct pw_cells *pw_cluster_cells(struct pw_cluster *cluster, int table)
{
    return (struct pw_cells *)(void *)((char *)cluster + places[table].member);
}

void pw_cluster_destroy(struct pw_cluster *cluster)
{
    if (!cluster)
        return;
    for (int table = PW_RANK_TABLE_COUNT; table < PW_TABLE_COUNT; table++)
        if (places[table].where == PW_CLUSTER_ROWS)
            free(pw_cluster_rows(cluster, table).rows);
        else if (places[table].where == PW_CLUSTER_CELLS)
            pw_cells_fini(pw_cluster_cells(cluster, table));
    free(cluster);
}
