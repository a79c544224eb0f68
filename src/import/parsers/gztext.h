/* Reads a small gzip file at once, by libdeflate, which takes a third of the time that zlib takes.
 * Called by jsonfile.c. Tool code; prints nothing. The file may be damaged or hostile: then it is
 * left to zlib, which says what is wrong. */
#ifndef PW_IMPORT_GZTEXT_H
#define PW_IMPORT_GZTEXT_H

#include <stddef.h>

/* Sets *text to the text of the file, malloc'ed, with `padding` zeros behind it, and *n to its
 * length. Returns 0; 1 when the file has to be read as a stream, which is then at its begin: it is
 * not gzip, it is large, or it is not one complete member; or -errno. */
int pw_gztext_read(int fd, size_t padding, char **text, size_t *n);

#endif
