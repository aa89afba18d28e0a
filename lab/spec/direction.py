"""Define the keys of a link's direction in a topology file, their types, and the mistakes that show within one part."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    Strict,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from lab.guest import trace
from lab.guest.fabric.distribution import reach, stretched
from lab.guest.network import DISTRIBUTIONS, Distribution, Queue, Shaper, Trace
from lab.spec import queue, tables
from lab.spec.beside import inside
from lab.spec.errors import no_file
from lab.spec.parts import DurationText, Mistakes, MtuText, Part, PercentText, RateText, SizeText
from lab.units import Duration

UNIFORM = "uniform"  # the distribution of a plain jitter
AMPLE = "ample"  # a limit with which a single flow loses nothing
LEAST_GAP = Duration.of("1 ms")  # between repetitions of a change
MOST_SLOT = Duration(2**31)  # from min to max: kernels before 7.0 multiply it by 32 random bits, in 64 bits with a sign


def _limit(value: object) -> int | str:
    if value == AMPLE or (isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**32):
        return value
    raise ValueError(f"'{value}' should be a number of frames from 1 to {2**32 - 1}, or {AMPLE}")


def _queue(value: object) -> Queue:
    if isinstance(value, Queue):  # already read: an experiment changes a topology that was loaded before
        return value
    found, mistakes = queue.read(value)
    if found is None:
        raise Mistakes(mistakes)
    return found


def _trace(value: object, info: ValidationInfo[Path]) -> Trace:
    if isinstance(value, Trace):
        return value
    if not inside(info.context, str(value)).is_file():
        raise ValueError(f"the trace {no_file(Path(info.context, str(value)))}")
    return trace.read(str(value), info.context)


def _jitter(value: object) -> object:
    """Turn a plain jitter into the part that a mapping gives."""
    if isinstance(value, JitterPart | Mapping):
        return value
    return JitterPart(deviation=Duration.of(value if isinstance(value, Duration) else str(value)))


def _distribution(value: object, info: ValidationInfo[Path]) -> Distribution | None:
    if value is None or isinstance(value, Distribution):
        return value
    name = str(value)
    if name in (UNIFORM, *DISTRIBUTIONS):
        return None if name == UNIFORM else Distribution(name)
    return tables.read(name, info.context)


def _destinations(delays: dict[str, Duration]) -> dict[str, Duration]:
    if not delays:
        raise ValueError("names no destination")
    return delays


DistributionText = Annotated[
    Distribution | None, PlainValidator(_distribution), WithJsonSchema({"type": "string", "examples": [*DISTRIBUTIONS]})
]
QueueText = Annotated[
    Queue,
    PlainValidator(_queue),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": [kind for kind in queue.KINDS if kind not in queue.NEEDED]},
                {"type": "object", "required": ["kind"], "properties": {"kind": {"enum": [*queue.KINDS]}}},
            ]
        }
    ),
]
TraceText = Annotated[Trace, PlainValidator(_trace), WithJsonSchema({"type": "string"})]


LimitText = Annotated[
    int | str,
    PlainValidator(_limit),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 2**32 - 1}, {"const": AMPLE}]}),
]


class BurstLossPart(Part):
    """The Gilbert-Elliott model: a good and a bad state, each with its own loss. The state may change after each
    frame.
    """

    p: PercentText
    """The chance, after a frame in the good state, that the state turns bad."""
    r: PercentText
    """The chance, after a frame in the bad state, that the state turns good."""
    bad: PercentText | None = None
    """The share of frames lost in the bad state. Default: all."""
    good: PercentText | None = None
    """The share of frames lost in the good state. Default: none."""


class SlotPart(Part):
    """Times at which frames are released together, as on a radio that takes turns with others."""

    min: DurationText
    """The shortest time between two releases."""
    max: DurationText
    """The longest time between two releases. If it differs from `min`, each time is drawn uniformly from the range."""
    packets: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    """The maximum number of frames released at once."""
    bytes: SizeText | None = None
    """The maximum number of bytes released at once. A frame that begins within the limit is released whole."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min > self.max:
            raise Mistakes([(("max",), f"{self.max} is shorter than min, {self.min}")])
        if not self.max:
            raise Mistakes([(("max",), "should be longer than zero")])
        if self.max.ns - self.min.ns > MOST_SLOT.ns:
            raise Mistakes([(("max",), f"netem cannot draw a slot more than {MOST_SLOT} longer than min")])
        if self.bytes is not None and self.bytes.bytes >= 2**31:
            raise Mistakes([(("bytes",), f"{self.bytes} is more than netem can count; use less than 2 GiB")])
        return self


class JitterPart(Part):
    """How much the delay of a frame varies, and how these variations are distributed."""

    deviation: DurationText
    """The standard deviation of the delay. With `uniform`, the maximum variation, plus or minus."""
    distribution: DistributionText | None = None
    """`uniform` (the default), `normal`, `pareto`, `paretonormal`, or a table in tc's format: a file next to the
    topology file, with whole numbers, in which 8192 is one deviation.
    """
    in_order: bool | None = None
    """Whether a frame waits for earlier frames. On a link with a rate, frames always wait, unless the rate acts in the
    sender's interface or in a token bucket. Default: elsewhere, a frame may overtake others.
    """

    @property
    def early(self) -> Duration:
        """Return how much a frame may be earlier than the delay."""
        return self.deviation if self.distribution is None else reach(self.distribution, self.deviation)[0]

    @property
    def late(self) -> Duration:
        """Return how much a frame may be later than the delay."""
        return self.deviation if self.distribution is None else reach(self.distribution, self.deviation)[1]

    @property
    def drawn(self) -> Duration:
        """Return the jitter that netem gets."""
        return self.deviation if self.distribution is None else stretched(self.distribution, self.deviation)


