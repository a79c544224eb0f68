/* Uses all functions of NVTX; test_nvtx.py has the expected values. ranges CASE [ARGUMENT] */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSync.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profwrap.h"
#include "ranges.h"

/* ---- every function ---- */

static void push_and_pop(void)
{
    check(nvtxRangePushA("outer") == 0, "the outermost range is at level 0");
    profwrap_range_push("of profwrap.h");
    check(nvtxRangePushW(L"wide \x20ac \x1f600") == 2, "the third range is at level 2");
    check(nvtxRangePop() == 2, "it ends there");
    profwrap_range_pop();
    nvtxRangePop();
    check(nvtxRangePop() < 0, "there is no range left");
    profwrap_range_pop();
}

static void attributes(void)
{
    nvtxNameCategoryA(7, "loading");
    nvtxNameCategoryW(8, L"saving");
    nvtxEventAttributes_t e = event("attributes");
    e.category = 7;
    e.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    e.payload.llValue = -5;
    nvtxRangePushEx(&e);
    e.category = 9;
    e.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    e.payload.dValue = 2.5;
    nvtxMarkEx(&e);
    e.category = 8;
    e.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
    e.payload.fValue = -0.5f;
    nvtxMarkEx(&e);
    e.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
    e.payload.uiValue = 4000000000u;
    nvtxMarkEx(&e);
    nvtxRangePop();
    nvtxMarkA("mark");
    nvtxMarkW(L"wide mark");
    e.size = 8; /* of no version */
    nvtxRangePushEx(&e);
    nvtxRangePop();
    nvtxRangePushEx(NULL);
    nvtxRangePop();
}

static void domains(void)
{
    nvtxDomainHandle_t a = nvtxDomainCreateA("domain a"), b = nvtxDomainCreateW(L"domain b");
    check(a == nvtxDomainCreateA("domain a"), "a domain is known by its name");
    nvtxEventAttributes_t e = event("in a"), f = event("in b");
    e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    e.message.registered = nvtxDomainRegisterStringA(a, "registered in a");
    f.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    f.message.registered = nvtxDomainRegisterStringW(b, L"registered in b");
    check(e.message.registered && f.message.registered, "strings are registered");
    e.category = f.category = 1;
    nvtxDomainNameCategoryA(a, 1, "first of a");
    nvtxDomainRangePushEx(a, &e);
    nvtxDomainRangePushEx(b, &f);
    nvtxDomainRangePop(a); /* not the innermost, but a's */
    nvtxDomainRangePop(a); /* has none */
    nvtxDomainRangePop(b);
    nvtxDomainMarkEx(b, &f);
    nvtxDomainDestroy(b);
}

static void *end_range(void *id)
{
    nvtxRangeEnd(*(nvtxRangeId_t *)id);
    return NULL;
}

static void start_and_end(void)
{
    nvtxEventAttributes_t e = event("across threads");
    e.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    e.payload.ullValue = ~0ull;
    nvtxRangeId_t across = nvtxRangeStartEx(&e), own = nvtxRangeStartA("started");
    nvtxRangeId_t left = nvtxRangeStartW(L"left open");
    check(across && own && left && across != own, "ranges have ids");
    pthread_t thread;
    pthread_create(&thread, NULL, end_range, &across);
    pthread_join(thread, NULL);
    nvtxRangeEnd(own);
    nvtxRangeEnd(own); /* once too many */
    nvtxRangeEnd(123456789);
    nvtxRangeEnd(0);
}

static void *pop_of_others(void *unused)
{
    check(nvtxRangePop() < 0, "another thread has nothing to end");
    profwrap_range_pop();
    nvtxRangePushA("of the other thread");
    nvtxRangePop();
    nvtxRangePop();
    return unused;
}

/* A range is its thread's: who ends it elsewhere ends nothing. */
static void popped_elsewhere(void)
{
    pthread_t thread;
    nvtxRangePushA("outer of main");
    nvtxRangePushA("of main");
    pthread_create(&thread, NULL, pop_of_others, NULL);
    pthread_join(thread, NULL);
    check(nvtxRangePop() == 1 && nvtxRangePop() == 0, "both are still open");
    check(nvtxRangePop() < 0, "and no other");
}

static void *name_itself(void *unused)
{
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "worker");
    return unused;
}

