"""A scikit-learn estimator, kept as a skops file: a list of what it consists of, read without running any of it."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

from kepler_train.errors import UserError
from kepler_train.models import graphs
from kepler_train.models.component import Matrix, ModelClass, Watts
from kepler_train.models.estimator_graphs import estimator_graph
from kepler_train.models.kernel_sum import gaussian_sum

if TYPE_CHECKING:
    from onnx import ModelProto

# Beyond the estimators of scikit-learn and the arrays of numpy, which skops trusts itself: parts of estimators.
TRUSTED = ("sklearn.metrics._dist_metrics.EuclideanDistance64", "sklearn.neighbors._kd_tree.KDTree")
_SCHEMA = "schema.json"


@dataclass(frozen=True)
class EstimatorModel:
    """A fitted regressor, or a pipeline that ends in one; what it says below 0 W is 0 W."""

    estimator: Any

    kind: ClassVar[str] = "estimator"
    suffix: ClassVar[str] = ".skops"
    model_class: ClassVar[ModelClass] = "scikit"

    def predict(self, X: Matrix) -> Watts:
        """Power (W) of every row."""
        return np.maximum(np.asarray(_said(self.estimator, X), dtype=np.float64), 0.0)

    def save(self, file: Path) -> None:
        """Write the estimator; the same one gives the same bytes."""
        import skops.io

        file.write_bytes(_steady(skops.io.dumps(self.estimator)))

    @classmethod
    def load(cls, file: Path, features: int) -> EstimatorModel:
        """Read what `save` wrote for so many features; a file with other types in it is refused unread."""
        import skops.io

        try:
            content = _stored_only(file)
            unknown = sorted(set(skops.io.get_untrusted_types(data=content)) - set(TRUSTED))
            if not unknown:
                model = cls(skops.io.loads(content, trusted=list(TRUSTED)))
                model.predict(np.zeros((1, features)))
        except UserError:
            raise
        except Exception as error:  # whatever a file that is cut short or made up leads to
            why = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UserError(f"{file} is not an estimator of {features} features: {why.rstrip('.')}.") from None
        if unknown:
            raise UserError(f"{file} holds {', '.join(unknown)}, which is not trusted: it is not read.")
        return model

    def weights(self, features: list[str]) -> None:
        """Kepler has no such model."""

    def graph(self, features: int) -> ModelProto:
        """The estimator, and nothing below 0 W."""
        return graphs.clipped(estimator_graph(self.estimator, features))


def _said(estimator: Any, X: Matrix) -> Any:
    from sklearn import config_context
    from sklearn.pipeline import Pipeline
    from sklearn.svm import SVR

    if not len(X):  # which scikit-learn refuses
        return np.zeros(0)
    with config_context(assume_finite=True, skip_parameter_validation=True):  # every step of a pipeline would look anew
        if isinstance(estimator, Pipeline) and type(estimator[-1]) is SVR and estimator[-1].kernel == "rbf":
            return gaussian_sum(estimator[-1], estimator[:-1].transform(X))
        return estimator.predict(X)


def _stored_only(file: Path) -> bytes:
    """The content of a file whose members are as large as they look: nothing in it is compressed."""
    content = file.read_bytes()
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            if any(member.compress_type != ZIP_STORED for member in archive.infolist()):
                raise UserError(f"{file} is compressed, which no estimator of ours is: it is not read.")
    except BadZipFile:
        raise UserError(f"{file} is not an estimator: it is cut short or something else.") from None
    return content


def _steady(content: bytes) -> bytes:
    """A skops file with numbers in place of addresses in memory, and without the time."""
    with ZipFile(io.BytesIO(content)) as archive:
        schema = json.loads(archive.read(_SCHEMA))
        numbers: dict[int, int] = {}
        files: dict[str, str] = {}
        _renumber(schema, numbers, files)
        out = io.BytesIO()
        with ZipFile(out, "w") as steady:
            for old, new in sorted(files.items(), key=lambda pair: pair[1]):
                steady.writestr(ZipInfo(new), archive.read(old))
            steady.writestr(ZipInfo(_SCHEMA), json.dumps(schema))
    return out.getvalue()


def _renumber(node: Any, numbers: dict[int, int], files: dict[str, str]) -> None:
    """Name objects and their files by the order in which they are met."""
    if isinstance(node, list):
        for part in node:
            _renumber(part, numbers, files)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key == "__id__":
                node[key] = numbers.setdefault(value, len(numbers))
            elif key == "file" and isinstance(value, str):
                node[key] = files.setdefault(value, f"{len(files):04}{Path(value).suffix}")
            else:
                _renumber(value, numbers, files)
