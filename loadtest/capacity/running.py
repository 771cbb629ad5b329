"""What the users and the step shape share while Locust runs; only Locust's environment can import it."""

from gevent.pool import Group

from loadtest.capacity.samples import Recorder

UNDER_WAY = Group()
"""Requests that have been sent and not answered; they outlive the users who sent them."""

RECORDER = Recorder(kept=False)
