"""The command line: `ocr-gateway`, or `python -m gateway`."""


def main() -> int:
    """Run the command; returns the exit code."""
    return 0
