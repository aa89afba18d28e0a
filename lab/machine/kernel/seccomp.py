"""List the system calls that a guest's kernel and a compiler may make on the host, as programs for seccomp.

The list assumes that root in a guest may gain control of the kernel's process. The list holds the calls that user-mode
Linux needs. Any other call fails with EPERM. Code inside a guest is hardly affected, because only the guest's kernel
makes calls on the host.

A build runs the machine's shells, make and Python. The list for builds excludes calls instead: it allows all calls
except calls that reach beyond a process's own files.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

X86_64 = 0xC000003E  # AUDIT_ARCH_X86_64
ALLOW, DENY = 0x7FFF0000, 0x00050000 | 1  # SECCOMP_RET_ALLOW; SECCOMP_RET_ERRNO with EPERM
ABSENT = 0x00050000 | 38  # with ENOSYS, after which a C library makes an older call
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
LOAD, AND, RETURN = 0x20, 0x54, 0x06  # BPF_LD | BPF_W | BPF_ABS, BPF_ALU | BPF_AND | BPF_K, BPF_RET | BPF_K
IF_EQUAL, IF_AT_LEAST = 0x15, 0x35  # BPF_JMP | BPF_K with BPF_JEQ, BPF_JGE

WORD = 0xFFFFFFFF
NAMESPACES = 0x7E020080  # every CLONE_NEW*
NEGATIVE = 0x80000000
AT_EMPTY_PATH = 0x1000
TERMINAL = (0x5401, 0x5402, 0x5403, 0x5404, 0x5413, 0x541B, 0x5421, 0x5452)  # TCGETS ... FIOASYNC; never TIOCSTI
# F_DUPFD, GETFD, SETFD, GETFL, SETFL, GETLK, SETLK, SETLKW, SETOWN, GETOWN, SETSIG, GETSIG; OFD_GETLK, _SETLK, _SETLKW;
# DUPFD_CLOEXEC, SETPIPE_SZ, GETPIPE_SZ, ADD_SEALS, GET_SEALS. No SETLEASE, no NOTIFY: they hold and watch host files.
# The kernel has SIGIO sent to itself by SETSIG and SETOWN; Landlock's scopes hold that for others as they hold kill().
CONTROLS = (*range(12), 36, 37, 38, 1030, 1031, 1032, 1033, 1034)
OPTIONS = (1, 15, 26, 38)  # PR_SET_PDEATHSIG, _NAME, _TSC, _NO_NEW_PRIVS
# PTRACE_TRACEME, PEEKUSER, POKEUSER, CONT, KILL, SINGLESTEP, GETREGS to SETFPREGS, OLDSETOPTIONS, SYSCALL, ARCH_PRCTL,
# SYSEMU, SYSEMU_SINGLESTEP, SETOPTIONS, GETSIGINFO, GETREGSET, SETREGSET. No ATTACH, no SEIZE: its own children only.
REQUESTS = (0, 3, 6, 7, 8, 9, 12, 13, 14, 15, 21, 24, 30, 31, 32, 0x4200, 0x4202, 0x4204, 0x4205)


@dataclass(frozen=True, slots=True)
class Only:
    """Allows a call if an argument's lower (or upper) 32 bits, under a mask, have one of the given values."""

    argument: int
    values: tuple[int, ...]
    mask: int = WORD
    upper: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """Allows a system call of x86-64, under conditions that must all hold."""

    number: int
    name: str
    conditions: tuple[Only, ...] = ()
    verdict: int = ALLOW


