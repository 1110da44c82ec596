"""What the benchmark prints and draws: medians, spread, and how many times as long another program takes."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.chart import chart
from bench.run import table

OURS = {"start: exit": [7.0, 5.0, 6.0], "start: CPU s": [9.0], "delete": [1.0]}
THEIRS = {"start: exit": [12.0], "delete": [2.5]}


def test_medians_and_spread():
    assert table({"minikube": OURS}).splitlines()[1].split() == ["start:", "exit", "6.00", "5.00", "7.00"]


def test_another_program_is_measured_in_times_ours():
    lines = {line[:24].strip(): line.split() for line in table({"minikube": OURS, "other": THEIRS}).splitlines()}
    assert lines["start: exit"][-2:] == ["12.00", "2.0"]
    assert lines["delete"][-2:] == ["2.50", "2.5"]
    assert lines["start: CPU s"][-1] == "9.00"


def test_the_chart_has_a_bar_for_every_time():
    drawing = ElementTree.fromstring(chart({"minikube": OURS, "other": THEIRS}))
    texts = [element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert {"start: exit, minikube", "start: exit, other", "delete, other"} <= set(texts)
    assert not any("CPU" in (text or "") for text in texts)
