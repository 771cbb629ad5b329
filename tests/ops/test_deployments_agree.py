"""The files of deploy/ agree with the gateway and with each other."""

import json
import re

import pytest
import yaml

from gateway.doctor.machine import FEW_FILES, SHM_LEAST_BYTES
from gateway.settings import PREFIX, Settings
from tests.ops import deployed

ENVIRONMENTS = deployed.gateway_environments()
TRITONS = {where: deployed.flags(command) for where, command in deployed.triton_commands().items()}
DEFAULTS = {name: field.default for name, field in Settings.model_fields.items()}
LONGEST_SHUTDOWN_S = DEFAULTS["drain_delay_s"] + DEFAULTS["max_timeout_s"] + 2
RESTRICTED = {"model-repository", "shared-memory", "logging", "trace"}
NGINX = deployed.DEPLOY / "nginx"
DOCKER = deployed.DEPLOY / "docker"


@pytest.mark.parametrize("where", ENVIRONMENTS)
def test_every_setting_of_a_gateway_is_one(where):
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    assert {name for name in ENVIRONMENTS[where] if name.startswith(PREFIX)} - known == set()


@pytest.mark.parametrize("where", ENVIRONMENTS)
def test_the_settings_of_a_gateway_are_valid_together(where):
    values = {name.removeprefix(PREFIX).lower(): value for name, value in ENVIRONMENTS[where].items()}
    del values["api_keys"]
    Settings(**values)


def test_the_example_of_api_keys_has_the_form_of_them():
    example = json.loads(deployed.environment_file(deployed.SYSTEMD / "ocr-gateway.env")["OCR_API_KEYS"])
    Settings(api_keys=[{**client, "key_sha256": ["0" * 64]} for client in example])


def test_gateways_are_given_the_time_that_their_shutdown_may_take():
    given = {
        "compose": int(deployed.compose()["gateway-1"]["stop_grace_period"].removesuffix("s")),
        "kubernetes": deployed.pod("gateway")["terminationGracePeriodSeconds"],
        "systemd": int(deployed.unit("ocr-gateway@.service")["Service"]["TimeoutStopSec"]),
    }
    assert {where for where, seconds in given.items() if seconds < LONGEST_SHUTDOWN_S} == set()
    assert "lifecycle" not in deployed.container("gateway"), "the gateway drains by itself (docs/decisions/0010)"


def test_kubernetes_notices_that_a_gateway_drains_before_its_listener_closes():
    probe = deployed.container("gateway")["readinessProbe"]
    assert probe["httpGet"]["path"] == "/readyz"
    assert probe["periodSeconds"] * probe["failureThreshold"] + probe["timeoutSeconds"] < DEFAULTS["drain_delay_s"]


def test_liveness_asks_for_life_and_not_for_readiness():
    gateway = deployed.container("gateway")
    assert {gateway[probe]["httpGet"]["path"] for probe in ("livenessProbe", "startupProbe")} == {"/livez"}
    assert "/livez" in (deployed.DEPLOY / "docker" / "Dockerfile").read_text()


def test_tritons_are_given_more_time_than_they_wait_for_calls():
    exits = {int(flags["exit-timeout-secs"]) for flags in TRITONS.values()}
    given = {
        int(deployed.compose()["triton-gpu"]["stop_grace_period"].removesuffix("s")),
        deployed.pod("triton")["terminationGracePeriodSeconds"],
        int(deployed.unit("triton.service")["Service"]["TimeoutStopSec"]),
    }
    assert min(given) >= max(exits) + 5


@pytest.mark.parametrize("where", TRITONS)
def test_what_administers_triton_wants_a_key(where):
    for flag in ("grpc-restricted-protocol", "http-restricted-api"):
        restricted, _, key = TRITONS[where][flag].partition(":")
        assert set(restricted.split(",")) == RESTRICTED
        assert re.fullmatch(r"admin-key=\$[{(]TRITON_ADMIN_KEY.*[})]", key), "the key itself must not stand in a file"


