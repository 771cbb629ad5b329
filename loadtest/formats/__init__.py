"""What the gateway, rapidocr and OpenCV alone make of odd and hostile files; `python -m loadtest.formats`."""
