/* SPDX-License-Identifier: BSD-3-Clause */
/* Landlock says which file may be opened, seccomp which system calls may be made: what is not
 * listed fails with EPERM. Both hold until the process ends, and nobody needs rights to set them.
 *
 * A rule of Landlock names a file by its inode: whatever its name leads to later, only that file is
 * opened. */
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Headers of a kernel that has the calls have these, too. */
#ifdef SYS_landlock_create_ruleset
#include <linux/landlock.h>
#define HAVE_LANDLOCK 1
#endif
#ifdef SYS_seccomp
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#if defined(__x86_64__)
#define OUR_CALLS AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_CALLS AUDIT_ARCH_AARCH64
#endif
#endif

static bool give_up_privileges(void)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

#ifdef HAVE_LANDLOCK

/* All that the version of the kernel can forbid. */
static uint64_t all_accesses(long version)
{
    static const int bits[] = {0, 13, 14, 15, 15}; /* later ones have one bit more */
    return (UINT64_C(1) << (version < 5 ? bits[version] : 16)) - 1;
}

bool confine_files(int file)
{
    const long version =
        syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1 || !give_up_privileges())
        return false;
    const struct landlock_ruleset_attr all = {.handled_access_fs = all_accesses(version)};
    const int rules =
        (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all.handled_access_fs, 0);
    if (rules < 0)
        return false;
    const struct landlock_path_beneath_attr one = {.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE,
                                                   .parent_fd = file};
    bool done =
        file < 0 || syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &one, 0) == 0;
    done = done && syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    close(rules);
    return done;
}

#else

bool confine_files(int file)
{
    (void)file;
    return false;
}

#endif

#ifdef OUR_CALLS

/* What reading, unpacking and answering take. */
static const int calls[] = {
    SYS_read,
    SYS_write,
    SYS_pread64,
    SYS_readv,
    SYS_writev,
    SYS_lseek,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_faccessat,
    SYS_getcwd,
    SYS_readlinkat,
    SYS_fadvise64,
    SYS_fcntl,
    SYS_flock,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_ppoll,
    SYS_restart_syscall,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_getpid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getrandom,
    SYS_getrusage,
    SYS_sysinfo,
    SYS_uname,
    SYS_sched_getaffinity,
    SYS_sched_yield,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_set_robust_list,
    SYS_exit,
    SYS_exit_group,
#ifdef SYS_faccessat2
    SYS_faccessat2,
#endif
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef SYS_stat /* older spellings, which not every processor has */
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_poll,
    SYS_getrlimit,
#endif
};
enum { CALLS = sizeof calls / sizeof *calls, ROOM = 2 * CALLS + 64 };

/* The low half of an argument. */
#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + (n) * sizeof(uint64_t))
#define REFUSED(error) (SECCOMP_RET_ERRNO | ((error)&SECCOMP_RET_DATA))

struct filter {
    struct sock_filter code[ROOM];
    unsigned short length;
};

static void add(struct filter *filter, unsigned short code, uint32_t k, uint8_t yes, uint8_t no)
{
    filter->code[filter->length++] = (struct sock_filter){code, yes, no, k};
}

/* Load a word of what is known of the call. */
static void load(struct filter *filter, size_t offset)
{
    add(filter, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void end(struct filter *filter, uint32_t action)
{
    add(filter, BPF_RET | BPF_K, action, 0, 0);
}

static void allow(struct filter *filter, int call)
{
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1);
    end(filter, SECCOMP_RET_ALLOW);
}

/* Allow a call when an argument has none of these bits. */
static void allow_without(struct filter *filter, int call, int argument, uint32_t bits)
{
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 4);
    load(filter, ARGUMENT((size_t)argument));
    add(filter, BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
    end(filter, REFUSED(EACCES));
    end(filter, SECCOMP_RET_ALLOW);
}

bool confine_calls(bool opens)
{
    /* The bit of O_TMPFILE alone, without that of O_DIRECTORY in it. */
    const uint32_t writing = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);
    struct filter filter = {.length = 0};
    load(&filter, offsetof(struct seccomp_data, arch));
    add(&filter, BPF_JMP | BPF_JEQ | BPF_K, OUR_CALLS, 1, 0);
    end(&filter, SECCOMP_RET_KILL_PROCESS); /* numbers of calls that mean something else */
    load(&filter, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < CALLS; i++)
        allow(&filter, calls[i]);
    allow_without(&filter, SYS_prlimit64, 0, UINT32_MAX); /* of this process only */
    load(&filter, offsetof(struct seccomp_data, nr));
    if (opens) {
        allow_without(&filter, SYS_openat, 2, writing);
        load(&filter, offsetof(struct seccomp_data, nr));
#ifdef SYS_open
        allow_without(&filter, SYS_open, 1, writing);
#endif
    }
    end(&filter, REFUSED(EPERM));
    const struct sock_fprog program = {.len = filter.length, .filter = filter.code};
    return give_up_privileges() &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

#else

bool confine_calls(bool opens)
{
    (void)opens;
    return false;
}

#endif