def test_tritons_are_started_alike_everywhere():
    own = {"model-repository", "model-config-name", "grpc-restricted-protocol", "http-restricted-api"}
    own |= {"http-address", "grpc-address", "metrics-address", "allow-http", "allow-grpc", "allow-metrics"}
    common = [{flag: value for flag, value in flags.items() if flag not in own} for flags in TRITONS.values()]
    assert all(one == common[0] for one in common)


def test_a_model_that_does_not_load_takes_no_sound_server_out_of_service():
    """Triton is not ready for ever after, by default, although the old version serves (tests/e2e/test_release.py)."""
    assert {flags["strict-readiness"] for flags in TRITONS.values()} == {"false"}
    assert {flags["exit-on-error"] for flags in TRITONS.values()} == {"true"}, (
        "so that it starts with all models or not"
    )


def test_without_a_container_triton_listens_on_the_loopback_interface_alone():
    addresses = {flag: value for flag, value in TRITONS["systemd"].items() if flag.endswith("-address")}
    assert addresses == dict.fromkeys(("http-address", "grpc-address", "metrics-address"), "127.0.0.1")


def test_triton_has_no_way_in_from_outside_in_compose():
    networks = deployed.networks()
    for name in ("triton-gpu", "triton-cpu"):
        service = deployed.compose()[name]
        assert "ports" not in service
        assert all(networks[network]["internal"] for network in service["networks"])


def test_only_the_proxy_has_a_port_for_everybody_in_compose():
    published = {name: port for name, one in deployed.compose().items() for port in one.get("ports", ())}
    public = {name for name, port in published.items() if not port.startswith("127.0.0.1:")}
    assert public == {"nginx"}


def test_triton_has_no_way_in_from_outside_in_kubernetes():
    services = [one for one in deployed.objects() if one["kind"] == "Service"]
    assert {one["metadata"]["name"] for one in services} == {"gateway", "triton"}
    assert {one["spec"].get("type", "ClusterIP") for one in services} == {"ClusterIP"}
    assert deployed.base("Service", "triton")["spec"]["clusterIP"] == "None"
    ingress = deployed.base("NetworkPolicy", "triton")["spec"]["ingress"]
    callers = {rule["ports"][0]["port"]: rule["from"] for rule in ingress}
    assert set(callers) == {"grpc", "metrics"}
    names = [caller["podSelector"]["matchLabels"]["app.kubernetes.io/name"] for caller in callers["grpc"]]
    assert names == ["gateway", "release"]


def test_kubernetes_has_no_open_pod():
    closed = deployed.base("NetworkPolicy", "nothing")["spec"]
    assert closed == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


@pytest.mark.parametrize(("name", "kind"), [("gateway", "Deployment"), ("triton", "Deployment"), ("models", "Job")])
def test_pods_may_do_no_more_than_they_must(name, kind):
    pod, container = deployed.pod(name, kind), deployed.container(name, kind)
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not pod["automountServiceAccountToken"]
    own = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert container["securityContext"] == own


def test_kubernetes_adds_no_variables_that_a_gateway_would_not_know():
    """Such as OCR_GATEWAY_SERVICE_HOST, for a service called ocr-gateway: it would not start."""
    assert deployed.pod("gateway")["enableServiceLinks"] is False


@pytest.mark.parametrize("name", ["nginx", "gateway-1", "triton-gpu", "triton-cpu", "prometheus", "grafana"])
def test_containers_of_compose_may_do_no_more_than_they_must(name):
    service = deployed.compose()[name]
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_ports_of_gateways_are_those_that_are_asked():
    env = ENVIRONMENTS["kubernetes"]
    ports = {one["name"]: str(one["containerPort"]) for one in deployed.container("gateway")["ports"]}
    assert ports == {"http": env["OCR_PORT"], "ops": env["OCR_OPS_PORT"]}
    services = deployed.compose()
    behind = {services[name]["networks"]["front"]["ipv4_address"] for name in ("gateway-1", "gateway-2")}
    port = ENVIRONMENTS["compose"]["OCR_PORT"]
    assert servers(deployed.DEPLOY / "compose" / "gateways.conf") == {f"{address}:{port}" for address in behind}
    assert servers(NGINX / "gateways.conf") == {"127.0.0.1:8081", "127.0.0.1:8082"}
    assert "ocr-gateway@8081 ocr-gateway@8082" in (deployed.SYSTEMD / "ocr-gateway@.service").read_text()


