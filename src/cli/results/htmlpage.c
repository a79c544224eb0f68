/* Finds the parts of an HTML report, and writes its timelines; see htmlpage.h. */
#include "cli/results/htmlpage.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/results/clusterpath.h"
#include "core/readlimit.h"
#include "core/safefile.h"
#include "run/paths.h"
#include "timeline/rankview.h"
#include "timeline/timeline.h"

enum { D3_LEAST = 5 };

/* Returns the version in the comment at the beginning of D3's file; -1: no D3 file. */
static int d3_version(const char *head)
{
    static const char mark[] = "d3js.org v";
    const char *at = strstr(head, mark);
    return at ? atoi(at + strlen(mark)) : -1;
}

/* Returns the contents of a file, which the caller frees; NULL when its length is not plausible for
 * a library. */
static char *read_text(const char *path)
{
    enum { MOST = 1 << 23 };
    FILE *in = pw_fopen_regular(path);
    char *text = in ? calloc(1, MOST + 1) : NULL;
    size_t n = text ? fread(text, 1, MOST, in) : 0;
    if (in)
        fclose(in);
    if (n > 0 && n < MOST)
        return text;
    free(text);
    return NULL;
}

static int check_d3(const char *path, char *problem, size_t size)
{
    char *text = read_text(path), head[128] = "";
    if (!text) {
        snprintf(problem, size, "cannot read D3 from '%s'; --d3 takes the file d3.min.js", path);
        return -ENOENT;
    }
    snprintf(head, sizeof(head), "%s", text);
    int version = d3_version(head), ends = strstr(text, "</script") != NULL;
    free(text);
    if (version >= D3_LEAST && !ends)
        return 0;
    if (version < 0 || ends)
        snprintf(problem, size, "'%s' is not D3's d3.min.js, which --d3 takes", path);
    else
        snprintf(problem, size, "'%s' is D3 %d, but HTML needs D3 %d or later; --d3 takes another",
                 path, version, D3_LEAST);
    return -EINVAL;
}

int pw_htmlpage_find(const char *d3, struct pw_htmlpage *out, char *problem, size_t size)
{
    char page[PATH_MAX + 16];
    int err = pw_cli_page_dir(out->dir, sizeof(out->dir));
    snprintf(page, sizeof(page), "%s/page.html", out->dir);
    if (err || access(page, R_OK)) {
        snprintf(problem, size,
                 "the HTML template is missing beside this program: install it again");
        return -ENOENT;
    }
    int n = d3[0] ? snprintf(out->d3, sizeof(out->d3), "%s", d3)
                  : snprintf(out->d3, sizeof(out->d3), "%s/d3.min.js", out->dir);
    if (n >= (int)sizeof(out->d3)) {
        snprintf(problem, size, "the name of D3's file is too long; choose a shorter path");
        return -ENAMETOOLONG;
    }
    if (!d3[0] && access(out->d3, R_OK)) {
        snprintf(problem, size,
                 "HTML needs D3, which was not there when profwrap was built: name its d3.min.js "
                 "with --d3 or PROFWRAP_D3 (Debian: package node-d3)");
        return -ENOENT;
    }
    return check_d3(out->d3, problem, size);
}

/* ---- timelines of single steps, from the rank files beside the cluster file ---- */

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
