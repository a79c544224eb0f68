/* Writes a time of some ranks for the HTML report; see stepwindow.h. */
#include "cli/stepwindow.h"

#include <limits.h>

#include "cli/clusterpath.h"
#include "core/readlimit.h"
#include "timeline/rankview.h"
#include "timeline/timeline.h"

/* More bytes of rank files than this are not read for an HTML report: it would take long. */
enum { READ_MOST = 64 << 20 };

int pw_cli_write_window(void *context, FILE *out, struct pw_report_window *window)
{
    char dir[PATH_MAX];
    struct pw_cli_windows *windows = context;
    pw_cli_directory_of(windows->cluster_file, dir);
    if (window->nspans > 1 && !windows->kept_rows) /* without, the files are read for each window */
        windows->kept_rows = pw_keptrows_create(window->spans, window->nspans);
    const struct pw_timeline_options options = {
        .dir = dir,
        .cluster_file = windows->cluster_file,
        .ranks = window->ranks,
        .from = window->from,
        .until = window->until,
        .most_bytes = window->most_bytes,
        .keeps_files = window->keeps_files,
        .kept_rows = window->nspans > 1 ? windows->kept_rows : NULL,
    };
    struct pw_timeline_result result;
    int err = pw_timeline_write(out, window->cluster, &options, &result);
    window->base_ns = result.base_ns;
    window->share = result.share;
    window->unread = result.unread;
    return err;
}

void pw_cli_windows_fini(struct pw_cli_windows *windows)
{
    pw_keptrows_destroy(windows->kept_rows);
    windows->kept_rows = NULL;
}

void pw_cli_add_timelines(struct pw_report_options *wanted, const struct pw_cluster *cluster,
                          struct pw_cli_windows *windows)
{
    char dir[PATH_MAX];
    pw_cli_directory_of(windows->cluster_file, dir);
    const double share = cluster->nrank_rows > PW_REPORT_WINDOW_RANKS
                             ? (double)PW_REPORT_WINDOW_RANKS / (double)cluster->nrank_rows
                             : 1;
    if (share * (double)pw_readlimit_size(dir) > READ_MOST)
        return;
    wanted->timeline = pw_cli_write_window;
    wanted->timeline_context = windows;
}
