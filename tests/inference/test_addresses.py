import pytest

from gateway.inference.addresses import Address, look_up, parse_addresses


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("triton:8001", [Address("triton", 8001)]),
        ("10.0.0.1:8001, 10.0.0.2:9001,", [Address("10.0.0.1", 8001), Address("10.0.0.2", 9001)]),
        ("[::1]:8001", [Address("[::1]", 8001)]),
        ("dns:///triton-headless:8001", [Address("triton-headless", 8001, is_name=True)]),
        ("a:1,a:1", [Address("a", 1)]),
    ],
)
def test_addresses_are_read_from_a_list(text, expected):
    assert list(parse_addresses(text)) == expected


@pytest.mark.parametrize(
    "text", ["", " , ", "triton", "triton:0", "triton:65536", "a:b", "http://triton:8001", "a:1;b:2"]
)
def test_what_is_no_address_is_refused_with_what_would_be_one(text):
    with pytest.raises(ValueError, match=r"host:port.*dns:///name:port"):
        parse_addresses(text)


@pytest.mark.parametrize("text", ["triton:8001", "[::1]:8001", "dns:///triton-headless:8001"])
def test_an_address_is_written_as_it_is_read(text):
    assert str(parse_addresses(text)[0]) == text


async def test_a_host_is_one_endpoint_which_grpc_looks_up():
    assert await look_up(Address("triton", 8001)) == ["triton:8001"]


async def test_a_name_is_all_the_addresses_that_it_has():
    assert "127.0.0.1:8001" in await look_up(Address("localhost", 8001, is_name=True))


async def test_numbers_of_ipv6_stand_in_brackets():
    assert await look_up(Address("::1", 8001, is_name=True)) == ["[::1]:8001"]
