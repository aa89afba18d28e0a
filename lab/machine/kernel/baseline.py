"""Make libraries use only features that every x86-64 CPU has, so that they compute the same results on every CPU.

CPUID cannot be masked on every host, and libraries use it to choose among variants of a function. Variants with fused
multiply-add round the last digits differently. RDRAND and RDSEED cannot be hidden either, so these settings keep
programs from using them.
"""

from __future__ import annotations

_BEYOND = """
AVX AVX2 AVX512F AVX512VL AVX512BW AVX512DQ AVX512CD AVX_Fast_Unaligned_Load BMI1 BMI2 ERMS FMA FMA4 FSRM LZCNT MOVBE
POPCNT RTM SSE3 SSSE3 SSE4_1 SSE4_2 XOP XSAVE XSAVEC
"""
_BY_MODEL = "Fast_Copy_Backward Fast_Unaligned_Copy Fast_Unaligned_Load Prefer_PMINUB_for_stringop Slow_BSF"
_SSE2 = 0b1111 << 23  # CPUID leaf 1, EDX: MMX, FXSR, SSE and SSE2

ENVIRONMENT = {
    "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={','.join(f'-{name}' for name in (_BEYOND + _BY_MODEL).split())}",
    "OPENSSL_ia32cap": f"{_SSE2:#x}:0",
}
