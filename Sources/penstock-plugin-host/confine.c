#include "confine.h"

#include "channel.h"
#include "filter.h"
#include "plugin_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#else
#error "name this machine's AUDIT_ARCH"
#endif

/* A system call whose first argument must be this process. */
#define OWN(name) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 4), ARGUMENT(0), \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, self, 0, 1), ANSWER(SECCOMP_RET_ALLOW), REFUSE

/* A system call whose first argument must be 0, the caller. */
#define CALLER(name) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 4), ARGUMENT(0), \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1), ANSWER(SECCOMP_RET_ALLOW), REFUSE

/* With any Landlock rules, a process may not look into the memory of a process outside of them: /proc/PID/mem, environ
 * and maps of the daemon, whose user it has. These rules forbid no more than to make a device. */
static void hide_other_processes(void) {
    const struct landlock_ruleset_attr rules = {.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK};
    int file = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
    /* A kernel without Landlock. */
    if (file < 0) return;
    (void)syscall(SYS_landlock_restrict_self, file, 0);
    close(file);
}

static void forbid(void) {
    const unsigned self = (unsigned)getpid();
    struct sock_filter rules[] = {
        /* Another system call table would have other numbers. */
        LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0), ANSWER(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
#if defined(__x86_64__)
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), ANSWER(SECCOMP_RET_KILL_PROCESS), /* x32 */
        NEVER(fork), NEVER(vfork),
#endif
        NEVER(execve), NEVER(execveat), NEVER(ptrace), NEVER(process_vm_readv), NEVER(process_vm_writev),
        NEVER(pidfd_open), NEVER(pidfd_send_signal), NEVER(pidfd_getfd), NEVER(process_madvise), NEVER(kcmp),
        NEVER(setsid), NEVER(setpgid), NEVER(setns), NEVER(unshare), NEVER(bpf), NEVER(perf_event_open),
        NEVER(setpriority), NEVER(ioprio_set), NEVER(migrate_pages), NEVER(move_pages),
        /* Memory and queues that outlive the process, and that its limit of memory does not count. */
        NEVER(shmget), NEVER(msgget), NEVER(semget), NEVER(mq_open), NEVER(add_key), NEVER(request_key), NEVER(keyctl),
        /* Its requests run past this filter. */
        NEVER(io_uring_setup), NEVER(io_uring_enter), NEVER(io_uring_register),
        /* A descriptor's owner gets a signal of the plugin's choice from the kernel: F_SETOWN, F_SETSIG, F_SETOWN_EX;
         * FIOSETOWN, SIOCSPGRP. */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 6), ARGUMENT(1),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 8, 3, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 10, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 15, 1, 0), ANSWER(SECCOMP_RET_ALLOW), REFUSE,
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 5), ARGUMENT(1),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x8901, 2, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x8902, 1, 0),
        ANSWER(SECCOMP_RET_ALLOW), REFUSE,
        /* Its flags lie in memory, where a filter cannot read them. Without it, the C library uses clone. */
        IF_CALL(clone3), ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
        OWN(kill), OWN(tgkill), OWN(rt_sigqueueinfo), OWN(rt_tgsigqueueinfo), NEVER(tkill),
        /* The limits that the daemon has set may be read: process 0, and no new limit. */
        NEVER(setrlimit), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 8), ARGUMENT(0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 5), ARGUMENT(2), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
        UPPER_HALF(2), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1), ANSWER(SECCOMP_RET_ALLOW), REFUSE,
        /* The scheduling of another process. */
        CALLER(sched_setaffinity), CALLER(sched_setscheduler), CALLER(sched_setparam), CALLER(sched_setattr),
        /* Threads, but no processes. */
        IF_CALL(clone), BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0), ANSWER(SECCOMP_RET_ALLOW), ARGUMENT(0),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1), ANSWER(SECCOMP_RET_ALLOW), REFUSE,
    };
    struct sock_fprog program = {.len = sizeof rules / sizeof *rules, .filter = rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) end_process("cannot give up new privileges");
    hide_other_processes();
    /* A kernel or a container without seccomp: the process is still another one. */
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0 && errno != EINVAL && errno != ENOSYS) {
        end_process("cannot install the system call filter");
    }
}

void confine(void) {
    (void)close_range(PLUGIN_CHANNEL_MESSAGES + 1, ~0U, 0);
    (void)setsid();
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* systemd sends them to every process of the service, and a terminal to every process in front. */
    const int ends[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE};
    for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++) signal(ends[i], SIG_IGN);
    /* If memory runs out, this process ends before the daemon. */
    int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (score >= 0) {
        (void)!write(score, "1000", 4);
        close(score);
    }
    /* Settings hold secrets: no core dump, and no other process of this user may look. */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    forbid();
}
