"""Triton's log by severity: in the journal, and where a collector takes it from containers."""

import re

import pytest

from tests.ops import deployed

LOG = """\
2026-11-30T20:19:16Z I 5070 server.cc:604] "started"
2026-11-30T20:19:16Z W 5070 pinned_memory_manager.cc:273] "no driver"
2026-11-30T20:19:16Z E 5070 model_lifecycle.cc:654] "failed to load 'x' version 1: E W F"
2026-11-30T20:19:17Z F 5070 server.cc:1] "over"
+----------+---------+
E W no severity, but a word
"""


def test_the_journal_has_each_line_at_its_severity():
    assert [line[:3] for line in deployed.by_severity(LOG).splitlines()] == ["<6>", "<4>", "<3>", "<2>", "<6>", "<6>"]


def test_nothing_of_the_log_is_changed_otherwise():
    assert re.sub("(?m)^<.>", "", deployed.by_severity(LOG)) == LOG


@pytest.mark.parametrize(("number", "level"), [(0, "I"), (1, "W"), (2, "E"), (3, "F"), (4, None), (5, None)])
def test_a_collector_finds_the_severity_of_each_line(number, level):
    assert deployed.collected(LOG.splitlines()[number]).get("level") == level


def test_triton_writes_to_where_its_log_is_read():
    """systemd holds the pipe open; so neither waits for the other to start."""
    where = deployed.unit("triton-log.socket")["Socket"]["ListenFIFO"]
    assert deployed.unit("triton.service")["Service"]["StandardError"] == f"file:{where}"
    assert deployed.unit("triton.service")["Unit"]["Requires"] == "triton-log.socket"
    assert deployed.unit("triton-log.service")["Service"]["StandardInput"] == "socket"


def test_every_deployed_triton_writes_lines_of_that_form():
    assert {deployed.flags(command)["log-format"] for command in deployed.triton_commands().values()} == {"ISO8601"}
