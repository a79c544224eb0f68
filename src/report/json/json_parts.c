/* The parts of the run as JSON; see json_parts.h. */
#include "report/json/json_parts.h"

#include "analysis/partmean.h"
#include "core/limits.h"
#include "report/json/json_row.h"
#include "report/writing/words.h"

static json_t *time_json(double ns)
{
    return pw_json_int(ns < 0 ? -1 : pw_whole(ns + 0.5));
}

static json_t *part_json(const struct pw_figures *f, const struct pw_parts_known *known, int part,
                         const struct pw_partmean *mean, double run_ns)
{
    const int is_known = mean->mean_ns >= 0;
    const int64_t rank = is_known ? f->cluster->ranks[mean->most_rank].rank : -1;
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "part", pw_enum_name(PW_F_PART, part),
                     "words", pw_words_part(part, known), "mean_ns", time_json(mean->mean_ns),
                     "share", pw_json_real(is_known && run_ns > 0 ? mean->mean_ns / run_ns : -1),
                     "wait_ns", time_json(mean->wait_ns), "longest_own_ns",
                     time_json(mean->most_ns), "longest_rank", pw_json_int(rank));
}

json_t *pw_json_parts(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    const struct pw_parts_known known = pw_parts_known(c->part_trace, c->nrank_rows);
    struct pw_partmean means[PW_PARTS];
    if (!known.nranks)
        return json_null();
    pw_partmeans(c->part_trace, c->nrank_rows, &known, means);
    const struct pw_partmean run = pw_partmeans_sum(means);
    json_t *rows = json_array();
    int bad = !rows;
    for (int i = 0; i < PW_PARTS; i++)
        bad |= json_array_append_new(
            rows, part_json(f, &known, PW_PART_START + i, &means[i], run.mean_ns));
    json_t *parts =
        json_pack("{s:I, s:o, s:o, s:o}", "ranks", (json_int_t)known.nranks, "run_ns",
                  time_json(run.mean_ns), "wait_ns", time_json(run.wait_ns), "rows", rows);
    if (!bad)
        return parts;
    json_decref(parts);
    return NULL;
}
