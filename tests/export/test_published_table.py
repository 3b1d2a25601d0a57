"""The table of published models, whose names become paths and links."""

from __future__ import annotations

import pytest

from kepler_train.errors import UserError
from kepler_train.export.published_table import PublishedModel, read_table

HEADER = "model_name,feature_group,mae,mape,package_mae\n"


def test_models_come_in_the_order_of_the_table() -> None:
    content = f"{HEADER}Linear_3,Basic,2.5,4.26,2.5\nTrees_3,Basic,9.0,,9.0\n".encode()
    assert read_table(content, "table.csv") == [
        PublishedModel("Linear_3", "Basic", 2.5, 4.26),
        PublishedModel("Trees_3", "Basic", 9.0, None),
    ]
    assert read_table(None, "table.csv") == read_table(HEADER.encode(), "table.csv") == []


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (f"{HEADER}../../../home_3,Basic,1,2,1\n".encode(), "'../../../home_3' is not the name of a folder"),
        (f"{HEADER}Linear_3,..,1,2,1\n".encode(), "'..' is not the name of a folder"),
        (f"{HEADER}a\0b_3,Basic,1,2,1\n".encode(), "cannot be printed"),
        (f"{HEADER},Basic,1,2,1\n".encode(), "a name is empty"),
        (f"{HEADER}Linear_3,Basic,nan,2,1\n".encode(), "an error is not a number"),
        (f"{HEADER}Linear_3,Basic,1,inf,1\n".encode(), "an error is not a number"),
        (f"{HEADER}Linear_3,Basic,low,2,1\n".encode(), "could not convert"),
        (f"{HEADER}Linear_3\n".encode(), "float"),
        (b"name,mae\nLinear_3,1\n", "'mae'|'mape'"),
        (f"{HEADER}{'x' * 200_000},Basic,1,2,1\n".encode(), "field larger than"),
        (b"\xff\xfe", "utf-8"),
    ],
)
def test_what_is_no_table_of_ours_is_refused_in_a_sentence(content: bytes, why: str) -> None:
    with pytest.raises(UserError, match=rf"table\.csv is not a table of published models: .*({why})"):
        read_table(content, "table.csv")
