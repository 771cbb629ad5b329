"""Settings of the gateway process, from `OCR_*` environment variables. docs/configuration.md describes each."""

import os
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from gateway.errors import SettingsError
from gateway.inference.addresses import parse_addresses
from gateway.web.clients import ApiClients

PREFIX = "OCR_"

DECODER_BYTES, DECODER_BYTES_PER_PIXEL = 400_000_000, 26
"""Addresses that a decoder process has before it decodes, and takes for each pixel of a TIFF with transparency."""


class Settings(BaseSettings):
    """Everything an operator may choose; one variable each, `OCR_` and the name in capitals."""

    # A key that stands where its hash should must not get into the log.
    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True, hide_input_in_errors=True)

    host: str = Field("127.0.0.1", description="Address the gateway listens on.")
    port: int = Field(8080, ge=1, le=65535, description="Port the gateway listens on.")
    ops_port: int = Field(
        0,
        ge=0,
        le=65535,
        description="Port for `/metrics`, `/docs` and `/openapi.json`, which clients then don't find any more. "
        "0: they are with the rest.",
    )
    backend: Literal["triton", "embedded"] = Field(
        "triton",
        description="Where the models run: a Triton server, or ONNX Runtime in the gateway's own process.",
    )
    triton_addresses: str = Field(
        "127.0.0.1:8001",
        description="Triton's gRPC addresses, `host:port,host:port`, or `dns:///name:port` for all that DNS has.",
    )
    triton_ca: Path | None = Field(
        None,
        description="PEM file with the certificates that Triton's own is checked against. "
        "Without it connections are not encrypted.",
    )
    triton_certificate: Path | None = Field(
        None, description="PEM file with the gateway's certificate, for a Triton that asks for one."
    )
    triton_key: Path | None = Field(None, description="PEM file with the key of that certificate.")
    triton_server_name: str = Field(
        "",
        description="Name in Triton's certificate, if it is not the host in the address; it never is with `dns:///`.",
    )
    triton_probe_interval_s: float = Field(
        1.5, gt=0, description="Time between probes of each Triton, tiny inferences that test its models, seconds."
    )
    detection_model: str = Field("text_detection", description="Name, or name prefix, of the detection model(s).")
    recognition_model: str = Field("text_recognition", description="Name, or name prefix, of the recognition model(s).")
    model_repository: Path = Field(
        Path(".local/models/ppocrv6-small"),
        description="Model repository that the embedded backend loads. Triton has its own setting for this.",
    )
    embedded_threads: int = Field(
        0, ge=0, description="ONNX Runtime threads per model, embedded only. 0: one per core."
    )
    max_body_bytes: int = Field(20_000_000, ge=1, description="Largest request body, bytes.")
    max_pixels: int = Field(50_000_000, ge=1, description="Most pixels an image may declare.")
    max_side: int = Field(20_000, ge=1, description="Longest side an image may declare, pixels.")
    max_files: int = Field(16, ge=1, description="Most files in one request.")
    max_pages: int = Field(500, ge=1, description="Most pages that are read for one request.")
    timeout_s: float = Field(30.0, gt=0, description="A request's deadline when it does not ask for one, seconds.")
    max_timeout_s: float = Field(120.0, gt=0, description="The longest deadline a request may ask for, seconds.")
    max_stream_s: float = Field(
        3600.0,
        gt=0,
        description="The longest that an answer of lines may take, whose pages have a deadline each, seconds.",
    )
    max_requests: int = Field(
        0,
        ge=0,
        description="Requests under way at once; fewer while they would not be finished in half of their time. "
        "0: sixteen for each recognition call.",
    )
    max_waiting: int = Field(64, ge=0, description="Requests of one priority that may wait for their turn.")
    max_wait_s: float = Field(
        0.15, ge=0, description="How long they wait, seconds; never more than a fifth of their time."
    )
    max_pixels_under_way: int = Field(
        200_000_000, ge=4, description="Pixels of all images under way; at least four times OCR_MAX_PIXELS."
    )
    max_slow_upload_bytes: int = Field(
        200_000_000, ge=0, description="Bytes that uploads of more than a quarter of a second may hold together."
    )
    page: bool = Field(True, description="Whether `/` serves a page on which people try the service out.")
    api_keys: ApiClients = Field(
        (), description="Who may send requests, as a JSON list; empty: everybody, without quotas. See below."
    )
    max_connections: int = Field(1000, ge=1, description="Connections open at once.")
    max_header_bytes: int = Field(16_384, ge=1024, description="Largest first line and header of a request, bytes.")
    header_timeout_s: float = Field(10.0, gt=0, description="The longest that they may take to come, seconds.")
    body_timeout_s: float = Field(
        30.0, gt=0, description="The longest that a body may take which comes at less than 50 kB/s, seconds."
    )
    keep_alive_s: int = Field(
        75,
        ge=1,
        description="How long a connection stays open without a request, seconds; longer than a proxy keeps it.",
    )
    max_chunk_pixels: int = Field(
        32 * 48 * 320,
        ge=1,
        description="Padded area of one recognition call, pixels: rows x line height x bucket width. "
        "It bounds the memory of the inference server. A single row is always sent.",
    )
    detection_calls: int = Field(2, ge=1, description="Detection calls under way at once on each Triton.")
    recognition_calls: int = Field(
        2,
        ge=1,
        description="Recognition calls under way at once on each Triton: "
        "one that runs and one that waits for each instance.",
    )
    cpu_threads: int = Field(0, ge=0, description="Threads for decoding and post-processing. 0: one per core.")
    decoder_processes: int = Field(
        0, ge=0, description="Most processes that decode documents and rarer types of image at once. 0: one per core."
    )
    decoder_memory_bytes: int = Field(
        2_000_000_000, ge=300_000_000, description="Memory that each of them may have (of addresses), bytes."
    )
    decoder_timeout_s: int = Field(20, ge=1, description="The longest that one may take over a page, seconds.")
    canary_interval_s: float = Field(5.0, gt=0, description="Time between readings of the known picture, seconds.")
    canary_timeout_s: float = Field(5.0, gt=0, description="Deadline of a reading of the known picture, seconds.")
    drain_delay_s: float = Field(
        5.0, ge=0, description="How long new requests are still taken after SIGTERM, while `/readyz` says no, seconds."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Least severity that is logged."
    )
    traces: bool = Field(
        False, description="Send traces by OpenTelemetry, whose own variables say where to; needs the extra `otel`."
    )
    log_format: Literal["json", "text"] = Field("json", description="JSON lines, or text for reading at a terminal.")

    @field_validator("triton_addresses")
    @classmethod
    def _addresses_are_such(cls, addresses: str) -> str:
        parse_addresses(addresses)
        return addresses

    @model_validator(mode="after")
    def _ports_differ(self) -> Self:
        if self.ops_port == self.port:
            raise ValueError(f"ops_port and port are both {self.port}")
        return self

    @model_validator(mode="after")
    def _certificates_are_complete(self) -> Self:
        if (self.triton_certificate is None) is not (self.triton_key is None):
            raise ValueError("triton_certificate and triton_key go together")
        if self.triton_ca is None and (self.triton_certificate or self.triton_server_name):
            raise ValueError("triton_certificate, triton_key and triton_server_name need triton_ca")
        return self

    @model_validator(mode="after")
    def _timeouts_fit(self) -> Self:
        if self.timeout_s > self.max_timeout_s:
            raise ValueError(f"timeout_s ({self.timeout_s:g}) is above max_timeout_s ({self.max_timeout_s:g})")
        return self

    @model_validator(mode="after")
    def _largest_image_fits(self) -> Self:
        if self.max_pixels_under_way < 4 * self.max_pixels:
            raise ValueError(
                f"max_pixels_under_way ({self.max_pixels_under_way:,}) is less than four times "
                f"max_pixels ({self.max_pixels:,})"
            )
        return self

    @model_validator(mode="after")
    def _decoders_hold_an_image(self) -> Self:
        needed = DECODER_BYTES + DECODER_BYTES_PER_PIXEL * self.max_pixels
        if self.decoder_memory_bytes < needed:
            raise ValueError(
                f"decoder_memory_bytes ({self.decoder_memory_bytes:,}) is less than the {needed:,} that "
                f"an image of max_pixels ({self.max_pixels:,}) may take"
            )
        return self

    @classmethod
    def read(cls) -> Self:
        """Settings from the environment.

        Raises:
            SettingsError: a variable with the prefix that is no setting (a misspelt limit must not be silent), or a
                value out of its range.
        """
        known = {(PREFIX + name).upper() for name in cls.model_fields}
        unknown = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)
        if unknown:
            raise SettingsError(f"unknown setting {', '.join(unknown)}; the settings are in docs/configuration.md")
        try:
            return cls()
        except ValueError as error:
            raise SettingsError(f"bad setting: {error}") from error
