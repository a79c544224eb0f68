/* OTF2's error messages: its library prints them on standard error, with files and lines of its own
 * source. The writer (write.c) and the reader (read.c) catch them instead, and put the first one
 * into their own sentence. One thread. */
#ifndef PW_OTF2_ERRORS_H
#define PW_OTF2_ERRORS_H

/* From now on, nothing of OTF2 is printed. Forgets the message of an earlier error. */
void pw_otf2_errors_catch(void);

/* Returns the first error since then, such as "File does not exist: ..."; "": there was none. */
const char *pw_otf2_error(void);

#endif
