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


def test_a_value_out_of_range_is_refused(monkeypatch):
    monkeypatch.setenv("OCR_TIMEOUT_S", "-1")
    with pytest.raises(SettingsError, match="timeout_s"):
        Settings.read()
