"""The only package that knows Triton: the backend's protocol, its two implementations, and the batcher."""
