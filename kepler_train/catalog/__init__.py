"""Vocabulary as data: feature groups, energy sources, metric dialects, trainers."""

from kepler_train.catalog.loading import CATALOG_VARIABLE, catalog, read_catalog
from kepler_train.catalog.model import Catalog, Dialect, EnergySource, FeatureGroup, OutputTypeName

__all__ = [
    "CATALOG_VARIABLE",
    "Catalog",
    "Dialect",
    "EnergySource",
    "FeatureGroup",
    "OutputTypeName",
    "catalog",
    "read_catalog",
]
