/* Prints metrics as OpenMetrics text; see metrics_text.h. */
#include "cli/metrics_text.h"

#include <stdlib.h>

#include "report/live/liveview.h"
#include "run/hangfile.h"

int pw_metrics_print(const struct pw_inquiry *inquiry, FILE *out)
{
    int32_t *silent = NULL;
    struct pw_live_view view = {
        .ranks = inquiry->lives,
        .n = inquiry->n,
        .nsilent = pw_hangfile_silent(inquiry, &silent),
    };
    view.silent = silent;
    int err = pw_openmetrics_print(&view, out);
    free(silent);
    return err;
}
