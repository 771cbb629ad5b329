"""Traces by OpenTelemetry; the only module that knows it, and it is an extra (`pip install ocr-gateway[otel]`).

Where spans go and how many requests are sampled is said by OpenTelemetry's own variables: OTEL_EXPORTER_OTLP_ENDPOINT,
OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG, OTEL_SERVICE_NAME.
"""

from dataclasses import dataclass

from opentelemetry import trace as api
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from gateway import __version__
from gateway.tracing import Attributes

PROPAGATOR = TraceContextTextMapPropagator()


@dataclass(frozen=True, slots=True)
class OtelSpan:
    """A span of a sampled request."""

    span: api.Span

    @property
    def traceparent(self) -> str:
        """As `Span.traceparent`."""
        carrier: dict[str, str] = {}
        PROPAGATOR.inject(carrier, api.set_span_in_context(self.span))
        return carrier["traceparent"]

    def end(self, error: str = "") -> None:
        """As `Span.end`."""
        if error:
            self.span.set_status(Status(StatusCode.ERROR, error))
        self.span.end()


@dataclass(frozen=True, slots=True)
class OtelTrace:
    """A sampled request."""

    tracer: api.Tracer
    root: OtelSpan

    @property
    def traceparent(self) -> str:
        """As `Trace.traceparent`."""
        return self.root.traceparent

    def start(self, name: str, attributes: Attributes) -> OtelSpan:
        """As `Trace.start`."""
        within = api.set_span_in_context(self.root.span)
        return OtelSpan(self.tracer.start_span(name, within, attributes=attributes))

    def end(self, attributes: Attributes, *, failed: bool) -> None:
        """As `Trace.end`."""
        self.root.span.set_attributes(attributes)
        self.root.end(str(attributes.get("error.type", "failed")) if failed else "")


class OtelTracer:
    """Traces requests, and hands their spans on."""

    def __init__(self, processor: SpanProcessor | None = None) -> None:
        """Prepare; without a processor, spans go in batches to where the environment says."""
        ours = Resource.create({SERVICE_NAME: "ocr-gateway", SERVICE_VERSION: __version__})
        self._provider = TracerProvider(resource=ours.merge(OTELResourceDetector().detect()))
        self._provider.add_span_processor(processor or BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("gateway", __version__)

    def begin(self, name: str, traceparent: str) -> OtelTrace | None:
        """As `Tracer.begin`."""
        came_with = PROPAGATOR.extract({"traceparent": traceparent} if traceparent else {})
        span = self._tracer.start_span(name, came_with, kind=SpanKind.SERVER)
        return OtelTrace(self._tracer, OtelSpan(span)) if span.is_recording() else None

    def close(self) -> None:
        """As `Tracer.close`."""
        self._provider.shutdown()
