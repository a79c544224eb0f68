/* Finds the parts of an HTML report: profwrap's template, and D3. Called by cmd_report.c. Tool
 * code; prints nothing, the caller prints `problem`. */
#ifndef PW_CLI_HTMLPAGE_H
#define PW_CLI_HTMLPAGE_H

#include <limits.h>
#include <stddef.h>

struct pw_htmlpage {
    char dir[PATH_MAX]; /* of page.html */
    char d3[PATH_MAX];
};

/* `d3` is the user's file; "": the one that was found when profwrap was built. Returns 0, or -errno
 * with one sentence in `problem`. */
int pw_htmlpage_find(const char *d3, struct pw_htmlpage *out, char *problem, size_t size);

#endif
