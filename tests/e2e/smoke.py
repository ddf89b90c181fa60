"""What must work wherever the operator runs as a pod on a real node, however it was installed.

Each check takes the site and a namespace of its own, which it makes, and leaves the operator at work.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from tests.behaviour.scene import AITASK, POD
from tests.e2e.site import SECONDS, Site, acts
from tests.support.kinds import DEPLOYMENT
from tests.support.waiting import until

Check = Callable[[Site, str], None]
ACCOUNT = "system:serviceaccount:{0.namespace}:aitask-operator-controller-manager"


def main_job(site: Site, namespace: str) -> None:
    """A breach scales the Deployment, once, and its pods really run."""
    site.space(namespace)
    site.workload(namespace, replicas=1)
    site.task(namespace)
    site.running(namespace, "web", 2)
    site.evaluated(namespace)
    done = [act for act in acts(site.cluster.audit_log, ACCOUNT.format(site)) if act.target == f"{namespace}/web"]
    assert [act.replicas for act in done] == [2]
    assert done[0].pod == site.pod()


def metric_of_real_containers(site: Site, namespace: str) -> None:
    """Restarts that the kubelet counts are a metric."""
    site.space(namespace)
    site.workload(namespace, command=("/busybox", "sh", "-c", "sleep 5; exit 3"))
    spec = {"metric": {"type": "ContainerRestarts"}, "comparison": "GreaterThan", "threshold": 0, "action": "notify"}
    site.task(namespace, **spec)
    found = site.api.wait(
        AITASK, "t", namespace, lambda task: task.get("status", {}).get("breached"), "breach", SECONDS
    )
    assert float(found["status"]["observedValue"]) >= 1


def owned_workload(site: Site, namespace: str) -> None:
    """The task makes its Deployment, and takes it along, pods and all."""
    site.space(namespace)
    site.task(
        namespace, targetDeployment="shop", replicas=2, template=site.spec("shop", 2)["template"], action="notify"
    )
    made = site.running(namespace, "shop", 2)
    assert [owner["name"] for owner in made["metadata"]["ownerReferences"]] == ["t"]
    site.api.delete(AITASK, "t", namespace)
    site.api.wait_gone(AITASK, "t", namespace, SECONDS)
    site.api.wait_gone(DEPLOYMENT, "shop", namespace, SECONDS)
    until(lambda: not site.api.list(POD, namespace), "its pods are gone", SECONDS)


def deletion(site: Site, namespace: str) -> None:
    """A task that goes leaves what it has adopted."""
    site.space(namespace)
    site.workload(namespace)
    site.task(namespace)
    before = site.running(namespace, "web", 2)
    site.api.delete(AITASK, "t", namespace)
    site.api.wait_gone(AITASK, "t", namespace, SECONDS)
    after = site.running(namespace, "web", 2)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert len(site.api.list(POD, namespace)) == 2


def restart_of_the_pod(site: Site, namespace: str) -> None:
    """Another pod takes over where the status says that the first one was: what was done is not done again."""
    site.space(namespace)
    site.workload(namespace)
    site.task(namespace)
    site.running(namespace, "web", 2)
    old = site.pod()
    site.api.delete(POD, old, site.namespace)
    site.settled()
    assert site.pod() != old
    status = site.evaluated(namespace)
    assert status["lastAction"]["id"]
    assert [one.replicas for one in acts(site.cluster.audit_log, ACCOUNT.format(site)) if namespace in one.target] == [
        2
    ]


def restricted_profile(site: Site, namespace: str) -> None:
    """No rights, no root, nothing writable but the work volume."""
    said = site.execute(_LOOK)
    print(said)
    assert said.startswith("uid=1001(ansible) gid=0(root)")
    _is_restricted(said)


_LOOK = """
    id; grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status
    for place in / /opt/ansible /opt/ansible/.ansible /etc /usr /opt/venv /var/tmp /run /dev/shm /tmp; do
        if touch "$place/x" 2>/dev/null; then echo "writable $place"; rm -f "$place/x"; fi
    done
