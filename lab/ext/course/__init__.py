"""Judge students' answers to exercises with trials, and grade their submissions: `lab grade`."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("grade",),
    section="Claims",
    examples={"grade": ("lab grade ada/ bob/ --csv grades.csv",)},
    functions=("exercise", "grade"),
)
