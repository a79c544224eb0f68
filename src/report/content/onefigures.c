/* Lets several reports on the same cluster file share their figures; see onefigures.h. */
#include "report/content/onefigures.h"

int pw_onefigures_take(const struct pw_cluster *cluster, const struct pw_report_options *options,
                       struct pw_onefigures *out)
{
    *out = (struct pw_onefigures){.figures = options->figures};
    if (out->figures)
        return 0;
    const int err = pw_figures_create(cluster, &out->own);
    out->figures = out->own;
    return err;
}

void pw_onefigures_release(struct pw_onefigures *figures)
{
    pw_figures_destroy(figures->own);
}
