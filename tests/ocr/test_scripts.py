import pytest

from gateway.ocr.scripts import count_letters


@pytest.mark.parametrize(
    ("charset", "letters"),
    [
        ((), {}),
        (("", "1", "!", " ", "①"), {}),
        (("", "中", "国", "a", "é", "B", "Ω"), {"Latn": 3, "Hani": 2, "Grek": 1}),
        (("あ", "い", "ア", "한", "ж"), {"Hira": 2, "Kana": 1, "Hang": 1, "Cyrl": 1}),
        (("ab",), {}),  # a class of two characters is no letter
    ],
)
def test_letters_are_counted_by_script(charset, letters):
    assert count_letters(charset) == letters
