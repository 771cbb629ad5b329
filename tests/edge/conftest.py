"""One pair of gateways and one nginx for all tests that leave them as they are."""

import pytest
from cases import MAX_BODY_BYTES
from servers import gateway

from tests.deployed_nginx import Nginx, nginx_is_missing, running

QUICK_NGINX = {
    "client_header_timeout 10s": "client_header_timeout 1s",
    "keepalive_timeout 75s": "keepalive_timeout 2s",
    "client_max_body_size 20000000": f"client_max_body_size {MAX_BODY_BYTES}",
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("edge")


@pytest.fixture(scope="session")
def gateway_ports(folder):
    settings = {"OCR_MAX_BODY_BYTES": str(MAX_BODY_BYTES)}
    with gateway(folder, **settings) as first, gateway(folder, **settings) as second:
        yield first, second


@pytest.fixture(scope="session")
def nginx(folder, gateway_ports):
    if reason := nginx_is_missing():
        pytest.skip(reason)
    with running(Nginx(folder / "nginx", gateway_ports, replaced=QUICK_NGINX)) as nginx:
        yield nginx


@pytest.fixture(scope="session")
def nginx_port(nginx):
    return nginx.port