JitterText = Annotated[
    JitterPart,
    BeforeValidator(_jitter, json_schema_input_type=JitterPart | DurationText),
]


class ChangePart(Part):
    """New settings of a direction from some time on. Settings that are left out do not change. A change may repeat."""

    at: DurationText | None = None
    """When the settings change, counted from the workload's start. With `every_about`, a change comes only after it."""
    every: DurationText | None = None
    """The time from one repetition to the next, at least 1 ms. Default: the change comes once."""
    every_about: DurationText | None = None
    """The mean time from one repetition to the next, at random. The times are exponential, and the trial's seed decides
    them. A change that is written beside `ends` comes in both directions at once.
    """
    times: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    """How often a change with `every` or `every_about` comes. Default: until the workload's end."""
    rate: RateText | None = None
    """The rate from then on. A frame that is already on the wire keeps the old rate."""
    delay: DurationText | None = None
    """The delay of frames sent from then on."""
    loss: PercentText | None = None
    """The share of frames lost at random from then on."""
    mtu: MtuText | None = None
    """The largest IP packet from then on, at most the link's MTU."""
    down: DurationText | None = None
    """How long the wire loses every frame."""

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.at is None and self.every_about is None:
            raise Mistakes([(("at",), "missing; give the time since the workload's start, like '5 s'")])
        if all(getattr(self, key) is None for key in ("rate", "delay", "loss", "mtu", "down")):
            raise Mistakes([((), "changes nothing; give it a rate, a delay, a loss, an mtu or down")])
        if self.every and self.every_about:
            raise Mistakes([(("every_about",), f"the change already comes every {self.every}; give only one of them")])
        for key in ("every", "every_about"):
            if (gap := getattr(self, key)) is not None and gap < LEAST_GAP:
                raise Mistakes([((key,), f"{gap} is too short; use {LEAST_GAP} or more")])
        if self.times is not None and not (self.every or self.every_about):
            raise Mistakes([(("times",), "the change comes once; give it every or every_about")])
        if self.every and self.down and not self.down < self.every:
            raise Mistakes([(("down",), f"the link would never be up again; give less than every, {self.every}")])
        return self


class DirectionPart(Part):
    """The settings of one direction of a link, or of both."""

    rate: RateText | None = None
    """Bits of whole Ethernet frames per second, including preamble, FCS and gap. Default: unlimited."""
    delay: DurationText | None = None
    """The one-way delay, without the time that a frame takes at the rate."""
    jitter: JitterText | None = None
    """The maximum variation of the delay, plus or minus, with a uniform distribution; or a mapping with `deviation`,
    `distribution` and `in_order`.
    """
    loss: PercentText | None = None
    """The share of frames lost at random."""
    loss_correlation: PercentText | None = None
    """How much a frame's draw for `loss` depends on the draw of the previous frame, as in netem. It also changes how
    many frames are lost.
    """
    reorder: PercentText | None = None
    """The share of frames that overtake others because they are sent without the delay."""
    reorder_gap: Annotated[int, Field(ge=1, lt=2**32)] | None = None
    """The least distance, in frames, between two frames that overtake others (netem's gap). With `reorder: 100 %`, one
    frame in this number overtakes.
    """
    duplicate: PercentText | None = None
    """The share of frames delivered twice."""
    mtu: MtuText | None = None
    """The largest IP packet. Default: 1500 B. Below 1280 B the link carries IPv4 only."""
    limit: LimitText | None = None
    """The number of frames that the wire holds, queued and in flight. Default: the frames in flight, plus a queue of
    100 ms of full frames at the link's rate (at least 20 frames, at most one receive window). `ample`: the frames in
    flight, plus a queue of one receive window, so that a single flow loses nothing.
    """
    shaper: Annotated[Shaper, Strict(False)] | None = None
    """Where the rate acts: `path` (on the wire, with no back-pressure on the sender) or `nic` (with back-pressure)."""
    jitter_correlation: PercentText | None = None
    """How much a frame's delay depends on the delay of the previous frame, for a jitter of 2144 ms or more."""
    burst_loss: BurstLossPart | None = None
    """Loss in bursts, with the Gilbert-Elliott model. Use it instead of `loss`."""
    corrupt: PercentText | None = None
    """The share of frames in which one bit is flipped."""
    slot: SlotPart | None = None
    """Times at which the wire releases the frames that it has held until then."""
    queue: QueueText | None = None
    """The queue in front of the rate: a kind, or a mapping with the kind and its parameters, with tc's names."""
    changes: Annotated[tuple[ChangePart, ...], Strict(False)] | None = None
    """The link's changes while the workload runs: those that come once, in order, and those that repeat."""
    delays: Annotated[dict[str, DurationText], AfterValidator(_destinations)] | None = None
    """The one-way delay by destination: a node, an address or a prefix. Frames to others take `delay`. The longest
    prefix decides.
    """
    trace: TraceText | None = None
    """A file next to the topology file that lists when the link can carry a frame, in Mahimahi's format or as CSV."""
