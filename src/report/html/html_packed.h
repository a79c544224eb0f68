/* Writes bytes into the HTML report, deflated and in base64: the page unpacks them when it needs
 * them (page/planes.js). Called by the other files of html/. Writes to the given stream; reads no
 * files. */
#ifndef PW_REPORT_HTML_HTML_PACKED_H
#define PW_REPORT_HTML_HTML_PACKED_H

#include <stddef.h>
#include <stdio.h>

/* Levels of deflate. Planes are many bytes with much noise: ISA-L finds near strings only, in two
 * thirds of the time and for 12 % fewer bytes. */
enum { PW_PACKED_PLANE = 1, PW_PACKED_TEXT = 6 };

/* 0, -ENOMEM or -EIO. */
int pw_packed_write(FILE *out, const void *bytes, size_t n, int level);

#endif
