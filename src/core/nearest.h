/* Finds the word that a user probably meant when the user typed an unknown one, as in "did you mean
 * 'report'?". Called by core/options.c and cli/commands.c. Tool code; allocates nothing. */
#ifndef PW_CORE_NEAREST_H
#define PW_CORE_NEAREST_H

/* The candidate that is closest so far; set `typed` and leave the rest 0 to begin. */
struct pw_nearest {
    const char *typed;
    const char *word; /* NULL: no candidate is close */
    int length;       /* of `word`, which need not be terminated */
    int distance;     /* letters to add, leave out, replace or swap with the next one */
};

/* Compares `typed` with the candidate `word` of `length` bytes. The candidate is close if at most a
 * third of the letters of `typed`, and at most 3 letters, differ. If two candidates are equally
 * close, the first is kept. */
void pw_nearest_try(struct pw_nearest *nearest, const char *word, int length);

#endif
