/* What tool processes print for a person: sentences on standard error, and diagnostics by domain
 * with PROFWRAP_LOG=DOMAIN:LEVEL. Called by all tool code; never by in-app code, which prints
 * nothing, nor by the analyses and the text of reports, which are pure or write to their own
 * stream. */
#ifndef PW_CORE_LOG_H
#define PW_CORE_LOG_H

/* Only errors are printed after this. */
void pw_log_set_quiet(int quiet);

/* "profwrap: " and one sentence. */
__attribute__((format(printf, 1, 2))) void pw_say(const char *format, ...);

/* The same for what went wrong; printed even when quiet. */
__attribute__((format(printf, 1, 2))) void pw_error(const char *format, ...);

/* The domains of diagnostics, each with what it tells of. At level 1 a stage tells what it did or
 * decided, at level 2 also why. */
#define PW_LOG_DOMAINS(D)                                                          \
    D(LAUNCH, launch, "starts of collectors")                                      \
    D(RING, ring, "rings that were made for the program")                          \
    D(INTAKE, intake, "records that a collector processed, and why some are lost") \
    D(RECOVER, recover, "ranks that a recovery made files of, and from what")      \
    D(CLOCK, clock, "probes between hosts' clocks, alignment")                     \
    D(WATCH, watch, "the watchdog for hangs")                                      \
    D(IMPORT, import, "traces that are imported: formats, ranks, communicators")   \
    D(MERGE, merge, "stages of a merge")                                           \
    D(VERDICT, verdict, "ranks that were examined, and why they are named or not") \
    D(CONFINE, confine, "limits set to commands that read files")                  \
    D(CRASH, crash, "leaves crashes while reading damaged files to the debugger")

#define PW_LOG_DOMAIN(id, name, what) PW_LOG_##id,
enum pw_log_domain { PW_LOG_DOMAINS(PW_LOG_DOMAIN) PW_LOG_END };
#undef PW_LOG_DOMAIN

/* Their names, a space before each. */
#define PW_LOG_LISTED(id, name, what) " " #name
#define PW_LOG_DOMAIN_LIST PW_LOG_DOMAINS(PW_LOG_LISTED)

/* Whether PROFWRAP_LOG asks for `domain` at `level` or above. */
int pw_log_wants(enum pw_log_domain domain, int level);

/* A diagnostic, printed when PROFWRAP_LOG asks for `domain` at `level` or above. */
__attribute__((format(printf, 3, 4))) void pw_debug(enum pw_log_domain domain, int level,
                                                    const char *format, ...);

/* Says which part of PROFWRAP_LOG is not DOMAIN:LEVEL, if any. */
void pw_log_check(void);

#endif
