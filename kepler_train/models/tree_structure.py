"""The structure of trees from a file: no library follows a child before every one is known to lead to a leaf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# Ours have up to 1,000 trees, 50,000 nodes and 40 levels.
MOST_TREES, MOST_NODES, DEEPEST_TREE = 20_000, 2_000_000, 1000
LEAF = -1  # in place of both children


class Structure(NamedTuple):
    """The parent of each node within its tree, −1 for roots; and the levels below the root of the deepest tree."""

    parent: Integers
    depth: int


class NotTrees(ValueError):
    """What is wrong with trees, as a part of a sentence."""


def check_trees(sizes: Sequence[int], left: Integers, right: Integers, deleted: Bools | None = None) -> Structure:
    """Return the structure of nodes; refuse those that are no trees.

    Arrays hold the nodes of all trees, one tree after the other, and children by their number within the tree. Every
    node but the first of a tree must be the child of exactly one node before it, so there is no cycle and nothing that
    is never reached but `deleted` leaves.
    """
    total = len(left)
    if not 0 < len(sizes) <= MOST_TREES or total > MOST_NODES:
        raise NotTrees(
            f"it has {len(sizes):,} trees of {total:,} nodes; 1 to {MOST_TREES:,} and {MOST_NODES:,} are read"
        )
    if min(sizes) < 1 or sum(sizes) != total or len(right) != total:
        raise NotTrees("its lists of nodes differ in length")
    counts = np.asarray(sizes, dtype=np.int64)
    roots = np.cumsum(counts) - counts
    first = np.repeat(roots, counts)
    own = np.arange(total) - first
    inner = left != LEAF
    if not np.array_equal(inner, right != LEAF):
        raise NotTrees("a node has one child")
    split = np.flatnonzero(inner)
    number, last = own[split], np.repeat(counts, counts)[split]
    children = np.concatenate([left[split], right[split]])
    if not ((children > np.tile(number, 2)) & (children < np.tile(last, 2))).all():
        raise NotTrees("a child is not among the nodes after its parent")
    children += np.tile(first[split], 2)
    parent = np.full(total, -1, dtype=np.int64)
    parent[children] = np.tile(number, 2)
    orphan = (parent < 0) & (own > 0)
    if deleted is not None:
        if (deleted & (inner | ~orphan)).any():
            raise NotTrees("a deleted node is part of a tree")
        orphan &= ~deleted
    if orphan.any() or np.bincount(children, minlength=1).max() > 1:
        raise NotTrees("a node is not the child of exactly one other")
    return Structure(parent, _depth(left + first, right + first, inner, roots))


def _depth(left: Integers, right: Integers, inner: Bools, level: Integers) -> int:
    """Return the levels below the first one, which holds the roots."""
    for depth in range(DEEPEST_TREE + 1):
        level = level[inner[level]]
        if not len(level):
            return depth
        level = np.concatenate([left[level], right[level]])
    raise NotTrees(f"a tree has more than {DEEPEST_TREE} levels")


def check_splits(features: int, feature: Integers, inner: Bools) -> None:
    """Refuse an inner node that reads a column which is not there."""
    read = feature[inner]
    if len(read) and not 0 <= read.min() <= read.max() < features:
        raise NotTrees(f"a node reads another column than the {features} there are")
