/* What tool processes say to the person: sentences on standard error, and diagnostics by domain
 * with PROFWRAP_LOG=domain:level. Never used by in-app code. */
#ifndef PW_CORE_LOG_H
#define PW_CORE_LOG_H

/* Only errors are printed after this. */
void pw_log_set_quiet(int quiet);

/* "profwrap: " and one sentence. */
__attribute__((format(printf, 1, 2))) void pw_say(const char *format, ...);

/* The same for what went wrong; printed even when quiet. */
__attribute__((format(printf, 1, 2))) void pw_error(const char *format, ...);

/* Whether PROFWRAP_LOG asks for `domain` at `level` or above. */
int pw_log_wants(const char *domain, int level);

/* A diagnostic, printed when PROFWRAP_LOG asks for `domain` at `level` or above. */
__attribute__((format(printf, 3, 4))) void pw_debug(const char *domain, int level,
                                                    const char *format, ...);

#endif
