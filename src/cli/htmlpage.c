/* Finds the parts of an HTML report; see htmlpage.h. */
#include "cli/htmlpage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/safefile.h"
#include "run/paths.h"

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
        snprintf(problem, size, "cannot read D3 from '%s'", path);
        return -ENOENT;
    }
    snprintf(head, sizeof(head), "%s", text);
    int version = d3_version(head), ends = strstr(text, "</script") != NULL;
    free(text);
    if (version >= D3_LEAST && !ends)
        return 0;
    if (version < 0 || ends)
        snprintf(problem, size, "'%s' is not D3's d3.min.js", path);
    else
        snprintf(problem, size, "'%s' is D3 %d, but HTML needs D3 %d or later", path, version,
                 D3_LEAST);
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
        snprintf(problem, size, "the name of D3's file is too long");
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
