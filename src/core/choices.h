/* The words that options take, and macros that make the text of --help of them. The words of an
 * option are a list: a row is the word, a remark for --help, and what the word stands for in the
 * code. A list takes two macros, FIRST for its first row and NEXT for the others, so that the text
 * can be "a|b|c" or "a, b, c". Used by options.def, run/activities.c, import/trace/format.c and
 * cli/commands/cmd_report.c. Nothing but macros. */
#ifndef PW_CORE_CHOICES_H
#define PW_CORE_CHOICES_H

/* The words of `--activities` that are recorded by default. A row is the word, a remark for --help,
 * and the bit (rank/ring/record.h). run/activities.c has the other words that --activities takes:
 * the names of the modules. */

#define PW_ACTIVITIES(FIRST, NEXT)                               \
    FIRST(mpi, "", PW_ACTIVITY_MPI)                              \
    NEXT(nccl, "", PW_ACTIVITY_NCCL)                             \
    NEXT(torch, " (torch.distributed)", PW_ACTIVITY_TORCH)       \
    NEXT(mindspore, " (its collectives)", PW_ACTIVITY_MINDSPORE) \
    NEXT(annotations, " (profwrap.h)", PW_ACTIVITY_ANNOTATIONS)  \
    NEXT(nvtx, "", PW_ACTIVITY_NVTX)                             \
    NEXT(cuda, " (NVIDIA GPUs)", PW_ACTIVITY_CUDA)               \
    NEXT(rocm, " (AMD GPUs)", PW_ACTIVITY_ROCM)                  \
    NEXT(sys, " (/proc)", PW_ACTIVITY_SYS)

/* The formats of `profwrap import`. Add a format here; docs/HOWTO_add_rows.md has the other steps.
 * A row is the word for --format, a remark for --help, and the struct pw_import_format
 * (import/trace/format.h). The formats are tried in this order; kineto is last, because it accepts
 * every list of events. */

#define PW_IMPORT_FORMATS(FIRST, NEXT)                                  \
    FIRST(inspector, " (NCCL Inspector)", pw_import_inspector)          \
    NEXT(flight, " (Flight Recorder)", pw_import_flight)                \
    NEXT(ascend, " (MindSpore, Ascend)", pw_import_ascend)              \
    NEXT(mindinsight, " (MindSpore before 2.4)", pw_import_mindinsight) \
    NEXT(kineto, " (PyTorch)", pw_import_kineto)

/* The formats of `profwrap report`. Add a format here; docs/HOWTO_add_rows.md has the other steps.
 * A row is the word for --format, a remark for --help, and the function that writes the report
 * (report/report.h). It is NULL for the timeline, which src/timeline writes and
 * cli/commands/cmd_report.c calls, and for archives, which the program profwrap-otf2 writes. */

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

#define PW_CHOICE_WORDS(LIST) LIST(PW_CHOICE_WORD, PW_CHOICE_BAR_WORD)     /* "a|b" */
#define PW_CHOICE_DEFAULT(LIST) LIST(PW_CHOICE_WORD, PW_CHOICE_COMMA_WORD) /* "a,b" */
#define PW_CHOICE_LIST(LIST) LIST(PW_CHOICE_WORD, PW_CHOICE_LIST_WORD)     /* "a, b" */
#define PW_CHOICE_HELP(LIST) /* "a (remark), b" */ LIST(PW_CHOICE_HELP_ROW, PW_CHOICE_LIST_HELP_ROW)

#define PW_CHOICE_WORD(word, remark, what) #word
#define PW_CHOICE_BAR_WORD(word, remark, what) "|" #word
#define PW_CHOICE_COMMA_WORD(word, remark, what) "," #word
#define PW_CHOICE_LIST_WORD(word, remark, what) ", " #word
#define PW_CHOICE_HELP_ROW(word, remark, what) #word remark
#define PW_CHOICE_LIST_HELP_ROW(word, remark, what) ", " #word remark

#endif
