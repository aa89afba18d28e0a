"""Compute the memory of packets: `truesize`, the unit of windows and buffers, and the room for headers.

The sizes are valid for 64-bit kernels with 64-byte cache lines: sk_buff has at most 232 bytes, aligned to 256, and
skb_shared_info has 320. Since 6.3, small heads have their own cache (SKB_SMALL_HEAD_CACHE_SIZE, net/core/skbuff.c),
whose size depends on the kernel's configuration (`KernelTraits.max_header`). In older kernels, kmalloc() rounded the
head up to a power of two.
"""

from __future__ import annotations

from lab.model.scenario import KernelTraits

SK_BUFF, SHARED_INFO = 256, 320
_CACHE_LINE = 64
_PAD = 64  # NET_SKB_PAD
_GSO_MAX_SIZE = 65536  # GSO_LEGACY_MAX_SIZE
_SMALL_HEADS_SINCE = (6, 3)  # "net: add dedicated kmem_cache for typical/small skb->head"


def tcp_header(kernel: KernelTraits) -> int:
    """Return the room for headers in a sender's skb: MAX_TCP_HEADER (include/net/tcp.h)."""
    return _aligned(128 + kernel.max_header)


def overhead(kernel: KernelTraits) -> int:
    """Return SKB_TRUESIZE of an empty skb with a small head.

    The head has room for TCP's headers, or for the headers that GRO pulls in (GRO_MAX_HEAD).
    """
    if kernel.version < _SMALL_HEADS_SINCE:
        return kmalloc(tcp_header(kernel) + SHARED_INFO) + SK_BUFF
    head = _aligned(max(tcp_header(kernel), 128 + kernel.max_header + _PAD)) + SHARED_INFO
    if head.bit_count() == 1:  # a power of two would be a different cache's size
        head += _CACHE_LINE
    return head + SK_BUFF


def kmalloc(size: int) -> int:
    """Return the memory of an allocation of `size` bytes: a power of two, from 256 B on."""
    return 1 << (size - 1).bit_length()


def gso_bytes(kernel: KernelTraits) -> int:
    """Return the size of the largest skb that a sender builds, in bytes: sk_gso_max_size after sk_setup_caps()."""
    return _GSO_MAX_SIZE - tcp_header(kernel) - 1


def _aligned(size: int) -> int:
    """Round up to whole cache lines: SKB_DATA_ALIGN, L1_CACHE_ALIGN."""
    return -(-size // _CACHE_LINE) * _CACHE_LINE
