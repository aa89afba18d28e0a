"""Define what all parts of a topology file share: their base class, and the types of quantities."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainValidator, WithJsonSchema

from lab.base import ethernet
from lab.guest.share import Percent
from lab.spec.document import Place
from lab.units import Duration, Quantity, Rate, Size

MTU = Size(ethernet.MTU)  # of a link without `mtu`
MTU_MIN, MTU_MAX = 68, 65535  # bytes: the datagram that every network must carry (RFC 791); the largest MTU of a veth
ROUTE_MTU_MAX = 65520  # bytes: the kernel uses this for a route with a larger one, ip_metrics_convert()
ADVMSS_MAX = 65495  # bytes, as well
MTU_MIN_IPV6 = 1280  # bytes, RFC 8200 section 5
LEAST_CHANCE = 1e-7  # netem may draw one step of 2^-32 too many, which is 0.35 % of this


class Mistakes(ValueError):
    """Raised for mistakes in one part. The error holds all mistakes, each with its place relative to the part."""

    def __init__(self, found: Iterable[tuple[Place, str]]) -> None:
        self.found = tuple(dict.fromkeys(found))
        super().__init__("; ".join(message for _, message in self.found))


def _quantity_schema(kind: type[Quantity]) -> WithJsonSchema:
    units = "|".join(kind.units)
    return WithJsonSchema({"type": "string", "pattern": rf"^\s*[0-9.eE+]+\s*({units})\s*$", "examples": [kind.example]})


def _nonzero(rate: Rate) -> Rate:
    if not rate:
        raise ValueError("a rate of zero carries nothing; leave it out for an unlimited rate")
    return rate


def _mtu(size: Size) -> Size:
    if not MTU_MIN <= size.bytes <= MTU_MAX:
        raise ValueError(f"an MTU of {size} is not between {MTU_MIN} B and {MTU_MAX} B")
    return size


def _chance(share: Percent) -> Percent:
    if 0 < share < LEAST_CHANCE:
        raise ValueError(f"netem draws in steps of 2^-32; use {LEAST_CHANCE * 100:.5f} % or more, or leave it out")
    return share


def _advmss(size: Size) -> Size:
    if not 1 <= size.bytes <= ADVMSS_MAX:
        raise ValueError(f"an advmss of {size} is not between 1 B and {ADVMSS_MAX} B")
    return size


def _whole_bytes(rate: Rate) -> Rate:
    if rate.bps % 8:
        least = Rate(max(rate.bps // 8, 1) * 8)
        raise ValueError(f"{rate} is not a whole number of bytes per second; give {least}")
    return rate


RateText = Annotated[
    Rate, PlainValidator(Rate.of), AfterValidator(_nonzero), AfterValidator(_whole_bytes), _quantity_schema(Rate)
]
DurationText = Annotated[Duration, PlainValidator(Duration.of), _quantity_schema(Duration)]
SizeText = Annotated[Size, PlainValidator(Size.of), _quantity_schema(Size)]
AdvmssText = Annotated[Size, PlainValidator(Size.of), AfterValidator(_advmss), _quantity_schema(Size)]
MtuText = Annotated[Size, PlainValidator(Size.of), AfterValidator(_mtu), _quantity_schema(Size)]
PercentText = Annotated[
    Percent,
    PlainValidator(Percent.of),
    AfterValidator(_chance),
    WithJsonSchema({"type": "string", "pattern": r"^\s*[0-9.]+\s*%\s*$", "examples": ["1 %"]}),
]


class Part(BaseModel):
    """Checks a mapping of the file. A part accepts only known keys and exact types, and is immutable."""

    # Build a validator on first use only: most parts are only used as fields of a larger part.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


def prefix(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """Return the prefix that a text is, or None if it is none. An address is the prefix of itself.

    Raises ValueError if the text has bits after its prefix.
    """
    try:
        meant = ipaddress.ip_network(text, strict=False) if "%" not in text else None
    except ValueError:
        return None
    if meant is not None and ipaddress.ip_interface(text).ip != meant.network_address:
        raise ValueError(f"'{text}' has bits after its prefix; write '{meant}'")
    return meant
