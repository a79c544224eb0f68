/* Built statically, and by the installation test against the installed header. */
#include <stdio.h>

int main(void)
{
    puts("hello");
    return 3;
}
