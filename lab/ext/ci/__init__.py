"""Write a configuration file with which a CI system runs the lab: `lab ci init`."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("ci",), group="ci", section="Share", examples={"ci init": ("lab ci init github --lab OWNER/NAME@REF",)}
)
