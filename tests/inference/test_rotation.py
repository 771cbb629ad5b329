from dataclasses import dataclass, field

import pytest
from made_configs import detection_config, recognition_config, served

from gateway.inference.configs import read_contract
from gateway.inference.contract import Contract, difference
from gateway.inference.endpoints import State
from gateway.inference.rotation import Rotation


def contract_of(*, version="1", **parameters):
    return read_contract(
        detection=served(detection_config(), version=version),
        recognition=served(recognition_config(**parameters), version=version),
    )


OURS = contract_of()
OTHER = contract_of(charset="b\na\n ")


@dataclass(eq=False)
class FakeEndpoint:
    address: str
    changed: object
    state: State = State.CONNECTING
    reason: str = "no answer yet"
    contract: Contract | None = None
    healthy: bool = False
    hesitant: bool = False
    flickers: bool = False
    calls_in_flight: int = 0
    picked: dict = field(default_factory=dict)

    def enter(self, contract=OURS):
        self.healthy, self.contract = True, contract
        self.changed()

    def leave(self):
        self.healthy, self.state = False, State.UNREACHABLE
        self.changed()

    def compare(self, contract):
        self.reason = difference(contract, self.contract)
        self.state = State.DIFFERING if self.reason else State.SERVING


def rotation_of(*addresses):
    rotation = Rotation(FakeEndpoint)
    rotation.follow(addresses)
    return rotation


def serving(*addresses):
    rotation = rotation_of(*addresses)
    for endpoint in rotation.endpoints:
        endpoint.enter()
    return rotation


def picked(rotation, count, model="text_detection", **choices):
    return [rotation.pick(OURS, model, **choices).address for _ in range(count)]


def test_without_endpoints_nothing_can_be_picked():
    rotation = rotation_of()
    assert rotation.pick(OURS, "text_detection") is None
    assert rotation.outage == "no address of an inference server is known"


def test_idle_endpoints_take_turns():
    assert picked(serving("a", "b", "c"), 6) == ["a", "b", "c", "a", "b", "c"]


def test_two_models_that_are_called_alternately_both_take_turns():
    rotation = serving("a", "b")
    calls = [(model, picked(rotation, 1, model)[0]) for model in 4 * ["detection", "recognition"]]
    assert [address for model, address in calls if model == "detection"] == ["a", "b", "a", "b"]
    assert [address for model, address in calls if model == "recognition"] == ["a", "b", "a", "b"]


def test_the_endpoint_with_the_fewest_calls_under_way_is_picked():
    rotation = serving("a", "b")
    rotation.endpoints[0].calls_in_flight = 1
    assert picked(rotation, 3) == ["b", "b", "b"]


def test_a_hesitant_endpoint_is_picked_after_all_others_but_before_none():
    rotation = serving("a", "b")
    rotation.endpoints[0].hesitant = True
    rotation.endpoints[1].calls_in_flight = 9
    assert picked(rotation, 2) == ["b", "b"]
    assert picked(rotation, 1, tried={rotation.endpoints[1]}) == ["a"]


def test_no_endpoint_is_picked_twice_for_a_call():
    rotation = serving("a", "b")
    assert rotation.pick(OURS, "text_detection", tried=set(rotation.endpoints)) is None


def test_an_endpoint_that_left_is_not_picked_until_it_enters_again():
    rotation = serving("a", "b")
    rotation.endpoints[0].leave()
    assert picked(rotation, 2) == ["b", "b"]
    rotation.endpoints[0].enter()
    assert picked(rotation, 1) == ["a"]


def test_an_outage_names_every_endpoint_with_its_reason():
    rotation = serving("a", "b")
    assert rotation.outage == ""
    for endpoint in rotation.endpoints:
        endpoint.leave()
        endpoint.reason = f"{endpoint.address} broke"
    assert rotation.outage == "a unreachable: a broke; b unreachable: b broke"


def test_one_that_flickers_takes_calls_while_none_is_in_rotation():
    rotation = serving("a", "b")
    first, second = rotation.endpoints
    first.leave()
    first.flickers = True
    assert picked(rotation, 3) == ["b"] * 3
    second.leave()
    assert picked(rotation, 3) == ["a"] * 3
    assert rotation.outage == ""
    first.contract = OTHER
    assert rotation.outage


def test_the_first_healthy_endpoint_decides_on_the_contract_and_one_with_another_is_kept_out():
    rotation = rotation_of("a", "b")
    rotation.endpoints[1].enter(OTHER)
    rotation.endpoints[0].enter(OURS)
    assert rotation.contract is OTHER
    assert [endpoint.state for endpoint in rotation.endpoints] == [State.DIFFERING, State.SERVING]
    assert rotation.endpoints[0].reason == "class 1: 'a' here, 'b' in use"
    assert rotation.pick(OURS, "text_detection") is None


def test_versions_may_differ():
    rotation = rotation_of("a", "b")
    rotation.endpoints[0].enter(contract_of(version="1"))
    rotation.endpoints[1].enter(contract_of(version="2"))
    assert [endpoint.state for endpoint in rotation.endpoints] == [State.SERVING] * 2


def test_when_the_last_endpoint_with_a_contract_leaves_the_next_one_decides_anew():
    rotation = rotation_of("a", "b")
    first, second = rotation.endpoints
    first.enter(OURS)
    second.enter(OTHER)
    first.leave()
    assert rotation.contract is OTHER
    assert second.state is State.SERVING
    first.enter(OURS)
    assert first.state is State.DIFFERING


def test_an_endpoint_whose_models_are_exchanged_is_compared_again():
    rotation = serving("a", "b")
    rotation.endpoints[1].enter(OTHER)
    assert rotation.contract is OURS
    assert rotation.endpoints[1].state is State.DIFFERING


def test_the_newest_reading_of_the_same_contract_is_used():
    rotation = serving("a")
    newer = contract_of(version="2")
    rotation.endpoints[0].enter(newer)
    assert rotation.contract is newer


def test_addresses_come_and_go_and_the_others_stay_as_they_are():
    rotation = serving("a", "b")
    stays = rotation.endpoints[1]
    new, gone = rotation.follow(["b", "c"])
    assert [endpoint.address for endpoint in new] == ["c"]
    assert [endpoint.address for endpoint in gone] == ["a"]
    assert rotation.endpoints == (stays, *new)
    assert rotation.serving == [stays]


@pytest.mark.parametrize(
    ("theirs", "words"),
    [
        (contract_of(version="2"), ""),
        (contract_of(model_set="tiny"), ""),
        (contract_of(charset="a\nb\nc\n "), "classes: 5 here, 4 in use"),
        (contract_of(charset="b\na\n "), "class 1: 'b' here, 'a' in use"),
        (contract_of(buckets="32"), "buckets: (32,) here, (32, 64) in use"),
    ],
)
def test_the_first_difference_of_two_contracts_is_named(theirs, words):
    assert difference(OURS, theirs) == words