static void threads_and_locks(void)
{
    pthread_t thread;
    nvtxNameOsThreadW((uint32_t)syscall(SYS_gettid), L"main");
    nvtxNameOsThreadA(1, "somebody else");
    pthread_create(&thread, NULL, name_itself, NULL);
    pthread_join(thread, NULL);
    nvtxSyncUserAttributes_t a = {.version = NVTX_VERSION,
                                  .size = NVTX_SYNCUSER_ATTRIB_STRUCT_SIZE,
                                  .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                  .message.ascii = "queue lock"};
    nvtxSyncUser_t lock = nvtxDomainSyncUserCreate(NULL, &a);
    nvtxDomainSyncUserAcquireStart(lock);
    nvtxDomainSyncUserAcquireSuccess(lock);
    nvtxDomainSyncUserReleasing(lock);
    nvtxDomainSyncUserDestroy(lock);
}

/* ---- what training programs say ---- */

static void step(int number, const char *prefix)
{
    char text[100];
    snprintf(text, sizeof(text), "%s%d", prefix, number);
    nvtxRangePushA(text);
    nvtxRangePushA("forward");
    snprintf(text, sizeof(text), "aten::addmm, seq = %d, op_id = %d, sizes = [[32, 64], []]",
             number, 100 + number);
    nvtxRangePushA(text);
    nvtxRangePop();
    nvtxRangePop();
    nvtxRangePushA("backward");
    snprintf(text, sizeof(text), "AddmmBackward0, stashed seq=%d", number);
    nvtxRangePushA(text);
    nvtxRangePop();
    nvtxRangePop();
    nvtxRangePop();
}

static void train(int marks)
{
    for (int i = 0; i < 3; i++) {
        if (marks)
            profwrap_step(10 + i);
        step(i, "ProfilerStep#");
    }
    if (marks)
        profwrap_step(PROFWRAP_NO_STEP);
}

/* ---- bad input ---- */

static void strange_names(void)
{
    char *huge = malloc(1 << 20);
    check(huge != NULL, "memory");
    memset(huge, 'x', (1 << 20) - 1);
    huge[(1 << 20) - 1] = '\0';
    memcpy(huge + 253, "\xe2\x82\xac", 3); /* the cut is inside a character */
    nvtxRangePushA(huge);
    nvtxRangePop();
    free(huge);
    nvtxRangePushA("no \xff UTF-8 \xc3");
    nvtxRangePop();
    nvtxRangePushA(NULL);
    nvtxRangePop();
    nvtxRangePushW(NULL);
    nvtxRangePop();
    nvtxRangePushW(L"no character: \x7fffffff");
    nvtxRangePop();
    nvtxRangePushA("");
    nvtxRangePop();
}

static void many_names(int n)
{
    for (int i = 0; i < n; i++) {
        char text[32];
        snprintf(text, sizeof(text), "name %d", i);
        nvtxRangePushA(text);
        nvtxRangePop();
    }
}

static void too_deep(int n)
{
    for (int i = 0; i < n; i++)
        nvtxRangePushA("deep");
    for (int i = 0; i < n; i++)
        nvtxRangePop();
}

static void many_of_all(int n)
{
    for (int i = 0; i < n; i++) {
        char text[32];
        snprintf(text, sizeof(text), "thing %d", i);
        nvtxDomainHandle_t domain = nvtxDomainCreateA(text);
        nvtxDomainNameCategoryA(domain, (uint32_t)i, text);
        nvtxDomainRegisterStringA(domain, text);
        nvtxNameCategoryA((uint32_t)i, text);
        nvtxRangeStartA("never ended");
        if (i < 100)
            register_schemas(NULL);
    }
}

/* ---- processes, threads and libraries ---- */

static void *leave_open(void *unused)
{
    nvtxRangePushA("open when its thread ended");
    return unused;
}

static void open_at_end(const char *how)
{
    pthread_t thread;
    pthread_create(&thread, NULL, leave_open, NULL);
    pthread_join(thread, NULL);
    nvtxRangePushA("outermost open");
    profwrap_range_push("open of profwrap.h");
    profwrap_phase(PROFWRAP_BACKWARD);
    nvtxRangeStartA("open of the process");
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "exec") == 0) {
        execlp("true", "true", (char *)NULL);
        _exit(1);
    }
}