"""


def _is_restricted(said: str) -> None:
    assert set(re.findall(r"^Cap\w+:\s+(\w+)$", said, re.MULTILINE)) == {"0000000000000000"}
    assert re.search(r"^NoNewPrivs:\s+1$", said, re.MULTILINE)
    assert re.search(r"^Seccomp:\s+2$", said, re.MULTILINE)
    # /dev/shm is a volume of the kubelet's for each pod, in memory and within the pod's limit.
    assert set(re.findall(r"^writable (\S+)$", said, re.MULTILINE)) - {"/dev/shm"} == {"/tmp"}


def random_user(site: Site, namespace: str) -> None:
    """A user that nobody has heard of, as OpenShift gives it."""
    _set_security(site, {"runAsUser": 1000720000, "runAsGroup": 0})
    said = site.execute(_LOOK)
    print(said)
    assert said.startswith("uid=1000720000 gid=0(root)")
    _is_restricted(said)
    site.works(namespace)
    _set_security(site, {"runAsUser": None, "runAsGroup": None})


def _set_security(site: Site, context: dict[str, int | None]) -> None:
    change = {"spec": {"template": {"spec": {"securityContext": context}}}}
    site.api.patch(DEPLOYMENT, site.deployment, site.namespace, change)
    site.settled()


def sigterm(site: Site, namespace: str) -> None:
    """It ends well and at once, and the kubelet starts it again."""
    pod = site.pod()
    restarts = site.container(pod).get("restartCount", 0)
    site.execute("kill -TERM 1", pod)
    until(lambda: site.container(pod).get("restartCount", 0) > restarts, "the container was started again", SECONDS)
    assert site.container(pod)["lastState"]["terminated"]["exitCode"] == 0
    site.settled()
    site.works(namespace)


def greedy_process(site: Site, namespace: str) -> None:
    """What takes all memory of the pod, as a run might, is killed by the kernel, and the operator goes on.

    With cgroup v2 the kubelet lets the kernel kill the container as a whole, which is then started again.
    """
    pod = site.pod()
    restarts = site.container(pod).get("restartCount", 0)
    said = site.execute("exec python -c 'x = [bytearray(1 << 20) for _ in range(2000)]'", pod, check=False)
    assert "exit code 137" in said
    site.works(namespace)
    site.settled()
    if site.container(pod).get("restartCount", 0) > restarts:
        assert site.container(pod)["lastState"]["terminated"]["reason"] == "OOMKilled"


def out_of_memory(site: Site, namespace: str) -> None:
    """A release with too little memory is killed for it, and the kubelet says so; the old pod works on meanwhile."""
    old = site.pod()
    manifest = site.kubectl("-n", site.namespace, "get", "deployment", site.deployment, "-o", "json")
    [container] = json.loads(manifest)["spec"]["template"]["spec"]["containers"]
    _set_memory(site, {"requests": {"memory": "32Mi"}, "limits": {"memory": "32Mi"}})
    until(lambda: "OOMKilled" in [site.ended(pod["metadata"]["name"]) for pod in site.pods()], "it is killed", SECONDS)
    assert site.pod() == old
    site.works(namespace)
    _set_memory(site, {name: {"memory": container["resources"][name]["memory"]} for name in ("requests", "limits")})
    site.settled()


def _set_memory(site: Site, resources: dict[str, dict[str, str]]) -> None:
    change = {"spec": {"template": {"spec": {"containers": [{"name": "manager", "resources": resources}]}}}}
    site.kubectl("-n", site.namespace, "patch", "deployment", site.deployment, "--patch", json.dumps(change))


CHECKS: tuple[Check, ...] = (
    main_job,
    metric_of_real_containers,
    owned_workload,
    deletion,
    restricted_profile,
    sigterm,
    greedy_process,
    out_of_memory,
    restart_of_the_pod,
    random_user,
)


def name(check: Check) -> str:
    """For the id of a test, and of a namespace."""
    return check.__name__.replace("_", "-")
