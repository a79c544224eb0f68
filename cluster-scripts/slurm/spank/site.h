/* What the administrator says in plugstack.conf, and the command line that follows from it and from
 * what the user asks for. Nothing here touches a file, the environment or Slurm. */
#ifndef PW_SLURM_SITE_H
#define PW_SLURM_SITE_H

#include <stddef.h>
#include <stdint.h>

enum { PW_SITE_PATH = 1024, PW_SITE_TEXT = 1024, PW_COMMAND_SIZE = 8192, PW_NOTE_SIZE = 256 };

/* Who merges the rank files: rank 0 when the step ends, the epilog, or only who wants to. */
enum pw_merger { PW_MERGER_STEP, PW_MERGER_EPILOG, PW_MERGER_NOBODY };

struct pw_site {
    char output[PW_SITE_PATH];  /* where profiles go; %u is the user, %j the job; "" beside it */
    char options[PW_SITE_TEXT]; /* of run, before the user's */
    char state[PW_SITE_PATH];   /* what the prolog keeps of the jobs on this node */
    int64_t job_bytes;          /* a job may write, 0 no limit */
    int64_t free_bytes;         /* must be free where profiles go */
    int level;                  /* the highest allowed */
    enum pw_merger merger;
};

void pw_site_init(struct pw_site *site);

/* One word NAME=VALUE of plugstack.conf. 0, or -EINVAL with one sentence in `note` and *site as it
 * was. */
int pw_site_read(struct pw_site *site, const char *word, char note[PW_NOTE_SIZE]);

/* "12", "4K", "3M", "2G"; -1 for anything else. */
int64_t pw_site_size(const char *text);

/* `pattern` with %u and %j replaced. 0, or -ENAMETOOLONG, or -EINVAL for what profwrap would
 * replace later, by something else in each rank: %r and %h. */
int pw_site_expand(const char *pattern, const char *user, const char *job, char *out, size_t size);

struct pw_request {
    const char *profwrap; /* path of the program, without blanks */
    const char *options;  /* as the user wrote them */
    const char *level;    /* that the user's environment asks for, or NULL */
    int64_t rank_bytes;   /* a rank's file may have, 0 no limit */
};

/* The command in front of a task's own, words separated by one blank, "--" last. What is not
 * allowed is left out or lowered, and said in `note` (else ""). 0, or -EINVAL with `note`. */
int pw_site_command(const struct pw_site *site, const struct pw_request *request,
                    char out[PW_COMMAND_SIZE], char note[PW_NOTE_SIZE]);

#endif
