"""PaddleOCR's server for assistants, told that the OCR is self-hosted, and asked as an assistant asks it.

python paddleocr_mcp_client.py ADDRESS FILE
"""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

address, path = sys.argv[1:]
server = ["-m", "paddleocr_mcp", "--ppocr_source", "self_hosted", "--self-hosted-base-url", address]


async def lines():
    """What it hands on."""
    async with Client(StdioTransport(sys.executable, server)) as client:
        asked = {"input_data": path, "file_type": "image", "output_mode": "detailed"}
        answer = await client.call_tool("ocr", asked)
    return json.loads(answer.content[0].text)["text"].splitlines()


print(json.dumps({"paddleocr_mcp": asyncio.run(lines())}))
