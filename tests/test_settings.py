import pytest

from gateway.errors import SettingsError
from gateway.settings import Settings


def test_without_variables_the_defaults_hold():
    settings = Settings.read()
    assert (settings.host, settings.port, settings.backend) == ("127.0.0.1", 8080, "triton")


def test_a_variable_sets_its_setting(monkeypatch):
    monkeypatch.setenv("OCR_MAX_PIXELS", "1000")
    assert Settings.read().max_pixels == 1000


def test_a_misspelt_variable_is_refused_by_name(monkeypatch):
    monkeypatch.setenv("OCR_MAX_PIXEL", "1000")
    with pytest.raises(SettingsError, match="OCR_MAX_PIXEL"):
        Settings.read()


def test_an_address_that_is_none_is_refused_by_name(monkeypatch):
    monkeypatch.setenv("OCR_TRITON_ADDRESSES", "triton-1:8001,triton-2")
    with pytest.raises(SettingsError, match="'triton-2' is not host:port"):
        Settings.read()


def test_a_value_out_of_range_is_refused(monkeypatch):
    monkeypatch.setenv("OCR_TIMEOUT_S", "-1")
    with pytest.raises(SettingsError, match="timeout_s"):
        Settings.read()


def test_the_largest_image_must_fit_into_the_pixels_under_way_four_times(monkeypatch):
    monkeypatch.setenv("OCR_MAX_PIXELS_UNDER_WAY", "199999999")
    with pytest.raises(SettingsError, match="less than four times"):
        Settings.read()


def test_a_decoder_must_hold_the_largest_image(monkeypatch):
    monkeypatch.setenv("OCR_MAX_PIXELS", "100000000")
    monkeypatch.setenv("OCR_MAX_PIXELS_UNDER_WAY", "400000000")
    with pytest.raises(SettingsError, match="is less than the 3,000,000,000 that an image of max_pixels"):
        Settings.read()
    monkeypatch.setenv("OCR_DECODER_MEMORY_BYTES", "3000000000")
    assert Settings.read().decoder_memory_bytes == 3_000_000_000


def test_clients_are_a_json_list(monkeypatch):
    monkeypatch.setenv("OCR_API_KEYS", f'[{{"name": "team", "key_sha256": ["{"a" * 64}"], "priority": "batch"}}]')
    [client] = Settings.read().api_keys
    assert (client.name, client.key_sha256, client.priority) == ("team", ("a" * 64,), "batch")


@pytest.mark.parametrize(
    "value", ['[{"name": "team", "key_sha256": ["open sesame"]}]', "open sesame", '[{"name": "open sesame"}]']
)
def test_a_key_in_the_wrong_place_is_refused_and_not_repeated(monkeypatch, value):
    monkeypatch.setenv("OCR_API_KEYS", value)
    with pytest.raises(SettingsError) as refused:
        Settings.read()
    assert "open sesame" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"triton_ca": "ca.pem", "triton_key": "k.pem"}, "go together"),
        ({"triton_ca": "ca.pem", "triton_certificate": "c.pem"}, "go together"),
        ({"triton_certificate": "c.pem", "triton_key": "k.pem"}, "need triton_ca"),
        ({"triton_server_name": "triton"}, "need triton_ca"),
    ],
)
def test_half_of_what_tls_needs_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        Settings(**given)


def test_two_ports_that_are_one_are_refused():
    with pytest.raises(ValueError, match="ops_port and port are both 8080"):
        Settings(ops_port=8080)
