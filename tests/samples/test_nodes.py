"""Series of other exporters find their way to Kepler's nodes, or are left out; never to the wrong node."""

from __future__ import annotations

from kepler_train.samples.nodes import Nodes, own_node

KEPLER = [
    {"node_name": "alpha", "instance": "10.0.0.1:28282"},
    {"node_name": "beta", "instance": "10.0.0.2:28282"},
]
TWO = Nodes.of("node_name", KEPLER)


def test_kepler_names_its_node_and_goes_by_its_target_where_it_does_not() -> None:
    assert own_node({"node_name": "alpha", "instance": "x:1"}, "node_name") == "alpha"
    assert own_node({"instance": "x:1"}, "node_name") == "x:1"  # Kepler outside Kubernetes may have no node name
    assert Nodes.of("node_name", [{"instance": "x:1"}]).names == {"x:1"}


def test_a_series_without_the_node_label_is_of_the_node_that_its_target_reports_on() -> None:
    assert TWO.node_of({"instance": "10.0.0.2:28282", "processor": "0"}) == "beta"  # as kepler_node_cpu_info is


def test_another_exporter_on_the_same_host_is_of_the_same_node() -> None:
    assert TWO.node_of({"instance": "10.0.0.1:9100", "job": "node"}) == "alpha"


def test_a_label_that_names_a_node_counts_and_one_that_only_looks_so_does_not() -> None:
    assert TWO.node_of({"instance": "192.168.7.7:9100", "nodename": "beta"}) == "beta"
    assert TWO.node_of({"instance": "192.168.7.7:9100", "node": "0"}) is None  # a NUMA node


def test_series_of_unknown_machines_are_left_out() -> None:
    stranger = {"instance": "10.0.0.9:9100"}
    assert TWO.split([{"instance": "10.0.0.1:9100"}, stranger]) == {"alpha": [0]}


def test_one_node_and_one_target_are_taken_for_one_machine_but_two_targets_are_not() -> None:
    one = Nodes.of("node_name", KEPLER[:1])
    assert one.split([{"instance": "192.168.7.7:9100", "mode": m} for m in ("user", "idle")]) == {"alpha": [0, 1]}
    assert one.split([{"instance": "192.168.7.7:9100"}, {"instance": "192.168.7.8:9100"}]) == {}


def test_an_address_of_two_nodes_says_nothing() -> None:
    behind_a_balancer = [{"node_name": name, "instance": "kepler:28282"} for name in ("alpha", "beta")]
    nodes = Nodes.of("node_name", behind_a_balancer)
    assert nodes.node_of({"instance": "kepler:9100"}) is None
    assert nodes.node_of({"instance": "kepler:28282", "node_name": "beta"}) == "beta"


def test_chosen_nodes_are_selected_by_name_and_by_target_where_they_have_none() -> None:
    assert TWO.selector("m", []) == "m"
    assert TWO.selector("m", ["beta"]) == 'm{node_name=~"beta"}'
    assert Nodes.of("node_name", [{"instance": "x:1"}]).selector("m", ["x:1"]) == 'm{instance=~"x:1"}'
    assert Nodes.of("instance", [{"instance": "x:1"}]).selector("m", ["x:1"]) == 'm{instance=~"x:1"}'


def test_another_exporters_series_are_narrowed_to_the_targets_of_the_chosen_nodes() -> None:
    found = [{"instance": f"10.0.0.{n}:9100", "cpu": "0"} for n in (1, 2, 3)]
    assert TWO.narrowed("m", found, []) == "m"
    assert TWO.narrowed("m", found, ["beta"]) == r'm{instance=~"10\\.0\\.0\\.2:9100"}'
