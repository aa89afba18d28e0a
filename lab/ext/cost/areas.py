"""Sort the functions of a kernel into areas, by their names, for a page."""

from __future__ import annotations

import re

from lab.ext.cost.counts import USER

__all__ = ["area"]

_OTHER = "other"
_AREAS = {
    "programs": rf"{USER}",
    "TCP": r"_*(tcp|inet_csk|inet_ehash|inet6?_lookup|bictcp|cubictcp|bbr|reno)",
    "IP": r"_*(ip|ip4|ip6|ipv4|ipv6|inet|inet6|fib|rt|dst|icmp|neigh|arp|raw|udp)_",
    "devices and queues": r"_*(dev|netif|netdev|napi|net_rx|net_tx|gro|qdisc|sch|netem|tbf|fq|pfifo|veth|loopback|eth|"
    r"bridge|br|ifb|skb_gro|process_backlog|enqueue_to_backlog|validate_xmit|sch_\w+:|tcf|mirred|generic_xdp)",
    "sockets": r"_*(sock|sk|skb|sys_send|sys_recv|lock_sock|release_sock|security_socket|kfree_skb|consume_skb|"
    r"napi_build_skb|import_iovec|move_addr|copy_msghdr)",
    "security": r"_*(security_(?!socket)|apparmor|aa_|tomoyo|hook_|selinux|cap_)",
    "filters": r"_*(nf|nft|xt|ipt|conntrack|nf_\w+:|bpf)",
    "memory": r"_*(kmem|kmalloc|kfree|slab|page|alloc|free|get_page|put_page|folio|memcg|mod_memcg|obj_cgroup|mm|vm|"
    r"handle_mm|do_anonymous|clear_page|pte|rmqueue|memset|refill_obj|try_charge|vma|mas|mt_)",
    "copies": r"_*(copy|memcpy|memmove|rep_movs|iov_iter|csum|virt_addr_valid|check_object_size|"
    r"check_heap_object|check_stack)",
    "scheduler": r"_*(schedule|pick|enqueue|dequeue|update_(load|curr|rq|cfs|se|min)|set_next|put_prev|try_to_wake|"
    r"ttwu|wake|switch|finish_task|prepare_task|psi|select_task|check_preempt|wakeup|autoremove|wait_woken|resched|place_|"
    r"reweight|sched|default_wake|add_wait|remove_wait|prepare_to|finish_wait|vruntime|avg_vruntime|dl_|rt_|sugov|"
    r"raw_spin_rq|requeue_delayed|entity_lag|cpuacct)",
    "timers": r"_*(hrtimer|timer|mod_timer|del_timer|ktime|tick|clock|read_tsc|timekeeping|enqueue_timer|calc_wheel|"
    r"rb_|timerqueue|get_nohz|lapic|run_timer|call_timer|posix_)",
    "system calls": r"_*(do_syscall|entry_|syscall|x64_sys|x64_|sys_|se_sys|do_sys|ret_from|exit_to|asm_|error_|"
    r"common_interrupt|sysvec|irq|handle_softirqs|do_softirq|softirq|raise_softirq|idtentry|fpregs|native_|sync_regs)",
    "files": r"_*(vfs|ksys|fd|fget|fput|file|new_sync|do_(iter|readv|writev|sendfile|splice|poll|epoll)|ep_|epoll|poll|"
    r"select|eventfd|pipe|d_|dput|path|link|lookup|rw_verify|fsnotify|seq|proc|shmem|generic_file|splice)",
    "random numbers": r"_*(chacha|prandom|get_random|crng|blake2s|siphash|hsiphash)",
    "locks": r"_*(raw_spin|raw_read|raw_write|mutex|down|up_|rwsem|rcu|local_bh|futex|queued_spin|lockref|srcu|percpu)",
}
_PATTERNS = {name: re.compile(pattern) for name, pattern in _AREAS.items()}


def area(function: str) -> str:
    """Return the area of a function, from its name alone: "TCP", "memory"; "other" if no pattern fits.

    A function in a module has the module's name before its own.
    """
    for name, pattern in _PATTERNS.items():
        if pattern.match(function):
            return name
    return _OTHER
