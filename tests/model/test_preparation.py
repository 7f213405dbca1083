"""A preparation as a value: what it refuses, when two are equal, and how it is written down."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pyarrow.compute as pc
import pytest
from pyspark import cloudpickle

import fanlight as fl
from fanlight.model.preparation import (
    Extract,
    Preparation,
    Select,
    Where,
    extract_of,
    is_expression,
    select_of,
    where_of,
)
from fanlight.model.spec_json import differences, from_document, to_document, words

PRICE = fl.col("price")


def first(batch: Any) -> Any:
    return batch.column(0)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            "price > 0",
            r"where: 'price > 0' is text, not an expression\. Write one, as in where\(fl\.col\('price'\) > 0",
        ),
        (True, r"where: True is True or False, not an expression"),
        (first, r"where: .* is a function, not an expression"),
        ([1], r"where: \[1\] is a list, not an expression"),
        (pc.field(0) > 1, r"where: \(FieldPath\(0\) > 1\) names a column by its place.*Use its name"),
    ],
)
def test_what_is_no_condition_is_named_with_one_that_is(given: Any, told: str) -> None:
    with pytest.raises(fl.SpecError, match=told):
        where_of(given)


def test_a_text_that_looks_like_a_place_is_a_text() -> None:
    assert where_of(fl.col("k") == 'a "FieldPath(0)"').told == r'where (k == "a \"FieldPath(0)\"")'


@pytest.mark.parametrize("combined", [lambda a, b: a and b, lambda a, b: a or b, lambda a, b: not a])
def test_words_of_python_between_conditions_are_refused_with_the_signs_to_use(combined: Any) -> None:
    """Python asks the condition itself, before any of our code runs: the words are Arrow's."""
    with pytest.raises(ValueError, match=r"use '&', '\|' or '~' instead"):
        where_of(combined(PRICE > 0, PRICE < 9))


@pytest.mark.parametrize(
    ("columns", "computed", "told"),
    [
        ((), {}, r"select: no column is named.*Name at least one"),
        (("id", "id"), {}, r"select: two columns would be called 'id'\. Give one of them another name"),
        (("id",), {"id": PRICE}, r"select: two columns would be called 'id'"),
        ((["id", "ts"],), {}, r"select: \['id', 'ts'\] is a list, not a column\. Write select\('id', 'ts'\)"),
        ((PRICE * 2,), {}, r"select: multiply_checked\(price, 2\) has no name\. Give it one, as in select\(total="),
        ((7,), {}, r"select: 7 is no column name"),
        (("",), {}, r"select: '' is no column name"),
        ((), {"n": 7}, r"select: 7 is a int, not an expression or the name of a column.*select\(n="),
        ((), {"n": ""}, r"select: '' is no column name"),
        ((), {"n": pc.field(0)}, r"select: FieldPath\(0\) names a column by its place"),
    ],
)
def test_what_cannot_be_selected_is_named(columns: Any, computed: Any, told: str) -> None:
    with pytest.raises(fl.SpecError, match=told):
        select_of(*columns, **computed)


def test_an_extractor_is_a_function_and_has_a_name() -> None:
    with pytest.raises(fl.SpecError, match=r"extract: 'ts' is no function\. Use one that takes a record batch"):
        extract_of("ts", "time")
    with pytest.raises(fl.SpecError, match="extract: '' is no column name"):
        extract_of(first, "")


@pytest.mark.parametrize("name", [3, "", None])
def test_a_column_has_a_name(name: Any) -> None:
    with pytest.raises(fl.SpecError, match=r"col: .* is no column name\. Use text"):
        fl.col(name)


def test_a_preparation_is_made_of_steps_one_after_the_other() -> None:
    both = Preparation().then(where_of(PRICE > 0)).then(select_of("id", twice=PRICE * 2, cost="price"))
    assert both.told == "where (price > 0), then select id, twice = multiply_checked(price, 2), cost = price"
    assert Preparation((extract_of(first, "time"),)).told == "extract time = first"
    assert Preparation().told == "nothing"
    assert both
    assert not Preparation()
    wrong: Any = (PRICE > 0,)
    with pytest.raises(fl.SpecError, match=r"preparation: .* is no step of one\. Use where_of"):
        Preparation(wrong)


def test_equal_expressions_are_equal_though_they_are_other_objects() -> None:
    assert Where(fl.col("a") > 1) == Where(pc.field("a") > 1)
    assert hash(Where(fl.col("a") > 1)) == hash(Where(pc.field("a") > 1))
    assert Where(fl.col("a") > 1) != Where(fl.col("a") > 2)
    assert Select((("n", fl.col("a")),)) != Select((("n", "a"),))
    assert Select((("n", "a"),)) == Select((("n", "a"),))
    assert len({select_of("a", b=PRICE), select_of("a", b=PRICE), select_of("a"), where_of(PRICE > 0)}) == 3


def test_expressions_that_have_one_text_and_two_types_are_not_equal() -> None:
    """`a / 2` of whole numbers is a whole number, and `a / 2.0` is not; Arrow writes both alike."""
    whole, broken = fl.col("a") / 2, fl.col("a") / 2.0
    assert str(whole) == str(broken)
    assert select_of(n=whole) != select_of(n=broken)


@pytest.mark.parametrize("pickled", [pickle, cloudpickle], ids=["pickle", "the pickle of Spark"])
def test_it_travels(pickled: Any) -> None:
    steps = (where_of((PRICE > 0) & fl.col("k").isin(["a", "b"])), select_of("k", n=PRICE.cast("int64")))
    preparation = Preparation((*steps, extract_of(first, "time")))
    again = pickled.loads(pickled.dumps(preparation))
    assert again.steps[:2] == preparation.steps[:2]
    assert again.told == preparation.told


def test_it_is_written_down_by_its_text_and_by_the_names_of_functions() -> None:
    preparation = Preparation((where_of(PRICE > 0), select_of("k", n=PRICE * 2), Extract(first, "time")))
    document = to_document(preparation)
    assert json.loads(json.dumps(document)) == document
    assert document["steps"][0] == {"is": "Where", "expression": {"is": "user", "name": "(price > 0)"}}
    assert document["steps"][1]["columns"] == [["k", "k"], ["n", {"is": "user", "name": "multiply_checked(price, 2)"}]]
    assert document["steps"][2]["function"] == {"is": "user", "name": "first"}
    assert "select k = k, n = multiply_checked(price, 2)" in words(document["steps"][1]).replace("[", "").replace(
        "]", ""
    )


def test_a_document_names_an_expression_and_does_not_hold_it() -> None:
    assert from_document(to_document(select_of("a", b="c"))) == select_of("a", b="c")
    with pytest.raises(fl.SpecError, match=r"\(price > 0\) is made of Python code.*Give the pipeline itself"):
        from_document(to_document(where_of(PRICE > 0)))


def test_two_preparations_are_told_apart_column_by_column() -> None:
    before, now = (to_document(select_of("k", n=PRICE * factor)) for factor in (2, 3))
    (told,) = differences(before, now)
    assert told == "columns.n: multiply_checked(price, 2) before, multiply_checked(price, 3) now"


def test_an_expression_is_known_by_its_type() -> None:
    assert is_expression(PRICE)
    assert is_expression(pc.scalar(1))
    assert not is_expression("price > 0")
    assert not is_expression(pc.greater)


def test_a_long_list_of_values_stands_on_one_line() -> None:
    assert "\n" not in where_of(fl.col("k").isin(["a", "b"])).told
