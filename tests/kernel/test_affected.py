"""What a change of one macro or function reaches: macros, functions, conditions, names that ## makes; and no more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.kernel.uml.affected import Affected, Unclear, changed, units, whole

HEADER = """\
/* HZ ticks a second, says this comment. */
#ifndef _TIMES_H
#define _TIMES_H
#define HZ CONFIG_HZ
#define TICK_NSEC (1000000000 / \\
\tHZ)
struct sock;
extern int tcp_rto(struct sock *sk);
static inline __attribute__((__always_inline__)) int half(int value)
{
\treturn value / 2;
}
static inline unsigned int tcp_ticks(const char *said, unsigned int ms)
{
\tif (!said)
\t\tsaid = "HZ {";
\treturn ms * HZ / 1000;
}
#if HZ >= 100
#define LEAST (HZ / 25)
#else
#define LEAST 4U
#endif
#define PLAIN 7
#define LIMITED(level, text) level##_limited(text)
#endif
"""


def reached(name: str, header: str = HEADER) -> set[str]:
    return set(Affected(frozenset({name})).spread(units(header)).names)


def test_what_mentions_a_name_is_affected_and_what_mentions_that_is_too() -> None:
    assert reached("CONFIG_HZ") == {"CONFIG_HZ", "HZ", "TICK_NSEC", "tcp_ticks", "LEAST"}


def test_comments_texts_and_attributes_mention_nothing() -> None:
    assert reached("half") == {"half"}
    assert reached("said") == {"said", "tcp_ticks"}, "a parameter is a name like any other"
    assert reached("comment") == {"comment"}
    assert reached("__always_inline__") == {"__always_inline__", "half"}


def test_names_that_are_made_of_parts_are_found_where_an_argument_stands_alone() -> None:
    names = Affected(frozenset({"warn_limited"})).spread(units(HEADER))
    assert names.mentioned(whole(units('void f(void) { LIMITED(warn, "x"); }')))
    assert not names.mentioned(whole(units('void f(void) { LIMITED(info, "x"); }')))
    assert not names.mentioned(whole(units("void warn(int limit);")))


@pytest.mark.parametrize(
    "text",
    [
        "struct timer { int ticks[HZ]; };",
        "enum { SECOND = HZ };",
        "static const int second = HZ;",
        "static struct timer mine = STARTED((struct timer){HZ});",
        "#define A 1\n#if A\nint f(void) {\n#else\nint g(void) {\n#endif\n return HZ; }",
        "typedef int (*ticks)(int left[HZ]);",
        "DEFINE_TIMER(mine, HZ);",
        "#if HZ\n#include <more.h>\n#endif",
        "#if HZ\nint f(void) {\n#else\nint g(void) {\n#endif\n return 0; }",
        "int f(void)\n{\n#if A\n\tif (a) {\n#else\n\t{\n#endif\n\t}\n}\nint g(void)\n{\n\treturn HZ;\n}\n",
    ],
)
def test_of_anything_but_macros_and_functions_nobody_says_what_it_reaches(text: str) -> None:
    with pytest.raises(Unclear):
        reached("HZ", text)


def test_an_assertion_compiles_to_nothing() -> None:
    assert reached("HZ", 'static_assert(HZ > 1);\n_Static_assert(HZ, "");') == {"HZ"}


def test_what_differs_between_two_states_of_a_text() -> None:
    other = HEADER.replace("CONFIG_HZ", "250").replace("value / 2", "value >> 1").replace("HZ ticks", "ticks")
    assert changed(units(HEADER), units(other)) == {"HZ", "half"}
    with pytest.raises(Unclear):
        changed(units(HEADER), units(HEADER.replace("struct sock;", "struct sock { int a; };")))


def test_of_another_order_nobody_says_what_it_reaches() -> None:
    first, last = units("#define A 1\n#define A 2\n"), units("#define A 2\n#define A 1\n")
    assert changed(first, first) == frozenset()
    with pytest.raises(Unclear):
        changed(first, last)


NAMES = [f"name_{number}" for number in range(8)]


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sets(st.sampled_from(NAMES)), st.booleans()), max_size=12))
def test_what_is_affected_is_what_a_path_of_mentions_leads_to(defined: list[tuple[str, set[str], bool]]) -> None:
    lines = []
    for name, mentions, is_macro in defined:
        body = " + ".join(sorted(mentions)) or "0"
        lines.append(f"#define {name} ({body})" if is_macro else f"int {name}(void)\n{{\n\treturn {body};\n}}")
    expected = {NAMES[0]}
    while more := {name for name, mentions, _ in defined if mentions & expected} - expected:
        expected |= more
    assert reached(NAMES[0], "\n".join(lines)) == expected


@given(st.text(alphabet="#define (){};/*\"'\\ab\n", max_size=80))
def test_any_text_can_be_taken_apart(text: str) -> None:
    for unit in units(text):
        assert unit.words <= set(whole(units(text)).words)
