/* What a program can do to every thread in it: thread-local storage that glibc takes from each
 * thread's stack (TLS_KIB), and threads that cannot be created (STANDIN_NO_THREADS). */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) _Thread_local char many_bytes[TLS_KIB << 10];

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread,
                                                          const pthread_attr_t *attributes,
                                                          void *(*work)(void *), void *arg)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *found = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&real, &found, sizeof(found));
    many_bytes[0]++;
    return getenv("STANDIN_NO_THREADS") ? EAGAIN : real(thread, attributes, work, arg);
}
