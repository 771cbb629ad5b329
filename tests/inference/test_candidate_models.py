"""Candidates as the servers show them."""

import pytest
from made_configs import detection_config, recognition_config
from watched_tritons import IMAGE, backend_on, blue, metric, small_triton

from gateway.errors import ContractError
from gateway.inference.served_models import CANDIDATE
from triton_models import releases


def with_candidate(share):
    triton = small_triton()
    configs = detection_config(name="candidate_text_detection"), recognition_config(name="candidate_text_recognition")
    if share is not None:
        configs[1].parameters["share"].string_value = share
    triton.configs |= {one.name: one for one in configs}
    triton.models |= {"candidate_text_detection": blue}
    return triton


@pytest.mark.parametrize(("share", "expected"), [(None, None), ("0", 0.0), ("2.5", 2.5)])
async def test_a_candidate_is_known_by_the_share_in_its_configuration(share, expected):
    async with backend_on(with_candidate(share)) as backend:
        assert await backend.candidate_share() == expected


async def test_without_one_there_is_none():
    async with backend_on(small_triton()) as backend:
        assert await backend.candidate_share() is None


async def test_it_is_enough_that_one_server_has_it():
    async with backend_on(small_triton(), with_candidate("10")) as backend:
        assert await backend.candidate_share() == 10.0


async def test_a_share_that_is_no_number_is_refused():
    async with backend_on(with_candidate("ten")) as backend:
        with pytest.raises(ContractError, match="'ten'"):
            await backend.candidate_share()


async def test_what_it_does_is_counted_under_a_name_of_its_own():
    triton = with_candidate("10")
    names = {"detection_model": "candidate_text_detection", "recognition_model": "candidate_text_recognition"}
    triton.sound_models = triton.models | {"candidate_text_recognition": triton.models["text_recognition"]}
    async with backend_on(triton, label="candidate", **names) as backend:
        await backend.detect(IMAGE, timeout_s=5)
        assert backend.contract.share == 10.0
        address = backend.endpoints[0].address
        assert metric("ocr_endpoint_calls_total", endpoint=f"{address} candidate", outcome="ok") == 1
        assert metric("ocr_endpoint_state", endpoint=f"{address} candidate", state="serving") == 1


def test_both_sides_call_candidates_the_same():
    assert CANDIDATE == releases.CANDIDATE
