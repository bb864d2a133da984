/* SPDX-License-Identifier: BSD-3-Clause */
/* Loaded before a program (LD_PRELOAD): one of its calls fails, comes short, or something worse
 * happens there.
 *
 *     MERCER_FAULT="KIND K EFFECT"   the K-th call of that kind, counted from main() on; "K+": that
 *                                    one and all that follow
 *     MERCER_FAULT_PROGRAM=NAME      in which program; others are left alone. Default: mercer
 *     MERCER_FAULT_BLAS=1            allocations of OpenBLAS are counted, too
 *     MERCER_FAULT_PAGE=FILE         a file of at least sizeof(struct page), where counts go
 *
 * KIND is one of the names below, where open makes a descriptor of a name, and descriptor is any
 * other call that makes one; the calls are those of all libraries, without what the C library
 * does inside (stdio). EFFECT is the name of an error number, "short" (reads and writes stop half
 * way), segv, abort, exit (at once), quit (by exit(), as libraries do), hang or spin. A close that
 * fails has closed, as on Linux. */
/* The C library would give other names, or bodies of its own, to what is defined here. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#include "../support/refusing_malloc.h" /* needs refuses() */

#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind { OPEN, DESCRIPTOR, READ, WRITE, FSYNC, RENAME, CLOSE, MMAP, MALLOC, THREAD, KINDS };
static const char *const kind_names[KINDS] = {"open",   "descriptor", "read", "write",  "fsync",
                                              "rename", "close",      "mmap", "malloc", "thread"};

