/* The key `clock` of the JSON report. Rows are not made by pw_json_rows(): offsets and drifts may
 * be negative. */
#include "report/json/json_clocks.h"

#include "report/json/json_row.h"

static json_t *make_domain(const struct pw_row_c_clock *clock)
{
    int known = clock->error_ns >= 0, drifts = known && clock->drift_error_ppm > 0;
    json_t *row = json_object();
    int bad = json_object_set_new(row, "rank", pw_json_int(clock->rank));
    bad |= json_object_set_new(row, "hostname",
                               pw_json_text(clock->hostname, sizeof(clock->hostname)));
    bad |= json_object_set_new(row, "domain", pw_json_int(clock->domain));
    bad |= json_object_set_new(row, "source", pw_json_text(clock->source, sizeof(clock->source)));
    bad |=
        json_object_set_new(row, "offset_ns", known ? json_integer(clock->offset_ns) : json_null());
    bad |=
        json_object_set_new(row, "drift_ppm", drifts ? json_real(clock->drift_ppm) : json_null());
    bad |= json_object_set_new(row, "drift_error_ppm",
                               drifts ? json_real(clock->drift_error_ppm) : json_null());
    bad |= json_object_set_new(row, "error_ns", pw_json_int(clock->error_ns));
    bad |= json_object_set_new(row, "knots", pw_json_int(clock->knots));
    bad |= json_object_set_new(row, "active_knots", pw_json_int(clock->active_knots));
    bad |= json_object_set_new(row, "bounds", pw_json_int(clock->bounds));
    bad |= json_object_set_new(row, "violations", pw_json_int(clock->violations));
    bad |= json_object_set_new(row, "violations_beyond", pw_json_int(clock->violations_beyond));
    if (!bad)
        return row;
    json_decref(row);
    return NULL;
}

static json_t *make_ranks(const struct pw_cluster *c)
{
    json_t *array = json_array();
    for (size_t r = 0; array && r < c->nclocks; r++)
        if (json_array_append_new(array, make_domain(&c->clocks[r]))) {
            json_decref(array);
            array = NULL;
        }
    return array;
}

json_t *pw_json_clocks(const struct pw_figures *f)
{
    json_t *clock = json_object();
    int bad = json_object_set_new(clock, "error_median_ns", pw_json_int(f->clock_error_median_ns));
    bad |= json_object_set_new(clock, "error_max_ns", pw_json_int(f->clock_error_max_ns));
    bad |= json_object_set_new(clock, "ranks", make_ranks(f->cluster));
    if (!bad)
        return clock;
    json_decref(clock);
    return NULL;
}