def test_prometheus_asks_gateways_where_their_metrics_are():
    """On the port for operators where there is one: the other one has no metrics then."""
    names = ("gateway-1", "gateway-2")
    assert targets("compose/targets/gateways.yml") == {f"{name}:{metrics_port('compose')}" for name in names}
    assert targets("prometheus/targets/gateways.yml") == servers(NGINX / "gateways.conf")
    assert "OCR_OPS_PORT" not in ENVIRONMENTS["systemd"], "two gateways of one machine would want the same one"


def test_pods_of_gateways_are_scraped_and_may_be_at_the_port_of_their_metrics():
    annotations = deployed.base("Deployment", "gateway")["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == metrics_port("kubernetes")
    (name,) = [
        port["name"]
        for port in deployed.container("gateway")["ports"]
        if str(port["containerPort"]) == annotations["prometheus.io/port"]
    ]
    assert f"gateway;{name}" in kept_pods()
    assert f"gateway;{name}" not in {f"gateway;{port['targetPort']}" for port in service_ports("gateway")}
    assert callers("gateway")[name] == ["monitoring"]


def test_health_is_asked_where_clients_are_so_that_it_is_their_port_that_is_well():
    gateway = deployed.container("gateway")
    probes = ("startupProbe", "livenessProbe", "readinessProbe")
    assert {gateway[probe]["httpGet"]["port"] for probe in probes} == {"http"}
    assert "OCR_PORT" in re.search(r"(?s)HEALTHCHECK.*?livez", (DOCKER / "Dockerfile").read_text())[0]


def test_prometheus_asks_tritons_where_their_metrics_are():
    port = TRITONS["compose gpu"]["metrics-port"]
    assert targets("compose/targets/tritons.yml") == {f"triton:{port}"}
    assert targets("prometheus/targets/tritons.yml") == {f"127.0.0.1:{TRITONS['systemd']['metrics-port']}"}
    annotations = deployed.base("Deployment", "triton")["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == TRITONS["kubernetes gpu"]["metrics-port"]
    assert "triton;metrics" in kept_pods()
    assert callers("triton")["metrics"] == ["monitoring"]


def test_prometheus_is_in_the_networks_of_what_it_asks_in_compose():
    services = deployed.compose()
    for asked, network in (("gateway-1", "front"), ("triton-gpu", "inference"), ("alertmanager", "monitoring")):
        assert network in services[asked]["networks"]
        assert network in services["prometheus"]["networks"]
    assert targets("compose/targets/alertmanagers.yml") == {"alertmanager:9093"}


def metrics_port(where):
    """Where a gateway of this environment has its metrics."""
    return ENVIRONMENTS[where]["OCR_OPS_PORT"]


def targets(path):
    """What a file of targets names."""
    groups = yaml.safe_load((deployed.DEPLOY / path).read_text())
    return {target for group in groups for target in group["targets"]}


def kept_pods():
    """What Prometheus keeps of the pods of Kubernetes: name and port's name."""
    jobs = yaml.safe_load((deployed.DEPLOY / "prometheus" / "prometheus-kubernetes.yml").read_text())["scrape_configs"]
    return {rule["regex"] for job in jobs for rule in job["relabel_configs"] if rule.get("action") == "keep"}


def callers(policy):
    """By port, the namespaces that a NetworkPolicy lets in."""
    ingress = deployed.base("NetworkPolicy", policy)["spec"]["ingress"]
    return {
        rule["ports"][0]["port"]: [
            one["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
            for one in rule["from"]
            if "namespaceSelector" in one
        ]
        for rule in ingress
    }


def service_ports(name):
    """The ports of a service."""
    return deployed.base("Service", name)["spec"]["ports"]


def test_processes_have_the_limits_that_the_doctor_asks_for():
    triton, gateway = deployed.compose()["triton-gpu"], deployed.compose()["gateway-1"]
    units = [deployed.unit(name)["Service"] for name in ("triton.service", "ocr-gateway@.service")]
    files = [triton["ulimits"]["nofile"], gateway["ulimits"]["nofile"], *(int(unit["LimitNOFILE"]) for unit in units)]
    assert min(files) >= FEW_FILES
    assert files[1] > DEFAULTS["max_connections"]
    assert (triton["ulimits"]["memlock"], units[0]["LimitMEMLOCK"]) == (-1, "infinity")
    (shm,) = [one["emptyDir"] for one in deployed.pod("triton")["volumes"] if one["name"] == "shm"]
    assert shm["medium"] == "Memory"
    assert {"name": "shm", "mountPath": "/dev/shm"} in deployed.container("triton")["volumeMounts"]
    gigabyte = {"1g": 2**30, "1Gi": 2**30}
    assert min(gigabyte[triton["shm_size"]], gigabyte[shm["sizeLimit"]]) >= SHM_LEAST_BYTES


def servers(file):
    """The addresses in an upstream block."""
    return set(re.findall(r"(?m)^\s*server (\S+) max_fails=1 fail_timeout=2s;$", file.read_text()))


def test_gateways_ask_triton_where_it_listens():
    for where, flags in TRITONS.items():
        address = ENVIRONMENTS[where.split()[0]]["OCR_TRITON_ADDRESSES"]
        assert address.rpartition(":")[2] == flags["grpc-port"]
    assert ENVIRONMENTS["compose"]["OCR_TRITON_ADDRESSES"] == ENVIRONMENTS["kubernetes"]["OCR_TRITON_ADDRESSES"]
    assert deployed.base("Service", "triton")["metadata"]["name"] == "triton"
    assert deployed.compose()["triton-gpu"]["networks"]["inference"]["aliases"] == ["triton"]


def test_ports_of_triton_are_those_that_are_asked():
    ports = {one["name"]: str(one["containerPort"]) for one in deployed.container("triton")["ports"]}
    for flags in TRITONS.values():
        assert ports == {name: flags[f"{name}-port"] for name in ("http", "grpc", "metrics")}
    assert deployed.compose()["triton-gpu"]["expose"] == list(ports.values())


def test_triton_serves_what_the_builder_writes():
    services = deployed.compose()
    for profile in ("gpu", "cpu"):
        builder = services[f"models-{profile}"]["command"]
        assert builder[builder.index("--out") + 1] == TRITONS[f"compose {profile}"]["model-repository"]
        assert services[f"triton-{profile}"]["volumes"] == [f"models-{profile}:/models:ro"]
    args = deployed.container("models", "Job")["args"]
    assert args[args.index("--out") + 1] == TRITONS["kubernetes gpu"]["model-repository"]
    assert f"--out {TRITONS['systemd']['model-repository']}`" in (deployed.SYSTEMD / "triton.service").read_text()


def test_the_layout_of_models_fits_the_machine():
    builders = {
        "gpu": deployed.compose()["models-gpu"]["command"],
        "cpu": deployed.compose()["models-cpu"]["command"],
        "kubernetes": deployed.container("models", "Job")["args"],
    }
    layouts = {where: command[command.index("--layout") + 1] for where, command in builders.items()}
    assert layouts == {"gpu": "per-shape", "cpu": "any", "kubernetes": "per-shape"}
    assert {where.split()[-1]: flags["model-config-name"] for where, flags in TRITONS.items()} == {
        "gpu": "gpu",
        "cpu": "cpu",
        "systemd": "gpu",
    }


def test_compose_keeps_what_nginx_keeps():
    """The upstream block is nginx's own but for the addresses."""

    def block(file):
        lines = (line.strip() for line in file.read_text().splitlines())
        return [line for line in lines if line and not line.startswith(("#", "server "))]

    assert block(deployed.DEPLOY / "compose" / "gateways.conf") == block(NGINX / "gateways.conf")
