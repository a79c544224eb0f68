/* What other profilers added up, as JSON; see json_keys.h. The text report has the same rows
 * (text_reported.c). */
#include "report/json/json_keys.h"

#include "analysis/figures/msprof.h"
#include "report/json/json_row.h"
#include "report/report.h"

static json_t *make_longest(const struct pw_msprof *m)
{
    json_t *array = json_array();
    int bad = !array;
    for (size_t i = 0; i < m->nsteps && i < PW_REPORT_JSON_STEPS && !bad; i++) {
        const struct pw_msprof_longest *s = &m->steps[i];
        json_t *row = json_object();
        bad |= json_object_set_new(row, "step", pw_json_int(s->step));
        bad |= json_object_set_new(row, "rank", pw_json_int(s->rank));
        bad |= json_object_set_new(row, "computing_ns", pw_json_int(s->computing_ns));
        bad |= json_object_set_new(row, "others_median_ns", pw_json_int(s->others_ns));
        bad |= json_object_set_new(row, "ranks", pw_json_int(s->nranks));
        bad |= json_array_append_new(array, row);
    }
    return pw_json_or_null(array, bad);
}

json_t *pw_json_msprof(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    struct pw_msprof m;
    if (!c->nmsprof_steps)
        return json_null();
    if (pw_msprof_make(c, &m))
        return NULL;
    json_t *all = json_object();
    int bad = !all;
    bad |= json_object_set_new(all, "longest_rank", pw_json_int(m.rank));
    bad |= json_object_set_new(all, "longest_in_steps", pw_json_int(m.rank < 0 ? -1 : m.hits));
    bad |= json_object_set_new(all, "excess", pw_json_real(m.excess));
    bad |= json_object_set_new(all, "longest", make_longest(&m));
    bad |= json_object_set_new(
        all, "steps",
        c->nmsprof_steps > PW_REPORT_JSON_CELLS
            ? json_null()
            : pw_json_rows(PW_TABLE_c_msprof_step, c->msprof_steps, c->nmsprof_steps));
    pw_msprof_fini(&m);
    return pw_json_or_null(all, bad);
}

json_t *pw_json_aicore(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    const size_t n = c->nmindinsight_sums;
    return n ? pw_json_rows(PW_TABLE_c_mindinsight_sum, c->mindinsight_sums,
                            n < PW_REPORT_JSON_OPERATORS ? n : PW_REPORT_JSON_OPERATORS)
             : json_null();
}

json_t *pw_json_pipeline_cpu(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    return c->npipeline_cpu
               ? pw_json_rows(PW_TABLE_c_pipeline_cpu, c->pipeline_cpu, c->npipeline_cpu)
               : json_null();
}
