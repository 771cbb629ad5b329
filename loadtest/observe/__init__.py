"""One incident, watched for real: Triton, gateway, Prometheus and Alertmanager, with the files of `deploy/`."""
