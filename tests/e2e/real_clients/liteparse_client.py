"""LiteParse, told to have its pictures read by another server.

python liteparse_client.py ADDRESS FILE
"""

import json
import sys

from liteparse import LiteParse

address, path = sys.argv[1:]
parser = LiteParse(ocr_server_url=f"{address}/ocr", ocr_language="en", ocr_failure_fatal=True, quiet=True)
print(json.dumps({"liteparse": parser.parse(path).text.split("\n")}))
