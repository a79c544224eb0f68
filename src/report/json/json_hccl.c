/* What HCCL's own profiler measured, as JSON; see json_keys.h. The text report has the same rows in
 * the same order (text_hccl.c). */
#include "report/json/json_keys.h"

#include <stdlib.h>

#include "report/json/json_row.h"
#include "report/report.h"

static json_t *make_links(const struct pw_figures *f)
{
    size_t *order = NULL;
    json_t *array = json_array();
    int bad = !array || pw_figures_order_hccl_links(f, &order);
    for (size_t i = 0; i < f->cluster->nhccl_links && i < PW_REPORT_JSON_LINKS && !bad; i++) {
        json_t *row = pw_json_row(PW_TABLE_c_hccl_link, &f->cluster->hccl_links[order[i]]);
        bad |= json_object_set_new(row, "slowness",
                                   pw_json_real(pw_figures_hccl_slowness(f, order[i])));
        bad |= json_array_append_new(array, row);
    }
    free(order);
    return pw_json_or_null(array, bad);
}

json_t *pw_json_hccl(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    if (!c->nhccl_ranks && !c->nhccl_links)
        return json_null();
    json_t *all = json_object();
    int bad = !all;
    bad |= json_object_set_new(all, "ranks",
                               pw_json_rows(PW_TABLE_c_hccl_rank, c->hccl_ranks, c->nhccl_ranks));
    bad |= json_object_set_new(all, "links", make_links(f));
    bad |= json_object_set_new(all, "links_total", json_integer((json_int_t)c->nhccl_links));
    return pw_json_or_null(all, bad);
}
