/*
 * Let QEMU's two threads take turns when it counts instructions (-icount sleep=off), so that a guest's time does not
 * depend on the host's scheduler. QEMU loads this first (LD_PRELOAD); turns.py compiles it.
 *
 * When the CPU halts, the main loop moves time on to the next timer, by that timer's date less the time now. The time
 * now is what the CPU's thread counted when it last looked, and it adds its newest instructions, without any lock, only
 * after it has said that it is halted (accel/tcg/tcg-accel-ops-rr.c: icount_process_data after tcg_cpus_exec). A main
 * loop that wakes between the two goes too far, by those instructions, some hundred nanoseconds. It is awake then for no
 * reason of the guest's: every timer that ends while the CPU runs wakes it.
 *
 * So the main loop, once woken, waits here until the CPU's thread waits: then all is counted, and what the main loop does
 * comes at the same instruction each time. It waits for a second at most, for a guest that never halts has to be ended.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic pid_t cpu; /* the CPU's thread: the first that waits for a condition, before the machine starts */
static _Atomic unsigned waiting = 1;

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	static int (*next)(pthread_cond_t *, pthread_mutex_t *);
	pid_t self = gettid(), none = 0;
	int error;

	if (!next)
		next = dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
	if (self == getpid() || !(atomic_compare_exchange_strong(&cpu, &none, self) || cpu == self))
		return next(condition, mutex);
	waiting = 1;
	syscall(SYS_futex, &waiting, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	error = next(condition, mutex);
	waiting = 0; /* it holds the lock again, which the main loop needs to go on */
	return error;
}

int ppoll(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
	static int (*next)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
	static const struct timespec most = { .tv_sec = 1 };
	int ready;

	if (!next)
		next = dlsym(RTLD_NEXT, "ppoll");
	ready = next(files, count, timeout, mask);
	if (gettid() == getpid())
		syscall(SYS_futex, &waiting, FUTEX_WAIT_PRIVATE, 0, &most, NULL, 0);
	return ready;
}

/* What ppoll is called in a QEMU that was compiled with _FORTIFY_SOURCE. */
int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask, size_t size)
{
	(void)size;
	return ppoll(files, count, timeout, mask);
}
