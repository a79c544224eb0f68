/* The object at an address, without the C library's _dl_find_object(). */
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rank/probe/findobject.h"

enum { LIBRARIES = 3, SIGNALS = 3000 };

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
    struct dl_find_object ours, told, theirs;
    const int found = _dl_find_object(address, &ours);
    assert_int_equal(pw_find_object(address, &told), found == 0);
    if (found == 0) {
        assert_ptr_equal(told.dlfo_link_map, ours.dlfo_link_map);
        assert_true((char *)ours.dlfo_map_start <= (char *)address);
        assert_true((char *)ours.dlfo_map_end > (char *)address);
    }
    if (!loaders)
        return;
    assert_int_equal(found, loaders(address, &theirs));
    if (found == 0) {
        assert_ptr_equal(ours.dlfo_link_map, theirs.dlfo_link_map);
        assert_ptr_equal(ours.dlfo_map_start, theirs.dlfo_map_start);
        assert_ptr_equal(ours.dlfo_eh_frame, theirs.dlfo_eh_frame);
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
        check_same(loaders, dlsym(RTLD_DEFAULT, "__tls_get_addr")); /* of the loader */
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

/* ---- signals that come wherever the threads are in the loader, or in a search ---- */

static struct {
    atomic_int handled, found, told;
    atomic_int wrong, lost, unloaded, unfound; /* other entry; none of the program's own code; and
                                                * of a library: not loaded, none of its code */
    void *kept; /* an address in a library that stays loaded; and its entry */
    const struct link_map *map;
    _Atomic(void *) gone; /* an address in the one that was loaded last, and may be unloaded */
} at;

static void find_in_handler(int number)
{
    struct dl_find_object object;
    (void)number;
    if (_dl_find_object((void *)(uintptr_t)here, &object))
        atomic_fetch_add(&at.lost, 1);
    else
        atomic_fetch_add(&at.wrong, object.dlfo_link_map->l_name[0] != '\0');
    if (_dl_find_object(at.kept, &object) == 0) {
        atomic_fetch_add(&at.found, 1);
        atomic_fetch_add(&at.wrong, object.dlfo_link_map != at.map);
    }
    if (pw_find_object(at.kept, &object)) {
        atomic_fetch_add(&at.told, 1);
        atomic_fetch_add(&at.wrong, object.dlfo_link_map != at.map);
    }
    atomic_fetch_add(&at.handled, 1);
}

static void *load_and_unload(void *stop)
{
    for (int i = 0; !atomic_load((atomic_bool *)stop); i++) {
        void *library = dlopen(libraries[1 + i % (LIBRARIES - 1)], RTLD_NOW);
        struct dl_find_object object;
        void *address = library ? dlsym(library, "scope_caller") : NULL;
        atomic_store(&at.gone, address);
        if (!address)
            atomic_fetch_add(&at.unloaded, 1);
        else if (!pw_find_object(address, &object))
            atomic_fetch_add(&at.unfound, 1);
        if (library)
            dlclose(library);
    }
    return NULL;
}

/* Sends signals to threads that load and unload libraries, each after the last was handled. */
static void interrupt(void (*handler)(int), int nthreads)
{
    atomic_bool stop = false;
    pthread_t threads[2];
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    atomic_store(&at.handled, 0);
    at.wrong = at.lost = at.unloaded = at.unfound = 0;
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    for (int i = 0; i < nthreads; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, load_and_unload, &stop), 0);
    for (int sent = 0; sent < SIGNALS; sent++) {
        const int before = atomic_load(&at.handled);
        assert_int_equal(pthread_kill(threads[sent % nthreads], SIGUSR1), 0);
        while (atomic_load(&at.handled) == before)
            nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < nthreads; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&at.handled), SIGNALS);
    assert_int_equal(at.wrong, 0);
    assert_int_equal(at.lost, 0);
    assert_int_equal(at.unloaded, 0);
    assert_int_equal(at.unfound, 0);
}

static void in_signal_handlers(void **state)
{
    (void)state;
    struct dl_find_object object;
    void *library = dlopen(libraries[0], RTLD_NOW);
    at.kept = caller_of(library);
    assert_true(pw_find_object(at.kept, &object));
    at.map = object.dlfo_link_map;
    interrupt(find_in_handler, 2);
    print_message("found %d, told %d of %d, failed %u\n", at.found, at.told, at.handled,
                  pw_find_object_failures());
    assert_int_equal(at.found + (int)pw_find_object_failures(), SIGNALS);
    assert_true(at.found > 0);
    assert_true(at.told > SIGNALS / 2);
    dlclose(library);
}

/* What the unwinder reads. Only the interrupted thread unmaps it, so what is found is mapped. */
static void read_in_handler(int number)
{
    struct dl_find_object object;
    (void)number;
    if (_dl_find_object(atomic_load(&at.gone), &object) == 0) {
        atomic_fetch_add(&at.found, 1);
        atomic_fetch_add(&at.wrong, *(volatile unsigned char *)object.dlfo_eh_frame != 1);
        atomic_fetch_add(&at.wrong, object.dlfo_link_map->l_addr == 0);
    }
    atomic_fetch_add(&at.handled, 1);
}

static void memory_of_an_unloaded_library(void **state)
{
    (void)state;
    atomic_store(&at.found, 0);
    interrupt(read_in_handler, 1);
    print_message("found %d of %d\n", at.found, at.handled);
    assert_true(at.found > 0);
}

static void the_loaders_where_it_is(void **state)
{
    (void)state;
    assert_int_equal(pw_find_object_is_loaders(), loaders_function() != NULL);
    pw_find_object_without_loader();
    assert_false(pw_find_object_is_loaders());
    assert_true(pw_find_object_knows_lock());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loaders_where_it_is), /* and without it from here on */
        cmocka_unit_test(as_the_loader),           cmocka_unit_test(another_where_it_was),
        cmocka_unit_test(in_signal_handlers),      cmocka_unit_test(memory_of_an_unloaded_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
