/* The communicators, if there are several: which group of ranks waits longest, and for whom. */
#include "report/sections/section.h"
#include "report/writing/page.h"
#include "report/writing/rowgrid.h"

static bool has_several(const struct pw_cluster *c)
{
    return c->ncommunicators > 1;
}

static int show_communicators(const struct pw_page *page)
{
    static const struct pw_rowgrid_column columns[] = {
        {"communicator", "name"},
        {"ranks", "ranks"},
        {"size", "nranks"},
        {"collectives", "collectives"},
        {"bytes", "bytes"},
        {"wait of\na rank", "wait_ns"},
        {"of the\nrun", "wait_share"},
        {"transfer", "transfer_ns"},
        {"waits most\nfor rank", "late_rank"},
        {"of it", "late_wait_ns"},
    };
    const struct pw_rowgrid rows = {PW_TABLE_c_communicator, PW_COLUMNS(columns), NULL,
                                    page->figures->cluster->ncommunicators};
    int err = pw_rowgrid_print(page, &rows);
    return err ? err
               : pw_page_print(page, 2, 2,
                               "The wait is the sum over the collectives that all members "
                               "recorded, divided by the number of members; \"of it\": the part "
                               "that was for that rank, which may have been late because it waited "
                               "in another communicator.");
}

const struct pw_section pw_section_communicators = {
    .name = "communicators",
    .title = "Communicators: which group of ranks waits longest, and for whom",
    .flags = PW_SECTION_WHOLE,
    .tables = {PW_TABLE_c_communicator},
    .is_of = has_several,
    .print = show_communicators,
};
