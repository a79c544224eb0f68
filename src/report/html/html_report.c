/* Writes the HTML report: page.html with its parts inserted. A line <!-- put NAME --> of page.html
 * is replaced by the file NAME beside it, by the library D3 (d3), or by this run's data, planes or
 * timelines.
 *
 * Every script has the nonce that the page's content security policy requires: if a name from a
 * file were ever shown as HTML, a script in it would not run. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/safefile.h"
#include "report/content/onefigures.h"
#include "report/html/html_data.h"
#include "report/html/html_planes.h"
#include "report/html/html_timeline.h"
#include "report/report.h"

struct page {
    FILE *out;
    const struct pw_report_options *options;
    const struct pw_columns *columns;
    char nonce[33];
};

static void make_nonce(char nonce[33])
{
    uint8_t bytes[16] = {0};
    if (getrandom(bytes, sizeof(bytes), 0) < 0)
        bytes[0] = 1; /* without random bytes, the page still opens */
    for (int i = 0; i < 16; i++)
        snprintf(nonce + (ptrdiff_t)2 * i, 3, "%02x", bytes[i]);
}

static int put_file(FILE *out, const char *path)
{
    char block[16384];
    size_t n;
    FILE *in = pw_fopen_regular(path);
    if (!in)
        return -errno;
    while ((n = fread(block, 1, sizeof(block), in)) > 0)
        fwrite(block, 1, n, out);
    int err = ferror(in) ? -EIO : 0;
    fclose(in);
    return err;
}

static int put(const struct page *page, const char *name)
{
    char path[PATH_MAX];
    if (strcmp(name, "data") == 0)
        return pw_html_data_write(page->out, page->columns);
    if (strcmp(name, "planes") == 0)
        return pw_planes_write(page->out, page->columns);
    if (strcmp(name, "timelines") == 0)
        return pw_html_timelines_write(page->out, page->columns->figures, page->options);
    if (strcmp(name, "d3") == 0)
        return put_file(page->out, page->options->d3);
    if (snprintf(path, sizeof(path), "%s/%s", page->options->page_dir, name) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    return put_file(page->out, path);
}

/* Writes a line of the template, with NONCE and CONNECT replaced: the served page may ask its
 * server, others nobody. */
static void put_line(const struct page *page, const char *line)
{
    const struct {
        const char *mark, *text;
    } marks[] = {{"NONCE", page->nonce}, {"CONNECT", page->options->is_served ? "self" : "none"}};
    while (*line) {
        size_t n = 1;
        const char *text = NULL;
        for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]) && !text; i++)
            if (strncmp(line, marks[i].mark, strlen(marks[i].mark)) == 0) {
                n = strlen(marks[i].mark);
                text = marks[i].text;
            }
        fwrite(text ? text : line, 1, text ? strlen(text) : 1, page->out);
        line += n;
    }
}

static int put_page(const struct page *page, FILE *template)
{
    char line[1024], name[64];
    int err = 0;
    while (!err && fgets(line, sizeof(line), template)) {
        int end = 0;
        if (sscanf(line, " <!-- put %63[a-z0-9_.] -->%n", name, &end) == 1 && end)
            err = put(page, name);
        else
            put_line(page, line);
    }
    if (!err && (ferror(template) || ferror(page->out)))
        err = -EIO;
    return err;
}

int pw_report_html(FILE *out, const struct pw_cluster *cluster,
                   const struct pw_report_options *options)
{
    char path[PATH_MAX];
    struct pw_onefigures one;
    if (snprintf(path, sizeof(path), "%s/page.html", options->page_dir) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    FILE *template = pw_fopen_regular(path);
    if (!template)
        return -errno;
    int err = pw_onefigures_take(cluster, options, &one);
    if (!err) {
        struct pw_columns columns;
        struct page page = {.out = out, .options = options, .columns = &columns};
        make_nonce(page.nonce);
        pw_columns_init(one.figures, &columns);
        err = put_page(&page, template);
        pw_onefigures_release(&one);
    }
    fclose(template);
    return err;
}
