/* Prints to standard error: sentences for the user, and diagnostics that PROFWRAP_LOG=DOMAIN:LEVEL
 * turns on. Called by all tool code except the analyses, which are pure, and the reports, which
 * write to their own stream. Never called by in-app code, which prints nothing. */
#ifndef PW_CORE_LOG_H
#define PW_CORE_LOG_H

/* With `quiet` 1, pw_say() prints nothing from now on. */
void pw_log_set_quiet(int quiet);

/* The file for messages that cannot be printed, because nobody reads standard error any more. It is
 * created by the first such message. */
void pw_log_set_file(const char *path);

/* Replaces standard input, output and error by /dev/null, so that nobody who waits for the end of
 * these pipes waits for this process. Messages go to the file. */
void pw_log_leave_terminal(void);

/* Prints "profwrap: " and one sentence, unless quiet. */
__attribute__((format(printf, 1, 2))) void pw_say(const char *format, ...);

/* Prints an error: "profwrap: " and one sentence, even when quiet. */
__attribute__((format(printf, 1, 2))) void pw_error(const char *format, ...);

/* The domains of diagnostics, each with the subject of its messages. At level 1 a stage prints what
 * it did or decided, at level 2 also why. */
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
    D(CRASH, crash, "a crash on a damaged file leaves a core dump")

#define PW_LOG_DOMAIN(id, name, what) PW_LOG_##id,
enum pw_log_domain { PW_LOG_DOMAINS(PW_LOG_DOMAIN) PW_LOG_END };
#undef PW_LOG_DOMAIN

/* All names of domains in one string literal, each after a space. */
#define PW_LOG_LISTED(id, name, what) " " #name
#define PW_LOG_DOMAIN_LIST PW_LOG_DOMAINS(PW_LOG_LISTED)

/* Whether PROFWRAP_LOG asks for `domain` at `level` or above. */
int pw_log_wants(enum pw_log_domain domain, int level);

/* A diagnostic, printed when PROFWRAP_LOG asks for `domain` at `level` or above. */
__attribute__((format(printf, 3, 4))) void pw_debug(enum pw_log_domain domain, int level,
                                                    const char *format, ...);

/* Prints an error for each part of PROFWRAP_LOG that is not DOMAIN:LEVEL. */
void pw_log_check(void);

#endif