_ALWAYS = (
    Call(0, "read"),
    Call(1, "write"),
    Call(2, "open"),
    Call(3, "close"),
    Call(4, "stat"),
    Call(5, "fstat"),
    Call(6, "lstat"),
    Call(7, "poll"),
    Call(8, "lseek"),
    Call(9, "mmap"),
    Call(10, "mprotect"),
    Call(11, "munmap"),
    Call(12, "brk"),
    Call(13, "rt_sigaction"),
    Call(14, "rt_sigprocmask"),
    Call(15, "rt_sigreturn"),
    Call(16, "ioctl", (Only(1, TERMINAL),)),
    Call(17, "pread64"),
    Call(18, "pwrite64"),
    Call(21, "access"),
    Call(24, "sched_yield"),
    Call(25, "mremap"),
    Call(28, "madvise"),
    Call(32, "dup"),
    Call(33, "dup2"),
    Call(34, "pause"),
    Call(35, "nanosleep"),
    Call(38, "setitimer"),
    Call(39, "getpid"),
    Call(46, "sendmsg"),  # with a socket of `socketpair`: there are no other sockets
    Call(47, "recvmsg"),
    Call(53, "socketpair", (Only(0, (1,)), Only(1, (1,), 0xF))),  # AF_UNIX, SOCK_STREAM: it cannot send elsewhere
    Call(56, "clone", (Only(0, (0,), NAMESPACES),)),
    Call(60, "exit"),
    Call(61, "wait4"),
    Call(62, "kill", (Only(0, (0,), NEGATIVE),)),  # a process, or its own group; never "all"
    Call(63, "uname"),
    Call(72, "fcntl", (Only(1, CONTROLS),)),
    Call(74, "fsync"),
    Call(75, "fdatasync"),
    Call(76, "truncate"),
    Call(77, "ftruncate"),
    Call(79, "getcwd"),
    Call(82, "rename"),
    Call(83, "mkdir"),
    Call(84, "rmdir"),
    Call(85, "creat"),
    Call(86, "link"),
    Call(87, "unlink"),
    Call(89, "readlink"),
    Call(96, "gettimeofday"),
    Call(97, "getrlimit"),
    Call(102, "getuid"),
    Call(104, "getgid"),
    Call(107, "geteuid"),
    Call(108, "getegid"),
    Call(110, "getppid"),
    Call(111, "getpgrp"),
    Call(112, "setsid"),
    Call(127, "rt_sigpending"),
    Call(128, "rt_sigtimedwait"),
    Call(130, "rt_sigsuspend"),
    Call(131, "sigaltstack"),
    Call(135, "personality"),
    Call(137, "statfs"),
    Call(138, "fstatfs"),
    Call(157, "prctl", (Only(0, OPTIONS),)),
    Call(158, "arch_prctl"),
    Call(186, "gettid"),
    Call(202, "futex"),
    Call(217, "getdents64"),
    Call(218, "set_tid_address"),
    Call(219, "restart_syscall"),
    Call(222, "timer_create"),
    Call(223, "timer_settime"),
    Call(224, "timer_gettime"),
    Call(225, "timer_getoverrun"),
    Call(226, "timer_delete"),
    Call(228, "clock_gettime"),
    Call(229, "clock_getres"),
    Call(230, "clock_nanosleep"),
    Call(231, "exit_group"),
    Call(232, "epoll_wait"),
    Call(233, "epoll_ctl"),
    Call(213, "epoll_create"),
    Call(257, "openat"),
    Call(262, "newfstatat"),
    Call(273, "set_robust_list"),
    Call(281, "epoll_pwait"),
    Call(289, "signalfd4"),
    Call(290, "eventfd2"),
    Call(291, "epoll_create1"),
    Call(293, "pipe2"),
    Call(302, "prlimit64", (Only(0, (0,)),)),  # only its own limits
    Call(316, "renameat2"),
    Call(317, "seccomp"),  # filters can only be added
    Call(318, "getrandom"),
    Call(319, "memfd_create"),
    Call(322, "execveat", (Only(4, (AT_EMPTY_PATH,)),)),  # an already open file: a memfd for each of its processes
    Call(332, "statx"),
    Call(334, "rseq"),
    Call(436, "close_range"),
)
_OLDER = (  # further calls of kernels that run processes with ptrace()
    Call(101, "ptrace", (Only(0, REQUESTS),)),
    Call(154, "modify_ldt", (Only(0, (0, 1, 0x11)),)),  # 6.1 empties the table of each new process
)
_LAST = 462  # mseal; a build does not need any later call
_NEVER_BUILT = {  # name -> number of the calls that a build may not make
    "shmget": 29,
    "shmat": 30,
    "shmctl": 31,
    "semget": 64,
    "semop": 65,
    "semctl": 66,
    "msgget": 68,
    "msgsnd": 69,
    "msgrcv": 70,
    "msgctl": 71,
    "socket": 41,
    "connect": 42,
    "accept": 43,
    "bind": 49,
    "listen": 50,
    "ptrace": 101,
    "syslog": 103,
    "utime": 132,
    "uselib": 134,
    "vhangup": 153,
    "pivot_root": 155,
    "adjtimex": 159,
    "chroot": 161,
    "acct": 163,
    "settimeofday": 164,
    "mount": 165,
    "umount2": 166,
    "swapon": 167,
    "swapoff": 168,
    "reboot": 169,
    "sethostname": 170,
    "setdomainname": 171,
    "iopl": 172,
    "ioperm": 173,
    "init_module": 175,
    "delete_module": 176,
    "quotactl": 179,
    "semtimedop": 220,
    "clock_settime": 227,
    "utimes": 235,
    "futimesat": 261,
    "mq_open": 240,
    "mq_unlink": 241,
    "kexec_load": 246,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "migrate_pages": 256,
    "unshare": 272,
    "move_pages": 279,
    "accept4": 288,
    "perf_event_open": 298,
    "fanotify_init": 300,
    "name_to_handle_at": 303,
    "open_by_handle_at": 304,
    "clock_adjtime": 305,
    "setns": 308,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "kcmp": 312,
    "finit_module": 313,
    "kexec_file_load": 320,
    "bpf": 321,
    "userfaultfd": 323,
    "pidfd_send_signal": 424,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_open": 434,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "process_mrelease": 448,
}
_BUILT = {  # number -> the calls that a build may make only under conditions
    53: Call(53, "socketpair", (Only(0, (1,)),)),
    56: Call(56, "clone", (Only(0, (0,), NAMESPACES),)),
    72: Call(72, "fcntl", (Only(1, CONTROLS),)),
    302: Call(302, "prlimit64", (Only(0, (0,)),)),
    # Only "now": then a changed file shows its change (lab.machine.kernel.uml.pristine).
    280: Call(280, "utimensat", (Only(2, (0,)), Only(2, (0,), upper=True))),
    435: Call(435, "clone3", verdict=ABSENT),  # its flags are in memory, which a filter does not see
}

_Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, constant


def calls(ptrace: bool) -> tuple[Call, ...]:
    """Return the calls that a kernel needs, sorted by number. `ptrace` means that the kernel runs processes with
    ptrace().
    """
    return tuple(sorted((*_ALWAYS, *(_OLDER if ptrace else ())), key=lambda call: call.number))


def calls_of_builds() -> tuple[Call, ...]:
    """Return the calls that a compiler and its children may make, sorted by number."""
    never = {*_NEVER_BUILT.values()}
    return tuple(_BUILT.get(number, Call(number, "")) for number in range(_LAST + 1) if number not in never)


def program(allowed: Sequence[Call]) -> bytes:
    """Return a filter, an array of struct sock_filter, that allows these calls. All other calls fail with EPERM.

    The filter finds a call's number with a binary search, because it also runs for each call of the guest's processes.
    """
    code = [
        (LOAD, 0, 0, ARCHITECTURE),
        (IF_EQUAL, 1, 0, X86_64),
        (RETURN, 0, 0, DENY),
        (LOAD, 0, 0, NUMBER),
        *_search(_ranges(allowed)),
    ]
    return b"".join(struct.pack("=HBBI", *each) for each in code)


def _ranges(allowed: Sequence[Call]) -> list[tuple[int, list[_Instruction]]]:
    """Divide all call numbers into ranges with identical code, each named by its first number."""
    found: list[tuple[int, list[_Instruction]]] = [(0, [(RETURN, 0, 0, DENY)])]
    for call in allowed:
        for first, code in ((call.number, _decide(call)), (call.number + 1, [(RETURN, 0, 0, DENY)])):
            if found[-1][0] == first:
                found.pop()
            if not found or found[-1][1] != code:
                found.append((first, code))
    return found


def _decide(call: Call) -> list[_Instruction]:
    code: list[_Instruction] = [(RETURN, 0, 0, DENY)]
    accepted: list[_Instruction] = [(RETURN, 0, 0, call.verdict)]
    for each in reversed(call.conditions):
        load = [(LOAD, 0, 0, ARGUMENTS + 8 * each.argument + 4 * each.upper)]
        masked = [(AND, 0, 0, each.mask)] if each.mask != WORD else []
        count = len(each.values)
        looks = [(IF_EQUAL, count - place, 0, value) for place, value in enumerate(each.values)]
        accepted = [*load, *masked, *looks, *code, *accepted]  # a test that succeeds jumps over the refusal
    return accepted


def _search(ranges: Sequence[tuple[int, list[_Instruction]]]) -> list[_Instruction]:
    if len(ranges) == 1:
        return ranges[0][1]
    middle = len(ranges) // 2
    below, above = _search(ranges[:middle]), _search(ranges[middle:])
    return [(IF_AT_LEAST, len(below), 0, ranges[middle][0]), *below, *above]
