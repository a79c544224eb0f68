/* Bytes as text in a page: deflated, in base64. page/packed.js unpacks them when they are shown. */
#ifndef PW_REPORT_HTML_HTML_PACKED_H
#define PW_REPORT_HTML_HTML_PACKED_H

#include <stddef.h>
#include <stdio.h>

/* 0, -ENOMEM or -EIO. */
int pw_packed_write(FILE *out, const void *bytes, size_t n);

#endif
