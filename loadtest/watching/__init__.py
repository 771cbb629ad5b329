"""What it costs a gateway to be watched: traces, and Prometheus."""
