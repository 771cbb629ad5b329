"""Clients that others wrote, unchanged, pointed at this gateway: they find in its answers what they look for.

`make clients` installs them into an environment of their own and runs these tests; elsewhere they are skipped.
"""

import json
import subprocess
from pathlib import Path

import pytest
from example_files import PHOTO, write_files
from served_models import HOME

PYTHON = HOME / "clients" / "bin" / "python"
SCRIPTS = Path(__file__).parent / "real_clients"

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not PYTHON.exists(), reason="the clients are not installed: make clients"),
]


@pytest.mark.parametrize(
    ("script", "clients"),
    [
        ("documented_requests.py", ["paddlex", "rapidocr_api", "hub_serving", "umi"]),
        ("liteparse_client.py", ["liteparse"]),
        ("nv_ingest_client.py", ["nv_ingest"]),
        ("paddleocr_mcp_client.py", ["paddleocr_mcp"]),
    ],
)
def test_a_client_reads_a_photo_by_this_gateway(gateway, tmp_path, script, clients):
    write_files(tmp_path)
    command = [str(PYTHON), str(SCRIPTS / script), gateway, str(tmp_path / "photo.jpg")]
    done = subprocess.run(command, check=False, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout.decode().splitlines()[-1]) == dict.fromkeys(clients, PHOTO)
