"""Which columns of a given frame are features: those of the feature group, all, or a list."""

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


def chosen_features(given: UserFrame, choice: str, group: str, third_party: list[str]) -> ChosenFeatures:
    """Return the columns to work with: those of the feature group, all of the frame, or a list, by new or old names."""
    origin = choice if choice in (OF_GROUP, OF_FRAME) else OF_LIST
    of_group = select_group(given.rows, group, third_party)
    columns = of_group.columns if origin == OF_GROUP else _chosen(given, choice)
    if origin == OF_GROUP and of_group.missing:
        check_numbers(given.rows, [name for name in of_group.missing if name in given.features])
        raise DataError(
            f"The frame has no {', '.join(of_group.missing)} of feature group {group}: choose another group, or"
            " --features frame."
        )
    check_numbers(given.rows, columns)
    _check_signs(given, columns)
    same = columns == of_group.columns and not of_group.missing
    note = "" if same else f"features are {_IN_WORDS[origin]}, not those of {group}"
    return ChosenFeatures(columns=columns, origin=origin, note=note)


def _chosen(given: UserFrame, choice: str) -> list[str]:
    """Return all columns of features, or those of a list."""
    if choice == OF_FRAME:
        return given.features
    aliases = catalog().feature_aliases
    names = [name.strip() for name in choice.split(",") if name.strip()]
    features = sorted({aliases[name].feature if name in aliases else name for name in names})
    missing = [name for name in features if name not in given.features]
    if missing or not features:
        raise UserError(f"The frame has no {', '.join(missing) or 'features'}: it has {', '.join(given.features)}.")
    return features


def _check_signs(given: UserFrame, columns: list[str]) -> None:
    """Refuse rates of counters that are below 0; warn of other columns, which may be gauges."""
    below = {name: count for name in columns if (count := int((given.rows[name] < 0).sum()))}
    fallen = [f"{name} in {count}" for name, count in below.items() if counts(name)]
    if fallen:
        raise DataError(
            f"Of {len(given.rows)} rows some have rates below 0, though counters never fall: {', '.join(fallen)}."
            " Leave these rows or columns out."
        )
    for name, count in below.items():
        warn(f"{name} is below 0 in {count} of {len(given.rows)} rows: that is wrong, unless it is no rate.")
