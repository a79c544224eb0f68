/* Where this program and its private files are, found relative to the running program. Called by
 * the run, doctor, the helpers and the HTML report. Tool code; only reads. */
#ifndef PW_RUN_PATHS_H
#define PW_RUN_PATHS_H

/* Directory that holds bin/profwrap's private files (probe, merge helper), with a trailing
 * slash-less path; found relative to the running program. 0 or -errno. */
int pw_cli_private_dir(char *path, int size);

/* The same of the HTML report's template. */
int pw_cli_page_dir(char *path, int size);

/* The same of the directory that goes into the program's PYTHONPATH. */
int pw_cli_python_hook_dir(char *path, int size);

/* Path of the running program. 0 or -errno. */
int pw_cli_self(char *path, int size);

#endif
