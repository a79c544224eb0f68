/* One of several libraries with functions of the same names. */
#include <stdlib.h>

int scoped(void);
int scoped(void)
{
    return VALUE;
}

/* Code of this library. */
void scope_caller(void);
void scope_caller(void)
{
}

/* What is in a library that it needs. */
long scope_number(const char *text);
long scope_number(const char *text)
{
    return strtol(text, NULL, 10);
}

/* A function of another library that no other library wants. */
const char *gnu_get_libc_release(void);
const char *scope_importer(void);

const char *scope_importer(void)
{
    return gnu_get_libc_release();
}
