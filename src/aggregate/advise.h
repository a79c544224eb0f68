/* The advice in the cluster file. Called by aggregate.c after the other tables have been written:
 * the rules read the file as reports do, so that reports give the same advice. */
#ifndef PW_AGGREGATE_ADVISE_H
#define PW_AGGREGATE_ADVISE_H

#include "aggregate/output/clusterfile.h"

/* Writes /advice. Collective. */
void pw_advise_write(struct pw_clusterfile *file);

#endif
