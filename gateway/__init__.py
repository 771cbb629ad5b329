"""The OCR gateway: an HTTP service that turns pictures of text into text, in front of Triton Inference Server."""

__version__ = "0.1.0"
