"""What many published recipes use and Triton does not have; each was tried on, or looked up in, a real one."""

FLAGS = (
    "allow-gpu-memory-growth",
    "memory-percentage",
    "log-rotate-after",
    "log-rotate-count",
    "strict-model-config",  # deprecated: still taken, with a warning
)
METRICS = (
    "nv_inference_compute_duration_us",
    "nv_inference_compute_duration_us_bucket",
    "nv_inference_queue_duration_us_sum",
    "nv_inference_queue_duration_us_count",
    "nv_inference_queue_duration_us_bucket",
    "nv_inference_dynamic_batch_size",
    "nv_gpu_status",
    "nv_gpu_memory_free_bytes",
    "gpu_memory_used_bytes",
)
LABELS = ("model_name",)
"""Of Triton's metrics, which are `model` and `version`."""
