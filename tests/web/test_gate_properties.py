"""Whatever happens at the gate: nothing leaks, nothing is given out twice, and nobody waits for nothing."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gateway.errors import Overloaded
from gateway.web.gate import Gate, GateLimits
from gateway.web.tickets import Priority

BUDGET = 400
LARGEST = BUDGET // 4

pixel_counts = st.integers(0, LARGEST)
choices = st.integers(0, 1000)


class GateMachine(RuleBasedStateMachine):
    @initialize(slots=st.integers(1, 10), waiting=st.integers(0, 4), parked_bytes=st.integers(0, 100))
    def open_gate(self, slots, waiting, parked_bytes):
        self.now = 0.0
        self.limits = GateLimits(slots, waiting, 0.15, BUDGET, parked_bytes)
        self.gate = Gate(self.limits, lambda: self.now)
        self.tickets = []
        self.gone = []

    @rule(pixels=pixel_counts, priority=st.sampled_from(list(Priority)), timeout_s=st.sampled_from([0.1, 1.0, 30.0]))
    def ask(self, pixels, priority, timeout_s):
        try:
            self.tickets.append(self.gate.ask(pixels=pixels, priority=priority, timeout_s=timeout_s))
        except Overloaded:
            assert self.gate.waiting(priority) == self.limits.waiting

    @rule(seconds=st.sampled_from([0.01, 0.1, 1.0, 20.0]))
    def pass_time(self, seconds):
        """Time passes, and whoever should give up does, in order."""
        self.now += seconds
        for ticket in [ticket for ticket in self.tickets if ticket.waiting and ticket.give_up_at <= self.now]:
            if ticket.waiting:
                self._leave(ticket, done=False)

    @precondition(lambda self: self.tickets)
    @rule(choice=choices, done=st.booleans())
    def leave(self, choice, done):
        self._leave(self.tickets[choice % len(self.tickets)], done=done)

    @precondition(lambda self: self.tickets)
    @rule(choice=choices)
    def park(self, choice):
        ticket = self.tickets[choice % len(self.tickets)]
        if not ticket.waiting:
            self._woken(self.gate.park(ticket))

    @precondition(lambda self: self.tickets)
    @rule(choice=choices, size=st.integers(0, 50))
    def upload(self, choice, size):
        ticket = self.tickets[choice % len(self.tickets)]
        if ticket.waiting or ticket.settled:
            return
        try:
            self.gate.uploaded(ticket, size)
        except Overloaded:
            self._leave(ticket, done=False)

    @precondition(lambda self: self.tickets)
    @rule(choice=choices, pixels=pixel_counts)
    def settle(self, choice, pixels):
        ticket = self.tickets[choice % len(self.tickets)]
        if not (ticket.waiting or ticket.settled):
            self._woken(self.gate.settle(ticket, pixels))

    def _leave(self, ticket, *, done):
        self.tickets.remove(ticket)
        self.gone.append(ticket)
        self._woken(self.gate.leave(ticket, done=done))

    def _woken(self, tickets):
        assert all(ticket.has_slot and not ticket.waiting for ticket in tickets)
        assert not set(tickets) & set(self.gone)

    @invariant()
    def what_is_given_out_is_what_the_tickets_hold(self):
        held = [ticket for ticket in self.tickets if ticket.has_slot]
        assert self.gate.slots_in_use == len(held)
        assert self.gate.pixels_in_use == sum(ticket.pixels for ticket in held if not ticket.waiting)
        parked = [ticket for ticket in self.tickets if ticket.parked]
        assert self.gate.parked == len(parked)
        assert self.gate.parked_bytes == sum(ticket.uploaded_bytes for ticket in parked)

    @invariant()
    def no_limit_is_passed(self):
        assert self.gate.slots_in_use <= self.limits.slots
        assert self.gate.pixels_in_use <= BUDGET
        assert self.gate.parked_bytes <= self.limits.parked_bytes
        assert all(self.gate.waiting(priority) <= self.limits.waiting for priority in Priority)

    @invariant()
    def nobody_holds_anything_after_leaving(self):
        assert not any(ticket.has_slot or ticket.parked or ticket.waiting for ticket in self.gone)

    @invariant()
    def nobody_waits_while_nothing_is_given_out(self):
        if self.gate.slots_in_use == 0:
            assert not [ticket for ticket in self.tickets if ticket.waiting]

    def teardown(self):
        for ticket in list(getattr(self, "tickets", ())):
            self._leave(ticket, done=True)
        if hasattr(self, "gate"):
            assert (self.gate.slots_in_use, self.gate.pixels_in_use, self.gate.parked_bytes) == (0, 0, 0)
            assert self.gate.settling == 0


TestGate = GateMachine.TestCase
TestGate.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
