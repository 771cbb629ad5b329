"""Every check, by name. A check returns what it has looked at, in a few words, or raises as `tests.ops.programs` says.

A further one is a function in a module of its own kind, and a line here.
"""

from collections.abc import Callable, Mapping

from tests.ops import alerts, containers, dashboards, kubernetes, proxies, sbom, style, units

CHECKS: Mapping[str, Callable[[], str]] = {
    "yamllint": style.yaml_style,
    "hadolint": containers.dockerfile,
    "compose schema": containers.compose,
    "nginx -t": proxies.nginx,
    "nginx -t, with TLS": proxies.nginx_with_tls,
    "nginx -t, in compose": containers.nginx_in_compose,
    "kustomize build": kubernetes.kustomize,
    "kubernetes schemas": kubernetes.schemas,
    "KEDA schema": kubernetes.scaled_objects,
    "SBOM": sbom.write,
    "systemd-analyze verify": units.verify,
    "systemd-analyze security": units.security,
    "promtool check config": alerts.config,
    "promtool check metrics": alerts.exposition,
    "promtool test rules": alerts.cases,
    "amtool check-config": alerts.alertmanager,
    "alerts and runbook": alerts.completeness,
    "dashboards": dashboards.built,
    "queries of dashboards": dashboards.parsed,
    "queries of documents": dashboards.parsed_in_documents,
}
