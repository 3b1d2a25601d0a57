"""The columns of a given frame that are features: those of the feature group, all, or a list."""

from __future__ import annotations

from kepler_train.catalog import catalog
from kepler_train.errors import DataError, UserError
from kepler_train.events import warn
from kepler_train.extract.chosen import ChosenFeatures
from kepler_train.extract.feature_groups import select_group
from kepler_train.extract.frame_metadata import counts
from kepler_train.extract.user_frame import UserFrame
from kepler_train.train.training_rows import check_numbers

# What --features may say instead of a list of columns.
OF_GROUP, OF_FRAME, OF_LIST = "group", "frame", "list"
_IN_WORDS = {OF_FRAME: "the frame's own columns", OF_LIST: "a list of columns"}


def chosen_features(frame: UserFrame, choice: str, group: str, third_party: list[str]) -> ChosenFeatures:
    """Return the columns to work with: those of the feature group, all of the frame, or a list, by new or old names."""
    origin = choice if choice in (OF_GROUP, OF_FRAME) else OF_LIST
    of_group = select_group(frame.rows, group, third_party)
    columns = of_group.columns if origin == OF_GROUP else _chosen(frame, choice)
    if origin == OF_GROUP and of_group.missing:
        check_numbers(frame.rows, [name for name in of_group.missing if name in frame.features])
        raise DataError(
            f"The frame has no {', '.join(of_group.missing)} of feature group {group}: choose another group, or"
            " --features frame."
        )
    check_numbers(frame.rows, columns)
    _check_signs(frame, columns)
    same = columns == of_group.columns and not of_group.missing
    note = "" if same else f"features are {_IN_WORDS[origin]}, not those of {group}"
    return ChosenFeatures(columns=columns, origin=origin, note=note)


def _chosen(frame: UserFrame, choice: str) -> list[str]:
    """Return all columns of features, or those of a list."""
    if choice == OF_FRAME:
        return frame.features
    aliases = catalog().feature_aliases
    names = [name.strip() for name in choice.split(",") if name.strip()]
    features = sorted({aliases[name].feature if name in aliases else name for name in names})
    missing = [name for name in features if name not in frame.features]
    if missing or not features:
        raise UserError(f"The frame has no {', '.join(missing) or 'features'}: it has {', '.join(frame.features)}.")
    return features


def _check_signs(frame: UserFrame, columns: list[str]) -> None:
    """Refuse rates of counters that are below 0; warn of other columns, which may be gauges."""
    below = {name: count for name in columns if (count := int((frame.rows[name] < 0).sum()))}
    fallen = [f"{name} in {count}" for name, count in below.items() if counts(name)]
    if fallen:
        raise DataError(
            f"Of {len(frame.rows)} rows some have rates below 0, though counters never fall: {', '.join(fallen)}."
            " Leave these rows or columns out."
        )
    for name, count in below.items():
        warn(f"{name} is below 0 in {count} of {len(frame.rows)} rows: that is wrong, unless it is no rate.")
