"""The options of a run have one declaration: the command line, Python and the JSON schema agree."""

from __future__ import annotations

import json
from dataclasses import fields
from inspect import signature
from typing import Any

import jsonschema
import pytest

import lab
from lab.app.options import RunOptions, json_schema
from tests.kinds import Type

SCHEMA = json_schema(RunOptions)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_has_each_option_with_its_help_and_default() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    parameters = signature(lab.run).parameters
    for each in fields(RunOptions):
        about = SCHEMA["properties"][each.name]
        assert about["description"].endswith(".")
        assert about["default"] == each.default == parameters[each.name].default
    assert len(SCHEMA["properties"]) == len(fields(RunOptions))


@pytest.mark.parametrize("options", [{}, {"kernel": "7.2", "seed": 0, "jobs": 4}, {"results": "store", "stall": 2.5}])
def test_the_schema_takes_the_options_of_a_run(options: dict[str, Any]) -> None:
    VALIDATOR.validate(options)
    RunOptions(**options)


@pytest.mark.parametrize("options", [{"seed": -1}, {"jobs": 0}, {"kernels": "7.2"}, {"trust": "yes"}, {"budget": -1.0}])
def test_the_schema_refuses_other_options(options: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(options)


def test_the_command_prints_the_schema(type_here: Type) -> None:
    assert json.loads(type_here("lab schema run").stdout) == SCHEMA
