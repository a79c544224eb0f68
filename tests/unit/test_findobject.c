/* The object at an address, without the C library's _dl_find_object(). */
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rank/probe/findobject.h"

enum { LIBRARIES = 3 };

static const char *const libraries[LIBRARIES] = {SCOPE_LIBRARIES};
static const char here[] = "of this program";

typedef int find_object(void *address, struct dl_find_object *result);

/* NULL before glibc 2.35. */
static find_object *loaders_function(void)
{
    void *found = dlvsym(RTLD_DEFAULT, "_dl_find_object", "GLIBC_2.35");
    find_object *function;
    memcpy(&function, &found, sizeof(function));
    return function;
}

static void check_same(find_object *loaders, void *address)
{
    struct dl_find_object ours, theirs;
    const int found = _dl_find_object(address, &ours);
    if (!loaders)
        return;
    assert_int_equal(found, loaders(address, &theirs));
    if (found == 0) {
        assert_ptr_equal(ours.dlfo_link_map, theirs.dlfo_link_map);
        assert_ptr_equal(ours.dlfo_map_start, theirs.dlfo_map_start);
        assert_ptr_equal(ours.dlfo_eh_frame, theirs.dlfo_eh_frame);
        assert_true((char *)ours.dlfo_map_end > (char *)address);
    }
}

static void *caller_of(void *library)
{
    assert_non_null(library);
    return dlsym(library, "scope_caller");
}

static void as_the_loader(void **state)
{
    (void)state;
    find_object *loaders = loaders_function();
    void *open[LIBRARIES], *memory = malloc(1);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < LIBRARIES; i++)
            check_same(loaders, caller_of(open[i] = dlopen(libraries[i], RTLD_NOW)));
        check_same(loaders, (void *)(uintptr_t)here);
        check_same(loaders, dlsym(RTLD_DEFAULT, "strlen"));
        check_same(loaders, dlsym(RTLD_DEFAULT, "dl_iterate_phdr"));
        check_same(loaders, memory);
        check_same(loaders, &memory);
        check_same(loaders, NULL);
        for (int i = 0; i < LIBRARIES; i++)
            dlclose(open[(i + round) % LIBRARIES]);
    }
    free(memory);
}

static const char *name_at(void *address)
{
    struct dl_find_object object;
    return _dl_find_object(address, &object) == 0 ? object.dlfo_link_map->l_name : "none";
}

/* The libraries have the same layout: where one was, the next one often is. */
static void another_where_it_was(void **state)
{
    (void)state;
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < LIBRARIES; i++) {
            void *library = dlopen(libraries[i], RTLD_NOW), *address = caller_of(library);
            assert_string_equal(name_at(address), libraries[i]);
            dlclose(library);
            assert_string_equal(name_at(address), "none");
        }
}

static atomic_int handled, wrong;

static void find_in_handler(int number)
{
    (void)number;
    struct dl_find_object object;
    void *address = (void *)(uintptr_t)here;
    if (_dl_find_object(address, &object) || object.dlfo_link_map->l_name[0])
        atomic_fetch_add(&wrong, 1);
    atomic_fetch_add(&handled, 1);
}

static void *load_and_unload(void *stop)
{
    for (int i = 0; !atomic_load((atomic_bool *)stop); i++) {
        void *library = dlopen(libraries[i % LIBRARIES], RTLD_NOW);
        struct dl_find_object object;
        if (!library || _dl_find_object(dlsym(library, "scope_caller"), &object))
            atomic_fetch_add(&wrong, 1);
        if (library)
            dlclose(library);
    }
    return NULL;
}

/* Signals come wherever the threads are: in the loader, in a search, in a table that is made. */
static void in_signal_handlers(void **state)
{
    (void)state;
    enum { THREADS = 2, SIGNALS = 2000 };
    atomic_bool stop = false;
    pthread_t threads[THREADS];
    struct sigaction action = {.sa_handler = find_in_handler, .sa_flags = SA_RESTART};
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, load_and_unload, &stop), 0);
    for (int sent = 0; sent < SIGNALS; sent++) {
        const int before = atomic_load(&handled);
        assert_int_equal(pthread_kill(threads[sent % THREADS], SIGUSR1), 0);
        while (atomic_load(&handled) == before)
            nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&handled), SIGNALS);
    assert_int_equal(atomic_load(&wrong), 0);
}

static void the_loaders_where_it_is(void **state)
{
    (void)state;
    assert_int_equal(pw_find_object_is_loaders(), loaders_function() != NULL);
    pw_find_object_without_loader();
    assert_false(pw_find_object_is_loaders());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loaders_where_it_is), /* and without it from here on */
        cmocka_unit_test(as_the_loader),
        cmocka_unit_test(another_where_it_was),
        cmocka_unit_test(in_signal_handlers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
