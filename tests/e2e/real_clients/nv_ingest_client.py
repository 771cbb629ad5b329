"""NV-Ingest's client of NVIDIA's NIM for Image OCR.

python nv_ingest_client.py ADDRESS FILE
"""

import base64
import json
import sys
from pathlib import Path

from nv_ingest_api.internal.primitives.nim.model_interface.ocr import NemoRetrieverOCRModelInterface
from nv_ingest_api.util.nim import create_inference_client

address, path = sys.argv[1:]
image = base64.b64encode(Path(path).read_bytes()).decode()
client = create_inference_client(
    (None, f"{address}/v1/infer"), NemoRetrieverOCRModelInterface(), infer_protocol="http", max_retries=1
)
[[_, texts, _]] = client.infer({"base64_images": [image]}, model_name="scene_text_ensemble", merge_level="sentence")
print(json.dumps({"nv_ingest": texts}))
