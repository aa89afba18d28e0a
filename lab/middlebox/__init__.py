"""What changes packets on their way: rules, programs and queues in a host or a router.

A middlebox is a frozen declaration whose `installed` is a context; `Middlebox` is the union of all of them, told apart
by `kind`.
"""

from typing import Any

Middlebox = Any

__all__ = ["Middlebox"]
