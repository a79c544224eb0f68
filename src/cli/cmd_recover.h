/* Recovering all ranks of a directory. */
#ifndef PW_CLI_CMD_RECOVER_H
#define PW_CLI_CMD_RECOVER_H

#include <stdint.h>

struct pw_recovery {
    int recovered, running, failed; /* ranks */
};

/* Recovers every rank that left a journal in `dir`, or with `clock_domain` those of one machine;
 * says each failure. 0, or -errno when `dir` cannot be read. */
int pw_cli_recover_all(const char *dir, uint64_t clock_domain, struct pw_recovery *out);

#endif
