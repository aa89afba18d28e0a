"""Sort the functions of a kernel into areas, by their names, for a page."""

from __future__ import annotations

import re

from lab.ext.cost.counts import USER

__all__ = ["area"]

_OTHER = "other"
_AREAS = {  # the beginnings of names, as regular expressions; the first area that fits counts
    "programs": rf"{USER}$",
    "scheduler": r"sched pick_(?!file|link) enqueue_(?!to_backlog|timer) dequeue_ update_(load|curr|rq|cfs|se_|min) "
    r"set_next put_prev try_to_wake ttwu wake switch_ finish_task psi_ select_task check_preempt autoremove wait_woken "
    r"resched place_entity reweight default_wake add_wait remove_wait prepare_to_ finish_wait vruntime avg_vruntime "
    r"dl_ sugov raw_spin_rq requeue_delayed entity_lag cpuacct cond_resched preempt_(model|sched)",
    "locks": r"raw_spin raw_read raw_write rt_mutex mutex down up_ rwsem rcu call_rcu local_bh futex lockref srcu "
    r"percpu_(up|down)",
    "console": r"serial8250 io_serial uart tty_ n_tty console",
    "mitigations": r"(x86_)?indirect_thunk x86_return srso retbleed entry_(un)?(train|ibpb) clear_bhb",
    "TCP": r"tcp inet_csk inet_ehash inet6?_lookup cubictcp (established|listening)_get",
    "IP": r"ip_ ip4_ ip6_ ipv4_ ipv6_ inet_ inet6_ fib_ rt_ dst_ icmp_ neigh_ arp_ raw_ udp_",
    "devices and queues": r"dev_ devlink netif netdev napi_(?!build_skb) net_rx net_tx gro_ qdisc sch_ fq_ pfifo veth "
    r"loopback eth_ bridge: br_ ifb: skb_gro process_backlog enqueue_to_backlog validate_xmit tcf generic_xdp act_ "
    r"cls_",
    "sockets": r"sock sk skb sys_send sys_recv lock_sock release_sock security_socket kfree_skb consume_skb "
    r"napi_build_skb import_iovec move_addr copy_msghdr",
    "security": r"security_(?!socket) apparmor aa_ tomoyo hook_ selinux cap_",
    "filters": r"nf nft xt x_tables ipt bpf",
    "memory": r"kmem kmalloc kfree slab page alloc free get_page put_page folio memcg mod_memcg obj_cgroup mm vm "
    r"handle_mm do_anonymous clear_(page|highpage) pte rmqueue memset refill_obj try_charge vma mas mt(ree)?_ mab_ brk "
    r"zap_ unmap_ release_pages next_uptodate wp_page do_wp do_fault do_user_addr exc_page access_error (do_)?set_pte "
    r"lru flush_tlb tlb_ mod_(node|zone|lruvec) lruvec mem_cgroup count_memcg charge_memcg uncharge (un)?lock_page_mem "
    r"workingset prep_new_page post_alloc pmd_ pud_ pfn_ copy_page_range dup_mmap lock_(vma|mm) find_vma cache_from "
    r"add_mm unlink_anon policy_ get_vma PageH compound_head cgroup_rstat css_rstat mksaved check_new_pages",
    "copies": r"copy memcpy memmove rep_movs iov_iter csum virt_addr_valid check_object_size check_heap_object "
    r"check_stack",
    "timers": r"hrtimer timer mod_timer ktime tick clock read_tsc timekeeping enqueue_timer calc_wheel rb_ timerqueue "
    r"get_nohz lapic run_timer call_timer posix_",
    "system calls": r"do_syscall entry_ syscall x64_ sys_ do_sys ret_from exit_to asm_ error_ common_interrupt sysvec "
    r"irq handle_softirqs do_softirq softirq raise_softirq fpregs native_ sync_regs",
    "files": r"vfs ksys fd fget fput file do_(iter|readv|writev|sendfile|splice|poll|epoll) ep_ epoll poll select "
    r"eventfd pipe d_ dput path link pick_file pick_link lookup rw_verify fsnotify seq proc shmem generic_file splice",
    "random numbers": r"chacha prandom get_random crng blake2s siphash hsiphash",
}
_PATTERNS = {name: re.compile(rf"_*({'|'.join(starts.split())})") for name, starts in _AREAS.items()}


def area(function: str) -> str:
    """Return the area of a function, from its name alone: "TCP", "memory"; "other" if no pattern fits.

    A function in a module has the module's name before its own.
    """
    for name, pattern in _PATTERNS.items():
        if pattern.match(function):
            return name
    return _OTHER
