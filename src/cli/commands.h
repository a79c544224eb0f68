/* profwrap's subcommands: each takes its own arguments (argv[0] is its name) and answers the exit
 * status. */
#ifndef PW_CLI_COMMANDS_H
#define PW_CLI_COMMANDS_H

int pw_cli_run(int argc, char **argv);
int pw_cli_worker(int argc, char **argv);
int pw_cli_merge(int argc, char **argv);
int pw_cli_compare(int argc, char **argv);
int pw_cli_dump(int argc, char **argv);
int pw_cli_recover(int argc, char **argv);
int pw_cli_doctor(int argc, char **argv);
int pw_cli_ctl(int argc, char **argv);
int pw_cli_sweep(int argc, char **argv);
int pw_cli_sim(int argc, char **argv);
int pw_cli_import(int argc, char **argv);

/* Becomes the program that serves a job's metrics; the exit status when it cannot. */
int pw_cli_serve_metrics(const char *dir, const char *listen, const char *token_file);

#endif
