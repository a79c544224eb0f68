/* What an error of the operating system means for a person, and what to do next. Called wherever a
 * message that ends a command has a reason by errno. Tool code; prints nothing, allocates nothing.
 */
#ifndef PW_CORE_REMEDY_H
#define PW_CORE_REMEDY_H

/* Returns "No space left on device; free some there, or choose another place" for -ENOSPC (or
 * ENOSPC): the system's words, and after a semicolon the next thing to do, where there is one that
 * fits every case. The text is valid until the thread's next call. */
const char *pw_remedy(int err);

#endif
