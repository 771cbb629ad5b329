"""The model side: repositories for Triton built from published wheels, and a local Triton to serve them.

Stands alone: the gateway is not imported here, and learns everything about the models from their Triton configurations.
"""
