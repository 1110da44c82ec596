"""Steps run as soon as they can, once, and the critical path is the one that decided."""

import threading

import pytest

from minikube.cluster.steps import Graph, table


def test_independent_steps_run_at_the_same_time() -> None:
    graph, meeting = Graph(), threading.Barrier(2, timeout=10)
    graph.step("a", lambda: meeting.wait() and None)
    graph.step("b", lambda: meeting.wait() and None)
    graph.run()
    assert {timing.name for timing in graph.timings()} == {"a", "b"}


def test_a_step_waits_for_what_it_needs() -> None:
    graph, order = Graph(), list[str]()
    graph.step("first", lambda: order.append("first"))
    graph.step("second", lambda: order.append("second"), needs=("first",))
    graph.step("third", lambda: order.append("third"), needs=("second", "first"))
    graph.run()
    assert order == ["first", "second", "third"]


def test_a_failure_is_raised_and_nothing_that_needs_it_runs() -> None:
    graph, ran = Graph(), list[str]()

    def fail() -> None:
        raise RuntimeError("broken")

    graph.step("bad", fail)
    graph.step("after", lambda: ran.append("after"), needs=("bad",))
    with pytest.raises(RuntimeError, match="broken"):
        graph.run()
    assert ran == []


def test_a_need_that_is_not_there_is_a_mistake_of_the_programmer() -> None:
    with pytest.raises(ValueError, match="not there"):
        Graph().step("a", lambda: None, needs=("b",))


def test_the_critical_path_follows_the_latest_need() -> None:
    graph, gate = Graph(), threading.Event()
    graph.step("quick", lambda: None)
    graph.step("slow", lambda: gate.wait(10) and None)
    graph.step("opens", gate.set, needs=("quick",))
    graph.step("last", lambda: None, needs=("quick", "slow"))
    graph.run()
    assert [timing.name for timing in graph.critical_path()] == ["slow", "last"]
    assert "* " in table(graph)