static void forked(void)
{
    nvtxRangePushA("of the parent");
    if (fork() == 0) {
        nvtxRangePushA("of the child");
        nvtxMarkA("of the child");
        nvtxRangePop();
        nvtxRangePop(); /* the parent's, as it was copied */
        nvtxRangePop();
        _exit(nvtxRangeStartA("of the child") != 0);
    }
    int status;
    wait(&status);
    check(status == 0, "the child came through");
    nvtxRangePop();
}

static void libraries(const char *path)
{
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        check(library != NULL, "the library is there");
        int (*push)(const char *), (*pop)(void);
        nvtxStringHandle_t (*keep)(nvtxDomainHandle_t, const char *);
        *(void **)&push = dlsym(library, "nvtxRangePushA");
        *(void **)&pop = dlsym(library, "nvtxRangePop");
        *(void **)&keep = dlsym(library, "nvtxDomainRegisterStringA");
        check(push && pop && keep, "it has the functions");
        nvtxRangePushA("of the program");
        check(push("of the library") == 1, "there is one stack");
        nvtxRangePop();
        check(keep(NULL, "registered") != NULL, "strings are registered");
        pop();
        dlclose(library);
    }
}

static void paused(void)
{
    nvtxDomainHandle_t other = nvtxDomainCreateA("other");
    nvtxEventAttributes_t e = event("in a pause");
    e.payloadType = NVTX_PAYLOAD_TYPE_EXT; /* whose struct is not even looked at */
    e.reserved0 = 1;
    nvtxRangePushA("begun before");
    nvtxRangeId_t started = nvtxRangeStartA("started before");
    profwrap_stop();
    nvtxDomainRangePushEx(other, &e);
    nvtxRangePushA("in a pause");
    nvtxMarkA("in a pause");
    check(nvtxRangeStartA("in a pause") == 0, "it is not recorded");
    nvtxRangePop();
    nvtxDomainRangePop(other);
    nvtxRangePop();
    nvtxRangePop(); /* has none */
    nvtxRangeEnd(started);
    nvtxRangePushA("begun in a pause");
    profwrap_start();
    nvtxRangePushA("after it");
    nvtxRangePop();
    nvtxRangePop();
}

/* Texts of all lengths at one address, each other than the last in one byte or its end, that reach
 * to the end of the memory that can be read. */
static void same_place(void)
{
    enum { PAGE = 4096, LONGEST = 40 };
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(pages != MAP_FAILED && mprotect(pages + PAGE, PAGE, PROT_NONE) == 0, "memory");
    for (int n = LONGEST; n > 0; n--)
        for (int at = 0; at < n; at++)
            for (int ends = 0; ends < 2; ends++) {
                char *text = ends ? pages + PAGE - n - 1 : pages;
                memset(text, 'a', (size_t)n);
                text[at] = 'b';
                text[n] = '\0';
                for (int twice = 0; twice < 2; twice++) {
                    nvtxRangePushA(text);
                    nvtxRangePop();
                    profwrap_range_push(text);
                    profwrap_range_pop();
                }
            }
    munmap(pages, 2 * PAGE);
}

static void all(void)
{
    push_and_pop();
    attributes();
    domains();
    start_and_end();
    threads_and_locks();
}

static void call(const char *argument, void (*plain)(void), void (*counted)(int),
                 void (*named)(const char *))
{
    if (plain)
        plain();
    else if (counted)
        counted(atoi(argument));
    else
        named(argument);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*plain)(void);
        void (*counted)(int);
        void (*named)(const char *);
    } cases[] = {{"all", all, 0, 0},
                 {"payloads", payloads, 0, 0},
                 {"strange", strange_names, 0, 0},
                 {"paused", paused, 0, 0},
                 {"fork", forked, 0, 0},
                 {"train", 0, train, 0},
                 {"names", 0, many_names, 0},
                 {"deep", 0, too_deep, 0},
                 {"many", 0, many_of_all, 0},
                 {"place", same_place, 0, 0},
                 {"open", 0, 0, open_at_end},
                 {"library", 0, 0, libraries},
                 {"elsewhere", popped_elsewhere, 0, 0}};
    for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            call(argc > 2 ? argv[2] : "", cases[i].plain, cases[i].counted, cases[i].named);
            return 0;
        }
    return 2;
}
