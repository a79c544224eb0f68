/* The formats of `profwrap report`. Add a format here; docs/HOWTO_add_rows.md has the other steps.
 * A row is the word for --format, a remark for --help, and the function that writes the report
 * (report/report.h). It is NULL for the timeline, which src/timeline writes and
 * cli/commands/cmd_report.c calls, and for archives, which the program profwrap-otf2 writes. Used
 * by options.def and cli/commands/cmd_report.c. Nothing but macros; see choices.h.
 */
#ifndef PW_CORE_REPORT_FORMATS_H
#define PW_CORE_REPORT_FORMATS_H

#define PW_REPORT_FORMATS(FIRST, NEXT)                              \
    FIRST(text, "", pw_report_text)                                 \
    NEXT(line, " (first sentence and highlight)", pw_report_line)   \
    NEXT(json, "", pw_report_json)                                  \
    NEXT(csv, " (tables)", pw_report_csv)                           \
    NEXT(html, " (for a browser)", pw_report_html)                  \
    NEXT(folded, " (for flame graphs)", pw_report_folded)           \
    NEXT(chrome, " (a timeline for Perfetto, JSON)", NULL)          \
    NEXT(perfetto, " (the same, protobuf: a tenth as large)", NULL) \
    NEXT(otf2, " (an archive of traces, a directory)", NULL)

#endif