static const struct {
    const char *name;
    int number;
} effects[] = {{"EINTR", EINTR},   {"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT},
               {"EACCES", EACCES}, {"EMFILE", EMFILE}, {"ENOMEM", ENOMEM}, {"EAGAIN", EAGAIN}};

/* What a script reads afterwards, however the program ended (tests/faults/common.py). */
struct page {
    _Atomic int64_t calls[16]; /* by kind */
    _Atomic int64_t fired;     /* faults that happened */
    _Atomic int64_t leaked;    /* descriptors open at exit(), beyond those at the start; -1: it
                                * was never called */
    char modules[512];         /* of the functions that led to the fault, innermost first */
    char leak[256];            /* what a leaked descriptor is open on */
};

static struct page own, *page = &own;
static bool active, blas_too, all_that_follow, comes_short;
static __thread bool inside __attribute__((tls_model("initial-exec"))); /* our own calls */
static int chosen = -1, number;
static int64_t at;
static const char *event;
static uint64_t open_before[1024 / 64]; /* a bit per descriptor */

static bool is_open(int fd)
{
    return syscall(SYS_fcntl, fd, F_GETFD) >= 0;
}

static void map_page(void)
{
    const char *name = getenv("MERCER_FAULT_PAGE");
    const int fd = name ? (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *there = (void *)syscall(SYS_mmap, NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED,
                                  fd, (off_t)0);
    syscall(SYS_close, fd);
    if (there == MAP_FAILED)
        return;
    page = there;
    memset(page, 0, sizeof *page); /* a program may have started itself again */
    atomic_store(&page->leaked, -1);
}

/* Constructors of what is loaded first come last: the libraries of the program are ready. */
__attribute__((constructor)) static void begin(void)
{
    const char *program = getenv("MERCER_FAULT_PROGRAM"), *fault = getenv("MERCER_FAULT");
    char kind[16], count[24], effect[16];
    void *frame[1];
    if (strcmp(program_invocation_short_name, program ? program : "mercer") != 0)
        return;
    map_page();
    if (fault && sscanf(fault, "%15s %23s %15s", kind, count, effect) == 3) {
        for (int i = 0; i < KINDS; i++)
            chosen = strcmp(kind, kind_names[i]) == 0 ? i : chosen;
        at = strtoll(count, NULL, 10);
        all_that_follow = strchr(count, '+') != NULL;
        comes_short = strcmp(effect, "short") == 0;
        for (size_t i = 0; i < sizeof effects / sizeof *effects; i++)
            number = strcmp(effect, effects[i].name) == 0 ? effects[i].number : number;
        event = number || comes_short ? NULL : strchr(fault + strlen(kind) + 1, ' ') + 1;
        (void)backtrace(frame, 1); /* the first call allocates */
    }
    blas_too = getenv("MERCER_FAULT_BLAS") != NULL;
    for (int fd = 0; fd < 1024; fd++)
        if (is_open(fd))
            open_before[fd / 64] |= (uint64_t)1 << fd % 64;
    active = true;
}

__attribute__((destructor)) static void end(void)
{
    if (!active)
        return;
    active = false;
    atomic_store(&page->leaked, 0);
    for (int fd = 0; fd < 1024; fd++) {
        if (!is_open(fd) || open_before[fd / 64] >> fd % 64 & 1)
            continue;
        char name[32];
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        const ssize_t length = readlink(name, page->leak, sizeof page->leak - 1);
        page->leak[length > 0 ? length : 0] = 0;
        atomic_fetch_add(&page->leaked, 1);
    }
}

/* Note through which modules a call came, each once in a row. */
static void note_modules(void)
{
    void *frame[64];
    const int count = backtrace(frame, 64);
    const char *last = "";
    Dl_info info, ours;
    size_t used = 0;
    dladdr(effects, &ours);
    for (int i = 0; i < count; i++) {
        if (!dladdr(frame[i], &info) || !info.dli_fname || info.dli_fbase == ours.dli_fbase ||
            strcmp(info.dli_fname, last) == 0)
            continue;
        last = info.dli_fname;
        const char *slash = strrchr(last, '/'), *name = slash ? slash + 1 : last;
        const size_t length = strlen(name);
        if (used + length + 2 > sizeof page->modules)
            break;
        memcpy(page->modules + used, name, length);
        used += length;
        page->modules[used++] = ' ';
        page->modules[used] = 0;
    }
}

static void happen(void)
{
    if (strcmp(event, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(event, "abort") == 0)
        abort();
    if (strcmp(event, "exit") == 0)
        _exit(3);
    if (strcmp(event, "quit") == 0)
        exit(1);
    while (strcmp(event, "hang") == 0)
        pause();
    for (volatile int i = 0; strcmp(event, "spin") == 0;)
        i++;
}

/* Count a call; true: this one is struck, errno set. */
static bool strikes(enum kind kind)
{
    if (!active || inside)
        return false;
    const int64_t k = 1 + atomic_fetch_add(&page->calls[kind], 1);
    if ((int)kind != chosen || (all_that_follow ? k < at : k != at))
        return false;
    if (atomic_fetch_add(&page->fired, 1) == 0) {
        inside = true;
        note_modules();
        inside = false;
    }
    if (event)
        happen();
    errno = number;
    return true;
}

static bool refuses(const void *caller)
{
    return (blas_too || !is_in_blas(caller)) && strikes(MALLOC);
}

/* How much of a read or a write is done when it comes short: at least one byte. */
static size_t half(size_t bytes)
{
    return bytes > 1 ? bytes / 2 : bytes;
}

/* Sets *bytes for a call that comes short; true: the call fails. */
static bool fails(enum kind kind, size_t *bytes)
{
    if (!strikes(kind))
        return false;
    if (comes_short)
        *bytes = half(*bytes);
    return !comes_short;
}

/* ---- descriptors ---- */

static int open_file(int folder, const char *path, int flags, va_list rest)
{
    const mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    return strikes(OPEN) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

#define OPENS(name)                                                                                \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        const int fd = open_file(AT_FDCWD, path, flags, rest);                                     \
        va_end(rest);                                                                              \
        return fd;                                                                                 \
    }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name)                                                                             \
    int name(int folder, const char *path, int flags, ...)                                         \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        const int fd = open_file(folder, path, flags, rest);                                       \
        va_end(rest);                                                                              \
        return fd;                                                                                 \
    }
OPENS_AT(openat)
OPENS_AT(openat64)

/* The C library's own function, behind ours. */
static void *next(const char *name)
{
    inside = true;
    void *found = dlsym(RTLD_NEXT, name);
    inside = false;
    return found;
}

FILE *fopen(const char *path, const char *mode)
{
    FILE *(*real)(const char *, const char *) = NULL;
    *(void **)&real = next("fopen");
    return strikes(OPEN) ? NULL : real(path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
    return fopen(path, mode);
}

DIR *opendir(const char *path)
{
    DIR *(*real)(const char *) = NULL;
    *(void **)&real = next("opendir");
    return strikes(OPEN) ? NULL : real(path);
}

int dup(int fd)
{
    return strikes(DESCRIPTOR) ? -1 : (int)syscall(SYS_dup, fd);
}

int dup2(int from, int to)
{
    return strikes(DESCRIPTOR) ? -1 : (int)syscall(SYS_dup3, from, to, 0);
}

int pipe2(int ends[2], int flags)
{
    return strikes(DESCRIPTOR) ? -1 : (int)syscall(SYS_pipe2, ends, flags);
}

int socketpair(int domain, int type, int protocol, int ends[2])
{
    return strikes(DESCRIPTOR) ? -1 : (int)syscall(SYS_socketpair, domain, type, protocol, ends);
}

int fcntl64(int fd, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if ((command == F_DUPFD || command == F_DUPFD_CLOEXEC) && strikes(DESCRIPTOR))
        return -1;
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

int close(int fd)
{
    const bool struck = strikes(CLOSE);
    const int errnum = errno;
    const int status = (int)syscall(SYS_close, fd);
    if (!struck)
        return status;
    errno = errnum;
    return -1;
}

/* ---- bytes ---- */

ssize_t read(int fd, void *to, size_t bytes)
{
    return fails(READ, &bytes) ? -1 : syscall(SYS_read, fd, to, bytes);
}

ssize_t pread(int fd, void *to, size_t bytes, off_t offset)
{
    return fails(READ, &bytes) ? -1 : syscall(SYS_pread64, fd, to, bytes, offset);
}

ssize_t pread64(int fd, void *to, size_t bytes, off64_t offset)
{
    return pread(fd, to, bytes, offset);
}

ssize_t write(int fd, const void *from, size_t bytes)
{
    return fails(WRITE, &bytes) ? -1 : syscall(SYS_write, fd, from, bytes);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t offset)
{
    return fails(WRITE, &bytes) ? -1 : syscall(SYS_pwrite64, fd, from, bytes, offset);
}

ssize_t pwrite64(int fd, const void *from, size_t bytes, off64_t offset)
{
    return pwrite(fd, from, bytes, offset);
}

ssize_t send(int fd, const void *from, size_t bytes, int flags)
{
    return fails(WRITE, &bytes) ? -1 : syscall(SYS_sendto, fd, from, bytes, flags, NULL, 0);
}

int fsync(int fd)
{
    return strikes(FSYNC) ? -1 : (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    return strikes(RENAME) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* ---- memory and threads ---- */

void *memalign(size_t alignment, size_t bytes)
{
    return refuses(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
}

void *mmap(void *where, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return strikes(MMAP) ? MAP_FAILED
                         : (void *)syscall(SYS_mmap, where, bytes, protection, flags, fd, offset);
}

void *mmap64(void *where, size_t bytes, int protection, int flags, int fd, off64_t offset)
{
    return mmap(where, bytes, protection, flags, fd, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = NULL;
    *(void **)&real = next("pthread_create");
    return strikes(THREAD) ? errno : real(thread, attributes, run, argument);
}
