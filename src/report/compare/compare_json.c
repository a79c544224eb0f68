/* A comparison as JSON; see compare.h. */
#include <errno.h>
#include <math.h>

#include "report/compare/compare.h"
#include "report/json/json_row.h"

static const char *const keys[PW_COMPARE_GROUPS] = {
    "run", "parts", "steps", "times", "phases", "ranks", "collectives", "operators",
};

/* NULL when memory is short, which json_array_append_new() answers to. */
static json_t *row_json(const struct pw_compare_row *row)
{
    double change = pw_compare_change(row);
    return json_pack("{s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:b}", "what",
                     pw_json_text(row->name, sizeof(row->name)), "first_ns", pw_json_real(row->a),
                     "second_ns", pw_json_real(row->b), "change",
                     isfinite(change) ? json_real(change) : json_null(), "first_samples",
                     (json_int_t)row->a_steps, "second_samples", (json_int_t)row->b_steps, "p",
                     pw_json_real(row->p), "significant", pw_compare_is_significant(row));
}

static int fill(json_t *root, const struct pw_comparison *c)
{
    int err = 0;
    for (int group = 0; group < PW_COMPARE_GROUPS; group++) {
        json_t *rows = json_array();
        for (size_t i = 0; i < c->nrows; i++)
            if ((int)c->rows[i].group == group)
                err |= json_array_append_new(rows, row_json(&c->rows[i]));
        err |= json_object_set_new(root, keys[group], rows);
    }
    return err;
}

static const char *place_name(enum pw_compare_place place)
{
    static const char *const names[PW_COMPARE_PLACES] = {
        "steps",         "few_steps",   "slow_steps",   "before_steps",
        "between_steps", "after_steps", "outside_steps"};
    return names[place];
}

static const char *kind_name(enum pw_compare_kind kind)
{
    static const char *const names[] = {"unknown", "same", "slower", "faster"};
    return names[kind];
}

/* Whose it is, of one rank alone; else -1. */
static int64_t rank_of(const struct pw_comparison *c, const struct pw_compare_difference *d,
                       const struct pw_compare_outside *out)
{
    if (d->place == PW_COMPARE_IN_FEW_STEPS)
        return c->few_rank;
    return out && out->alike == 1 ? out->rank : -1;
}

static json_t *differences_json(const struct pw_comparison *c)
{
    json_t *all = json_array();
    for (size_t i = 0; i < c->ndifferences; i++) {
        const struct pw_compare_difference *d = &c->differences[i];
        const struct pw_compare_outside *out = pw_compare_outside_of(c, d);
        json_t *one =
            json_pack("{s:s, s:f, s:f, s:b, s:o, s:o}", "where", place_name(d->place),
                      "difference_ns", d->ns, "p", d->p, "sure", d->is_sure, "part",
                      out ? json_string(pw_enum_name(PW_F_PART, (int)out->part)) : json_null(),
                      "rank", pw_json_int(rank_of(c, d, out)));
        if (json_array_append_new(all, one)) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

int pw_compare_json(FILE *out, const struct pw_comparison *comparison)
{
    char headline[1024];
    pw_compare_headline(comparison, headline, sizeof(headline));
    json_t *root = json_pack(
        "{s:o, s:s, s:o, s:f, s:f, s:o, s:b, s:f, s:o}", "headline",
        pw_json_text(headline, sizeof(headline)), "verdict", kind_name(comparison->kind), "reason",
        pw_json_text(comparison->why, sizeof(comparison->why)), "difference_ns", comparison->ns,
        "share", comparison->share, "differences", differences_json(comparison), "slower",
        pw_compare_is_slower(comparison), "threshold", comparison->threshold, "unlike",
        pw_json_text(comparison->unlike, sizeof(comparison->unlike)));
    int err = !root || fill(root, comparison) ? -ENOMEM : 0;
    if (!err && (json_dumpf(root, out, JSON_INDENT(1)) || fputc('\n', out) == EOF))
        err = -EIO;
    json_decref(root);
    return err;
}
