"""Ids of nodes: no two share any, and there are enough for many."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from minikube.host import shiftedids


def test_ranges_have_nothing_in_common_and_fill_what_nobody_else_hands_out() -> None:
    found = list(shiftedids.ranges())
    assert [one.stop for one in found[:-1]] == [other.start for other in found[1:]]
    assert (found[0].start, found[-1].stop) == (shiftedids.ALL.start, shiftedids.ALL.stop)
    assert all(len(one) >= 2 * 65536 and one.start % 65536 == 0 for one in found)


def test_a_hundred_clusters_have_ids_of_their_own() -> None:
    taken: list[range] = []
    for _ in range(100):
        taken.append(next(shiftedids.free(taken)))
    ends = sorted((one.start, one.stop) for one in taken)
    assert all(before[1] <= after[0] for before, after in pairwise(ends))
    assert len(taken[0]) == shiftedids.LARGE


def test_the_range_of_an_older_minikube_keeps_every_part_of_it_taken() -> None:
    """Any of fifteen large ones, which may lie over many small ones of today."""
    for number in range(15):
        old = range(shiftedids.FIRST + number * shiftedids.LARGE, shiftedids.FIRST + (number + 1) * shiftedids.LARGE)
        assert not any(one.start in old or old.start in one for one in shiftedids.free([old]))


def test_there_can_be_none_left() -> None:
    assert list(shiftedids.free([shiftedids.ALL])) == []


def test_processes_tell_which_ids_are_in_use(tmp_path: Path) -> None:
    """Of real processes, in which there is nobody with such ids but nodes."""
    assert shiftedids.in_use(tmp_path) == set()
    for one in shiftedids.in_use():
        assert one.start in shiftedids.ALL
