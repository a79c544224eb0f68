/* What to do, as rows of the cluster file: the rules of analysis/advice/advice.h on what process 0
 * knows. */
#ifndef PW_AGGREGATE_FINDINGS_ADVISE_H
#define PW_AGGREGATE_FINDINGS_ADVISE_H

#include "aggregate/findings/findings.h"
#include "aggregate/output/clusterfile.h"

/* Collective; the findings are process 0's, and the job's notes are gathered. */
void pw_advise_write(struct pw_clusterfile *file, const struct pw_job *job,
                     const struct pw_share *share, const struct pw_findings *findings);

#endif
