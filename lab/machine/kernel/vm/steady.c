/*
 * Keep the host's scheduler and the host's date out of a guest whose instructions QEMU counts (-icount sleep=off): QEMU's
 * two threads take turns, and the date stands still. QEMU loads this first (LD_PRELOAD); preload.py compiles it.
 *
 * When the CPU halts, the main loop moves time on to the next timer, by that timer's date less the time now. The time
 * now is what the CPU's thread counted when it last looked, and it adds its newest instructions, without any lock, only
 * after it has said that it is halted (accel/tcg/tcg-accel-ops-rr.c: icount_process_data after tcg_cpus_exec). A main
 * loop that wakes between the two goes too far, by those instructions, some hundred nanoseconds. It is awake then for no
 * reason of the guest's: every timer that ends while the CPU runs wakes it.
 *
 * So when the main loop takes the lock that guards the machine, the CPU's thread has to wait without it, which it does only
 * with all counted; else the main loop gives the lock back and waits as well. What it does then comes at the same
 * instruction each time. A guest that runs on and on does not keep it out for ever, or nothing could end it: it goes on when
 * the CPU's thread has computed for half a second. However busy the host is, that measures the guest alone.
 *
 * QEMU also asks the host for the date each time the guest flushes its TLB: the emulated TLB may shrink when 100 ms have
 * passed (accel/tcg/cputlb.c: tlb_mmu_resize_locked). Its size is not hidden from the guest, which then executes some
 * instructions more or fewer. So the date stands still, and the TLB never shrinks.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MOST 500000000 /* ns */

static pthread_t main_loop, cpu;
static pthread_mutex_t *_Atomic machine; /* what the CPU's thread waits without, from before the machine starts */
static clockid_t computed;               /* by the CPU's thread, on the host */
static _Atomic unsigned waiting;         /* it changes under the lock, so who holds that knows */

static int (*lock)(pthread_mutex_t *);
static int (*wait)(pthread_cond_t *, pthread_mutex_t *);

/* As early as other libraries of QEMU start, which take locks. */
static void find(void)
{
	main_loop = pthread_self();
	lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	wait = dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	pthread_t self = pthread_self();
	int error;

	if (!wait)
		find();
	if (!machine && self != main_loop && !pthread_getcpuclockid(self, &computed)) {
		cpu = self; /* the first thread that waits */
		machine = mutex;
	}
	if (mutex != machine || self != cpu)
		return wait(condition, mutex);
	waiting = 1;
	syscall(SYS_futex, &waiting, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	error = wait(condition, mutex);
	waiting = 0;
	return error;
}

/* ns, or -1 when the thread is gone */
static long long used(void)
{
	struct timespec now;

	return clock_gettime(computed, &now) ? -1 : now.tv_sec * 1000000000LL + now.tv_nsec;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static const struct timespec again = { .tv_nsec = MOST / 10 };
	int error;

	if (!lock)
		find();
	error = lock(mutex);
	if (mutex != machine || pthread_self() != main_loop)
		return error;
	for (long long start = used(), now = start; !waiting && now >= 0 && now - start < MOST; now = used()) {
		pthread_mutex_unlock(mutex);
		syscall(SYS_futex, &waiting, FUTEX_WAIT_PRIVATE, 0, &again, NULL, 0);
		error = lock(mutex);
	}
	return error;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	(void)zone;
	*now = (struct timeval){ 0 };
	return 0;
}
