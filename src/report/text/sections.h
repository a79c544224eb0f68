/* The sections of the text report; text_report.c has the table that calls them. Each prints its
 * body below the title, on the given page only, and returns 0 or -ENOMEM. */
#ifndef PW_REPORT_TEXT_SECTIONS_H
#define PW_REPORT_TEXT_SECTIONS_H

#include "report/writing/page.h"

int pw_section_job(const struct pw_page *page);
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
int pw_section_memory(const struct pw_page *page);
int pw_section_advice(const struct pw_page *page);

#endif
