"""From what was asked for to what is looked at and printed."""

import json
from pathlib import Path

import pytest

from gateway.__main__ import main, parser
from gateway.doctor import report
from gateway.doctor.command import System, choose, find
from gateway.doctor.connections import days_left
from gateway.doctor.findings import Finding, Severity
from gateway.doctor.table import CHECKS
from gateway.doctor.targets import WebTarget
from gateway.errors import SettingsError
from gateway.settings import Settings

OK = Finding("triton a:1", "triton-address", Severity.OK, "good", "", "")
WARNING = Finding("triton a:1", "triton-version", Severity.WARNING, "old", "update", "2.51")
ERROR = Finding("gateway g", "gateway-ready", Severity.ERROR, "not ready", "mend it", "two\nlines")
UNKNOWN = Finding("gateway g", "gateway-metrics", Severity.UNKNOWN, "no metrics", "say where", "")


async def found(*arguments, **settings) -> System:
    return await find(parser().parse_args(["doctor", *arguments]), Settings(**settings))


async def test_without_addresses_the_settings_say_where_things_are():
    system = await found(triton_addresses="127.0.0.1:8001,127.0.0.2:9001", port=8085)
    assert [one.address for one in system.tritons] == ["127.0.0.1:8001", "127.0.0.2:9001"]
    assert system.gateways == (WebTarget("http://127.0.0.1:8085", guessed=False),)
    assert system.gateway_metrics == (WebTarget("http://127.0.0.1:8085/metrics", guessed=True),)
    assert system.triton_metrics == (WebTarget("http://127.0.0.1:8002/metrics", guessed=True),)
    assert system.triton_http == (WebTarget("http://127.0.0.1:8000", guessed=True),)


async def test_with_one_nothing_else_is_looked_at():
    system = await found("--triton", "t:1")
    assert ([one.address for one in system.tritons], system.gateways, system.triton_http) == (["t:1"], (), ())
    assert (await found("--gateway", "http://g:1")).tritons == ()


async def test_the_key_is_for_the_gateway_alone(monkeypatch):
    monkeypatch.setenv("GATEWAY_API_KEY", "secret")
    system = await found()
    assert system.gateways[0].api_key == "secret"
    others = (*system.gateway_metrics, *system.triton_http, *system.triton_metrics)
    assert {one.api_key for one in others} == {""}


async def test_an_embedded_backend_has_no_triton():
    assert (await found(backend="embedded")).tritons == ()


async def test_metrics_are_on_the_port_for_operators():
    assert (await found(ops_port=9100)).gateway_metrics[0].url == "http://127.0.0.1:9100/metrics"


async def test_files_for_tls_are_those_of_the_settings_or_of_the_options():
    system = await found("--triton-server-name", "other", triton_ca=Path("ca.pem"), triton_server_name="one")
    tls = system.tritons[0].tls
    assert (tls.authorities, tls.server_name) == (Path("ca.pem"), "other")


@pytest.mark.parametrize("arguments", [("--triton", "no-port"), ("--gateway", "g:8080"), ("--only", "misspelt")])
def test_what_is_not_understood_is_refused_by_name(arguments, capsys):
    assert main(["doctor", *arguments]) == report.NOT_SEEN
    assert arguments[1] in capsys.readouterr().err


def test_checks_are_chosen():
    assert choose((), ()) == {check.name for check in CHECKS}
    assert choose(("log-memory", "log-models"), ("log-models",)) == {"log-memory"}
    with pytest.raises(SettingsError, match="misspelt"):
        choose((), ("misspelt",))


def test_every_check_is_listed(capsys):
    assert main(["doctor", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [check.name for check in CHECKS]


@pytest.mark.parametrize(
    ("findings", "code"),
    [([], 3), ([OK], 0), ([OK, UNKNOWN], 3), ([UNKNOWN, WARNING], 1), ([WARNING, ERROR, UNKNOWN], 2)],
)
def test_the_exit_code_is_the_worst(findings, code):
    assert report.exit_code(findings) == code


def test_people_see_what_is_wrong_and_what_to_do():
    assert report.for_people([OK, WARNING, ERROR], everything=False, colour=False) == [
        "triton a:1",
        "  warning  triton-version         old",
        "                               do: update",
        "                             seen: 2.51",
        "gateway g",
        "  error    gateway-ready          not ready",
        "                               do: mend it",
        "                             seen: two lines",
    ]
    assert report.for_people([OK], everything=False, colour=False) == []
    assert report.for_people([OK], everything=True, colour=True)[1] == (
        "  \x1b[32mok      \x1b[0m triton-address         good"
    )


def test_programs_get_everything():
    answer = json.loads(report.for_programs([OK, ERROR]))
    assert answer["exit_code"] == 2
    assert answer["findings"][1] == {
        "subject": "gateway g",
        "check": "gateway-ready",
        "severity": "error",
        "what": "not ready",
        "do": "mend it",
        "evidence": "two\nlines",
    }


@pytest.mark.parametrize(("days", "severity"), [(15, Severity.OK), (13, Severity.WARNING)])
def test_a_certificate_is_renewed_in_time(days, severity):
    (verdict,) = days_left(86400 * days, 0)
    assert verdict.severity is severity
