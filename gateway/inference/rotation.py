"""The endpoints of a service: which there are, which contract they share, and which of them takes the next call."""

from collections.abc import Callable, Collection, Sequence

from gateway.inference.contract import Contract
from gateway.inference.endpoints import Endpoint, State


class Rotation:
    """The endpoints by address.

    They are one service, so they must mean the same: the first that is healthy decides on the contract, and those with
    another one are kept out. When no healthy endpoint is left that has it, the next one decides anew.

    Attributes:
        contract: the one in use; None before any endpoint was healthy.
    """

    def __init__(self, make: Callable[[str, Callable[[], None]], Endpoint]) -> None:
        """An empty one; `make(address, changed)` makes its endpoints."""
        self.contract: Contract | None = None
        self._make = make
        self._endpoints: dict[str, Endpoint] = {}
        self._picks = 0

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """All of them."""
        return tuple(self._endpoints.values())

    @property
    def serving(self) -> list[Endpoint]:
        """Those that take calls. If none is in rotation those that flicker: better lose a call than refuse all."""
        endpoints = self._endpoints.values()
        in_rotation = [endpoint for endpoint in endpoints if endpoint.state is State.SERVING]
        return in_rotation or [one for one in endpoints if one.flickers and one.contract == self.contract]

    @property
    def outage(self) -> str:
        """Why no call can be taken, endpoint by endpoint; empty if one serves."""
        if self.serving:
            return ""
        endpoints = "; ".join(f"{one.address} {one.state}: {one.reason}" for one in self._endpoints.values())
        return endpoints or "no address of an inference server is known"

    def follow(self, addresses: Sequence[str]) -> tuple[list[Endpoint], list[Endpoint]]:
        """Have the endpoints at these addresses; gives those that are new, and those that are gone."""
        gone = [self._endpoints.pop(address) for address in tuple(self._endpoints) if address not in addresses]
        new = [self._make(address, self._settle) for address in addresses if address not in self._endpoints]
        self._endpoints |= {endpoint.address: endpoint for endpoint in new}
        self._settle()
        return new, gone

    def pick(self, contract: Contract, model: str, *, tried: Collection[Endpoint] = ()) -> Endpoint | None:
        """The endpoint for the next call of a model: the one with the fewest calls under way, in turn among equals.

        Turns are taken model by model: a page's calls come in pairs, and of two servers one would get all detection.
        Those that are hesitant come last. None if none is left that has this contract.
        """
        if contract is not self.contract and contract != self.contract:
            return None
        fit = [endpoint for endpoint in self.serving if endpoint not in tried]
        if not fit:
            return None
        chosen = min(fit, key=lambda one: (one.hesitant, one.calls_in_flight, one.picked.get(model, 0)))
        self._picks += 1
        chosen.picked[model] = self._picks
        return chosen

    def _settle(self) -> None:
        """Decide on the contract after a change, and which healthy endpoints serve by it."""
        healthy = [endpoint for endpoint in self._endpoints.values() if endpoint.healthy]
        agreeing = [endpoint.contract for endpoint in healthy if endpoint.contract == self.contract]
        held = [contract for contract in agreeing if contract is self.contract]
        if healthy:
            self.contract = (held or agreeing or [healthy[0].contract])[0]
        for endpoint in healthy:
            assert self.contract is not None
            endpoint.compare(self.contract)
