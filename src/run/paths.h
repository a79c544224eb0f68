/* Where this program and its private files are, found relative to the running program. Called by
 * the run, doctor, the helpers and the HTML report. Tool code; only reads. */
#ifndef PW_RUN_PATHS_H
#define PW_RUN_PATHS_H

/* The directory with profwrap's private files (probe, merge program), without a slash at its end;
 * found relative to the running program. Returns 0 or -errno. */
int pw_cli_private_dir(char *path, int size);

/* As pw_cli_private_dir(), for the HTML report's template; also for a program that is itself in the
 * private directory. */
int pw_cli_page_dir(char *path, int size);

/* As pw_cli_private_dir(), for the directory that is added to the program's PYTHONPATH. */
int pw_cli_python_hook_dir(char *path, int size);

/* The path of the running program. Returns 0 or -errno. */
int pw_cli_self(char *path, int size);

#endif
