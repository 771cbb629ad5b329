"""What a gateway process wrote down, and which drills a machine can make."""

import json
from dataclasses import replace
from pathlib import Path

from tests.drills.campaign import Options, planned
from tests.drills.drill import excuses
from tests.drills.faults import FAULTS
from tests.drills.ledger import Account
from tests.drills.made_drills import LOST, course, sent
from tests.drills.processes import Life, without_settings
from tests.drills.stand import StandPlan


def log(tmp_path: Path, *lines: object, tail: str = "") -> Path:
    file = tmp_path / "gateway.log"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + tail)
    return file


def life(file: Path) -> Life:
    return Life("gateway-1", None, file)  # type: ignore[arg-type]  # no process: only its log is read


def request(request_id: str, status: int, route: str = "/v1/ocr") -> dict[str, object]:
    return {"level": "INFO", "request_id": request_id, "route": route, "status": status}


def test_an_empty_log_is_an_empty_account(tmp_path: Path) -> None:
    assert life(log(tmp_path)).account() == Account("gateway-1", ())


def test_an_account_has_the_ends_of_requests_for_pages(tmp_path: Path) -> None:
    other = {"level": "INFO", "message": "ready"}
    file = log(tmp_path, other, request("a", 200), request("p", 503, "/readyz"), request("b", 499), 7)
    assert life(file).account().ended == (("a", 200), ("b", 499))


def test_a_line_that_a_kill_cut_off_is_no_line(tmp_path: Path) -> None:
    assert life(log(tmp_path, request("a", 200), tail='{"request_id": "b", "sta')).account().ended == (("a", 200),)


def test_settings_of_whoever_starts_the_drills_do_not_reach_the_gateways() -> None:
    assert without_settings({"OCR_TIMEOUT_S": "9", "PATH": "/bin"}) == {"PATH": "/bin"}


def options(*names: str, repeats: int | None = None) -> Options:
    return Options({name: FAULTS[name] for name in names}, repeats, Path(), Path(), None)


def names_of(chosen: Options) -> list[tuple[str, int]]:
    return [(name, repeat) for name, _, repeat in planned(chosen, print)]


def test_every_fault_is_drilled_before_one_is_drilled_again() -> None:
    assert names_of(options("none", "stub-dead", repeats=2)) == [
        ("none", 1),
        ("stub-dead", 1),
        ("none", 2),
        ("stub-dead", 2),
    ]


def test_a_fault_is_drilled_as_often_as_the_table_says() -> None:
    once = replace(FAULTS["none"], repeats=1)
    chosen = replace(options("none", "stub-dead"), faults={"once": once, "thrice": FAULTS["stub-dead"]})
    assert [name for name, _ in names_of(chosen)] == ["once", "thrice", "thrice", "thrice"]


def test_no_faults_are_no_drills() -> None:
    assert names_of(options()) == []


def test_what_the_machine_lacks_is_skipped_and_said() -> None:
    def lacking(plan: StandPlan) -> str | None:
        return "no nginx" if plan.nginx else None

    said: list[str] = []
    chosen = options("gateway-killed", "none", repeats=1)
    assert [name for name, _, _ in planned(chosen, said.append, lacking=lacking)] == ["none"]
    assert said == ["gateway-killed: skipped, no nginx"]


def test_only_a_fault_that_cuts_excuses_lost_connections() -> None:
    lost = sent(LOST, 12)
    assert excuses(FAULTS["gateway-killed"], course()).explain_cut(lost)
    assert not excuses(FAULTS["triton-killed"], course()).explain_cut(lost)
