/* Lists of words that the help of an option names and that code elsewhere has a row for: each
 * stands here alone. A row is the word, a remark for --help, and what the code has for it. A list
 * is called with two macros, FIRST for its first row and NEXT for the others, so that both "a|b|c"
 * and "a, b, c" can be made of it. Used by options.c and by the tables that are named below.
 * Nothing but macros. */
#ifndef PW_CORE_CHOICES_H
#define PW_CORE_CHOICES_H

/* `profwrap report --format`: the function that writes it (cli/cmd_report.c). */
#define PW_REPORT_FORMATS(FIRST, NEXT)                            \
    FIRST(text, "", pw_report_text)                               \
    NEXT(line, " (first sentence and highlight)", pw_report_line) \
    NEXT(json, "", pw_report_json)                                \
    NEXT(csv, " (tables)", pw_report_csv)                         \
    NEXT(html, " (for a browser)", pw_report_html)                \
    NEXT(folded, " (for flame graphs)", pw_report_folded)         \
    NEXT(chrome, " (a timeline for Perfetto)", NULL)

/* `profwrap import --format`: its struct pw_import_format (import/formats.c), in the order in which
 * they are tried: Kineto's takes every list of events. */
#define PW_IMPORT_FORMATS(FIRST, NEXT)                         \
    FIRST(inspector, " (NCCL Inspector)", pw_import_inspector) \
    NEXT(flight, " (Flight Recorder)", pw_import_flight)       \
    NEXT(kineto, " (PyTorch)", pw_import_kineto)

/* `--activities`, those that are recorded by default: the bit of rank/ring/record.h. What else can
 * be named is in run/activities.c. */
#define PW_ACTIVITIES(FIRST, NEXT)                              \
    FIRST(mpi, "", PW_ACTIVITY_MPI)                             \
    NEXT(nccl, "", PW_ACTIVITY_NCCL)                            \
    NEXT(torch, " (torch.distributed)", PW_ACTIVITY_TORCH)      \
    NEXT(annotations, " (profwrap.h)", PW_ACTIVITY_ANNOTATIONS) \
    NEXT(nvtx, "", PW_ACTIVITY_NVTX)                            \
    NEXT(cuda, " (NVIDIA GPUs)", PW_ACTIVITY_CUDA)              \
    NEXT(rocm, " (AMD GPUs)", PW_ACTIVITY_ROCM)                 \
    NEXT(sys, " (/proc)", PW_ACTIVITY_SYS)

#define PW_CHOICE_WORDS(LIST) LIST(PW_CHOICE_WORD, PW_CHOICE_BAR_WORD)         /* "a|b" */
#define PW_CHOICE_DEFAULT(LIST) LIST(PW_CHOICE_WORD, PW_CHOICE_COMMA_WORD)     /* "a,b" */
#define PW_CHOICE_LIST(LIST) LIST(PW_CHOICE_WORD, PW_CHOICE_LIST_WORD)         /* "a, b" */
#define PW_CHOICE_HELP(LIST) LIST(PW_CHOICE_HELP_ROW, PW_CHOICE_LIST_HELP_ROW) /* "a (what), b" */

#define PW_CHOICE_WORD(word, remark, what) #word
#define PW_CHOICE_BAR_WORD(word, remark, what) "|" #word
#define PW_CHOICE_COMMA_WORD(word, remark, what) "," #word
#define PW_CHOICE_LIST_WORD(word, remark, what) ", " #word
#define PW_CHOICE_HELP_ROW(word, remark, what) #word remark
#define PW_CHOICE_LIST_HELP_ROW(word, remark, what) ", " #word remark

#endif
