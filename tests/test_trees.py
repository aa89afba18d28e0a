"""What tests of sources search is what Python's own modules find."""

import ast
import io
import tokenize

from tests.trees import comments, walk

SOURCE = (
    r'''
"""A docstring with a # and a " and a \""" in it."""  # after it
x = "# no", '\'# no', """
# no
""", r"\d#", f"{x!r} # no", b'#'  # "quoted" # once
# 'open
if x:  #
    y = '''.lstrip()
    + "'''\n# no\n'''  # last\n"
)


def test_comments_are_those_of_tokenize() -> None:
    tokens = tokenize.generate_tokens(io.StringIO(SOURCE).readline)
    expected = [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]
    assert len(expected) == 5
    assert list(comments(SOURCE)) == expected


def test_a_walk_is_that_of_ast() -> None:
    tree = ast.parse(SOURCE)
    assert list(walk(tree)) == [node for node in ast.walk(tree) if not isinstance(node, ast.expr_context)]
