"""Every check, by name. A check returns what it has looked at, in a few words, or raises as `tests.ops.programs` says.

A further one is a function in a module of its own kind, and a line here.
"""

from collections.abc import Callable, Mapping

from tests.ops import proxies, units

CHECKS: Mapping[str, Callable[[], str]] = {
    "nginx -t": proxies.nginx,
    "nginx -t, with TLS": proxies.nginx_with_tls,
    "systemd-analyze verify": units.verify,
    "systemd-analyze security": units.security,
}
