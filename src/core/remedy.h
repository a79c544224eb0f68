/* What an error of the operating system means for a person, and what to do next; and which word was
 * meant by an unknown one. Called wherever a message that ends a command has a reason by errno, and
 * for unknown commands and options. Tool code; prints nothing, allocates nothing.
 */
#ifndef PW_CORE_REMEDY_H
#define PW_CORE_REMEDY_H

/* Finds the word that a user probably meant when the user typed an unknown one, as in "did you mean
 * 'report'?". */

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

/* Returns "No space left on device; free some there, or choose another place" for -ENOSPC (or
 * ENOSPC): the system's words, and after a semicolon the next thing to do, where there is one that
 * fits every case. The text is valid until the thread's next call. */
const char *pw_remedy(int err);

#endif
