/* The sections of the text report; text_report.c has the table that calls them. Each prints its
 * body below the title, on the given page only, and returns 0 or -ENOMEM. A section that lacks its
 * data is not called. */
#ifndef PW_REPORT_TEXT_SECTIONS_H
#define PW_REPORT_TEXT_SECTIONS_H

#include "report/writing/page.h"

int pw_section_job(const struct pw_page *page);
int pw_section_hang(const struct pw_page *page);
int pw_section_epochs(const struct pw_page *page);
int pw_section_completeness(const struct pw_page *page);
int pw_section_clocks(const struct pw_page *page);
int pw_section_parts(const struct pw_page *page);
int pw_section_steps(const struct pw_page *page);
int pw_section_phases(const struct pw_page *page);
int pw_section_operators(const struct pw_page *page);
int pw_section_gpu(const struct pw_page *page);
int pw_section_flops(const struct pw_page *page);
int pw_section_kernels(const struct pw_page *page);
int pw_section_collectives(const struct pw_page *page);
int pw_section_p2p(const struct pw_page *page);
int pw_section_stragglers(const struct pw_page *page);
int pw_section_efficiency(const struct pw_page *page);
int pw_section_whatif(const struct pw_page *page);
int pw_section_data_pipeline(const struct pw_page *page);
int pw_section_utilisation(const struct pw_page *page);
int pw_section_hccl(const struct pw_page *page);
int pw_section_msprof(const struct pw_page *page);
int pw_section_aicore(const struct pw_page *page);
int pw_section_memory(const struct pw_page *page);
int pw_section_advice(const struct pw_page *page);

/* Prints the CPU time of the data pipeline's operators, if it is known. */
int pw_print_pipeline_cpu(const struct pw_page *page);

/* What a section lacks, as whole sentences. */
struct pw_lack {
    const char *reason; /* why it is empty; NULL: it is not */
    const char *how;    /* how to get it; NULL: nothing is unknown, or another section says it */
};

struct pw_lack pw_lack_clocks(const struct pw_figures *figures);
struct pw_lack pw_lack_steps(const struct pw_figures *figures);
struct pw_lack pw_lack_phases(const struct pw_figures *figures);
struct pw_lack pw_lack_operators(const struct pw_figures *figures);
struct pw_lack pw_lack_kernels(const struct pw_figures *figures);
struct pw_lack pw_lack_collectives(const struct pw_figures *figures);
struct pw_lack pw_lack_p2p(const struct pw_figures *figures);
struct pw_lack pw_lack_whatif(const struct pw_figures *figures);
struct pw_lack pw_lack_efficiency(const struct pw_figures *figures);
struct pw_lack pw_lack_queues(const struct pw_figures *figures);
struct pw_lack pw_lack_utilisation(const struct pw_figures *figures);
struct pw_lack pw_lack_memory(const struct pw_figures *figures);

/* Print what is lacking as the body of its section, or as a row of the list at the end. */
int pw_lack_print(const struct pw_page *page, const struct pw_lack *lack);
int pw_lack_list(const struct pw_page *page, const char *name, const struct pw_lack *lack);

#endif
