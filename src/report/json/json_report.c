/* Writes the JSON report: the summary, and the keys of each section. */
#include <errno.h>
#include <jansson.h>

#include "report/content/onefigures.h"
#include "report/json/json_summary.h"
#include "report/report.h"
#include "report/sections/section.h"

/* The output is ASCII: a name may contain characters that control a terminal (C1 controls) or
 * reverse the direction of text, and JSON itself escapes only characters below 0x20. */
enum { DUMP_FLAGS = JSON_INDENT(1) | JSON_REAL_PRECISION(12) | JSON_ENSURE_ASCII };

int pw_report_json(FILE *out, const struct pw_cluster *cluster,
                   const struct pw_report_options *options)
{
    struct pw_onefigures one;
    int err = pw_onefigures_take(cluster, options, &one);
    if (err)
        return err;
    json_t *root = json_object();
    int bad = json_object_set_new(root, "summary", pw_json_summary(one.figures));
    for (size_t i = 0; pw_sections[i]; i++)
        bad |= pw_section_set_keys(pw_sections[i], one.figures, root);
    if (bad)
        err = -ENOMEM;
    else if (json_dumpf(root, out, DUMP_FLAGS) || fputc('\n', out) < 0)
        err = -EIO;
    json_decref(root);
    pw_onefigures_release(&one);
    return err;
}
