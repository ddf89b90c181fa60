"""The bundle and the catalog: what is checked in is what config/ says, and what OLM cannot install is refused."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from olmbundle import cli, make, previous
from olmbundle.catalog import PATH, Entry, catalog
from olmbundle.errors import BundleError
from olmbundle.files import bundle, differences, parsed, rendered, write
from olmbundle.kinds import check
from olmbundle.previous import UnreachableError, unpack
from olmbundle.release import ROOT, Release, present, present_version, previous_commit, previous_version
from olmbundle.rights import strategy_permissions

Object = dict[str, Any]


@pytest.fixture(scope="module")
def kubectl() -> Path:
    return make.kubectl()


@pytest.fixture(scope="module")
def entry() -> Entry:
    return make.present_entry()


@pytest.fixture(scope="module")
def service_version(entry: Entry) -> Object:
    found = parsed(entry.files)[0]
    assert found["kind"] == "ClusterServiceVersion"
    return found


@pytest.fixture(scope="module")
def default(kubectl: Path) -> Sequence[Any]:
    return rendered(kubectl, ROOT / "config" / "default")


@pytest.fixture(scope="module")
def last_release() -> Iterator[Entry]:
    try:
        yield make.previous_entry()
    except UnreachableError as error:
        pytest.skip(str(error))


# --- what is checked in ---


def test_the_bundle_is_what_config_says(entry: Entry) -> None:
    assert differences(entry.files, ROOT) == [], "run `make bundle`"


def test_the_catalog_is_what_the_releases_say() -> None:
    assert differences(make.catalog_files(), ROOT) == [], "run `make catalog`"


def test_a_file_that_was_edited_or_added_or_is_gone_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bundle", "--directory", str(tmp_path)]) == 0
    assert cli.main(["bundle", "--check", "--directory", str(tmp_path)]) == 0
    manifests = tmp_path / "bundle" / "manifests"
    (manifests / "more.yaml").touch()
    (manifests / "aiops.example.com_aitasks.yaml").unlink()
    (tmp_path / "bundle.Dockerfile").write_text("FROM scratch\n")
    capsys.readouterr()
    assert cli.main(["bundle", "--check", "--directory", str(tmp_path)]) == 1
    said = capsys.readouterr().err.split()
    assert {
        "bundle/manifests/more.yaml",
        "bundle/manifests/aiops.example.com_aitasks.yaml",
        "bundle.Dockerfile",
    } <= set(said)
    assert cli.main(["bundle", "--directory", str(tmp_path)]) == 0
    assert not (manifests / "more.yaml").exists()


def test_packages_of_others_in_the_same_catalog_stay(tmp_path: Path) -> None:
    other, stale = tmp_path / "catalog" / "other" / "catalog.yaml", tmp_path / PATH.replace("catalog.yaml", "old.yaml")
    for path in (other, stale):
        path.parent.mkdir(parents=True)
        path.touch()
    assert differences({PATH: "text"}, tmp_path) == sorted([PATH, str(stale.relative_to(tmp_path))])
    write({PATH: "text"}, tmp_path)
    assert (other.exists(), stale.exists()) == (True, False)


# --- what the bundle says ---


def rights(rules: Sequence[Any]) -> set[tuple[str, str, str, str]]:
    return {
        (group, resource, verb, name)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }


def test_the_rights_are_those_of_kustomize(service_version: Object, default: Sequence[Any]) -> None:
    """Read from the roles here, not from what the generator makes of them."""
    strategy = service_version["spec"]["install"]["spec"]
    for field, binding, kind in (
        ("clusterPermissions", "ClusterRoleBinding", "ClusterRole"),
        ("permissions", "RoleBinding", "Role"),
    ):
        bound = {one["roleRef"]["name"] for one in default if one["kind"] == binding}
        rules = [
            rule for one in default if one["kind"] == kind and one["metadata"]["name"] in bound for rule in one["rules"]
        ]
        [granted] = strategy[field]
        assert granted["serviceAccountName"] == "aitask-operator-controller-manager"
        assert rights(granted["rules"]) == rights(rules)
        assert len(rights(rules)) > 5


def test_the_deployment_is_that_of_kustomize_but_for_namespaces_and_image(
    service_version: Object, default: Sequence[Any]
) -> None:
    [made] = service_version["spec"]["install"]["spec"]["deployments"]
    [plain] = [one for one in default if one["kind"] == "Deployment"]
    wanted, found = copy.deepcopy(plain["spec"]), copy.deepcopy(made["spec"])
    for spec in (wanted, found):
        [container] = spec["template"]["spec"]["containers"]
        del spec["template"]["metadata"]["labels"]["app.kubernetes.io/managed-by"]
        [watched] = [one for one in container["env"] if one["name"] == "WATCH_NAMESPACE"]
        container["env"].remove(watched)
        container.pop("image")
    assert watched["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.annotations['olm.targetNamespaces']"
    assert found == wanted


def test_versions_images_and_channels_follow_the_one_version(entry: Entry, service_version: Object) -> None:
    version = present_version()
    spec = service_version["spec"]
    assert service_version["metadata"]["name"] == f"aitask-operator.v{version}"
    assert spec["version"] == version
    image = f"example.com/aitask-operator:{version}"
    [container] = spec["install"]["spec"]["deployments"][0]["spec"]["template"]["spec"]["containers"]
    assert {container["image"], service_version["metadata"]["annotations"]["containerImage"]} == {image}
    assert spec["relatedImages"] == [{"name": "manager", "image": image}]
    before = previous_version()
    assert spec.get("replaces") == (None if before == version else f"aitask-operator.v{before}")
    labels = yaml.safe_load(entry.files["bundle/metadata/annotations.yaml"])["annotations"]
    assert labels["operators.operatorframework.io.bundle.channels.v1"] == f"alpha,{entry.release.minor_channel}"
    for name, value in labels.items():
        assert f"LABEL {name}={value}\n" in entry.files["bundle.Dockerfile"]


def test_examples_are_the_samples_and_the_guard_is_named(service_version: Object) -> None:
    examples = json.loads(service_version["metadata"]["annotations"]["alm-examples"])
    assert {one["kind"] for one in examples} == {"AITask", "AITaskBackup", "AITaskRestore"}
    assert {"targetDeployment": "worker", "threshold": 90, "action": "scale-up"} in [one["spec"] for one in examples]
    text = service_version["spec"]["description"]
    assert "kubectl apply --server-side -k config/guard" in text
    assert "create configmap aitask-ledger" in text


def test_an_image_by_digest_is_named_everywhere(kubectl: Path) -> None:
    image = "registry.example.com/aitask-operator@sha256:" + "0" * 64
    found = parsed(bundle(ROOT, kubectl, Release("1.2.3", image)))[0]
    assert json.dumps(found).count(image) == 3
    assert "example.com/aitask-operator:" not in json.dumps(found)


# --- what is refused ---


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The sources that a bundle is made of, for changing."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    return tmp_path


def also(tree: Path, resource: str) -> None:
    path = tree / "config" / "manifests" / "kustomization.yaml"
    path.write_text(path.read_text().replace("  - ../crd\n", f"  - ../crd\n  - {resource}\n"))


def test_the_guard_in_a_bundle_is_refused_with_the_cure(tree: Path, kubectl: Path) -> None:
    also(tree, "../guard")
    with pytest.raises(BundleError) as fault:
        bundle(tree, kubectl, Release("1.0.0"))
    for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"):
        assert f"{kind} aitask-guard.aiops.example.com (admissionregistration.k8s.io/v1): OLM cannot" in str(
            fault.value
        )
    assert "leave it out of config/manifests/kustomization.yaml" in str(fault.value)
    assert "kubectl line in the description" in str(fault.value)


def test_what_olm_would_empty_with_each_upgrade_is_refused(tree: Path, kubectl: Path) -> None:
    path = tree / "config" / "manifests" / "kustomization.yaml"
    text = path.read_text()
    cut = "  - target:\n      kind: ConfigMap\n"
    before, _, after = text.partition(cut)
    path.write_text(before + after[after.index("  # The namespaces of") :])
    with pytest.raises(BundleError, match=r"ConfigMap aitask-operator-config: OLM writes over it with each upgrade"):
        bundle(tree, kubectl, Release("1.0.0"))


@pytest.mark.parametrize(
    ("api_version", "kind", "cure"),
    [
        ("v1", "Namespace", "suggested-namespace"),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "leave it out"),
        ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", "leave it out"),
        ("monitoring.coreos.com/v1", "PodMonitor", "leave it out"),
        ("batch/v1", "CronJob", "leave it out"),
        ("example.com/v1", "Service", "leave it out"),
        ("v1", "Secret", "writes over it"),
    ],
)
def test_a_kind_that_olm_does_not_know_is_refused(api_version: str, kind: str, cure: str) -> None:
    with pytest.raises(BundleError, match=rf"^{kind} one.*{cure}"):
        check([{"apiVersion": api_version, "kind": kind, "metadata": {"name": "one"}}])


def test_what_olm_installs_is_let_through() -> None:
    check(
        {"apiVersion": api_version, "kind": kind, "metadata": {"name": "one"}}
        for api_version, kind in (("v1", "Service"), ("policy/v1", "PodDisruptionBudget"), ("apps/v1", "Deployment"))
    )


def test_a_descriptor_of_a_field_that_is_not_there_is_refused(tree: Path, kubectl: Path) -> None:
    base = tree / "config" / "manifests" / "bases" / "aitask-operator.clusterserviceversion.yaml"
    base.write_text(base.read_text().replace("path: policy.cooldownSeconds", "path: policy.coolDownSeconds"))
    with pytest.raises(BundleError, match=r"aitasks\.aiops\.example\.com: .* spec\.policy\.coolDownSeconds"):
        bundle(tree, kubectl, Release("1.0.0"))


def test_a_definition_that_nobody_describes_is_refused(tree: Path, kubectl: Path) -> None:
    definition = yaml.safe_load((tree / "config" / "crd" / "bases" / "aiops.example.com_aitasks.yaml").read_text())
    definition["metadata"]["name"] = "others.aiops.example.com"
    (tree / "config" / "manifests" / "other.yaml").write_text(yaml.safe_dump(definition))
    also(tree, "other.yaml")
    with pytest.raises(BundleError, match=r"config/crd differ in others\.aiops\.example\.com; mend the base"):
        bundle(tree, kubectl, Release("1.0.0"))


def binding(**changes: Any) -> Object:
    role = {"kind": "ClusterRole", "name": "r"}
    subjects = [{"kind": "ServiceAccount", "name": "a"}]
    return {"kind": "ClusterRoleBinding", "metadata": {"name": "b"}, "roleRef": role, "subjects": subjects, **changes}


@pytest.mark.parametrize(
    ("changes", "cure"),
    [
        ({"subjects": [{"kind": "Group", "name": "all"}]}, "give it that one subject"),
        ({"roleRef": {"kind": "ClusterRole", "name": "edit"}}, "add the role"),
    ],
)
def test_a_binding_that_olm_could_not_make_is_refused(changes: Object, cure: str) -> None:
    role = {"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": []}
    with pytest.raises(BundleError, match=rf"^ClusterRoleBinding b: .*{cure}"):
        strategy_permissions([role, binding(**changes)])


# --- the catalog ---


def blobs(text: str) -> list[Object]:
    return list(yaml.safe_load_all(text))


def test_the_catalog_leads_from_the_last_release_to_the_next(entry: Entry, last_release: Entry) -> None:
    release = Release("0.9.0", replaces=last_release.release.version, bundle="registry.example.com/ours@sha256:0f")
    following = Entry(release, entry.files)
    found = blobs(catalog([last_release, following], inline=False))
    channels = {one["name"]: one["entries"] for one in found if one["schema"] == "olm.channel"}
    before = f"aitask-operator.v{last_release.release.version}"
    upgrade = {"name": "aitask-operator.v0.9.0", "replaces": before}
    assert channels == {
        "alpha": [{"name": before}, upgrade],
        last_release.release.minor_channel: [{"name": before}],
        "v0.9": [upgrade],
    }
    images = [one["image"] for one in found if one["schema"] == "olm.bundle"]
    assert images == [f"example.com/aitask-operator-bundle:{previous_version()}", "registry.example.com/ours@sha256:0f"]


@pytest.fixture
def third(tmp_path: Path) -> Path:
    """A work tree after the release of the present one, which is in releases/previous."""
    for part in ("config", "releases", "catalog"):
        shutil.copytree(ROOT / part, tmp_path / part)
    (tmp_path / "releases/previous/version").write_text(present_version())
    package = tmp_path / "src" / "ansible_operator"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "0.99.0"\n')
    return tmp_path


def test_a_further_release_keeps_the_edges_and_bundles_of_those_before(third: Path) -> None:
    before, found = blobs((ROOT / PATH).read_text()), blobs(make.catalog_files(third, third)[PATH])
    old, new = ({one["name"]: one["entries"] for one in all_ if "entries" in one} for all_ in (before, found))
    edge = {"name": "aitask-operator.v0.99.0", "replaces": f"aitask-operator.v{present_version()}"}
    assert len(old["alpha"]) > 1
    assert new == {**old, "alpha": [*old["alpha"], edge], "v0.99": [edge]}
    *kept, added = [one for one in found if one["schema"] == "olm.bundle"]
    assert kept == [one for one in before if one["schema"] == "olm.bundle"]
    assert added["name"] == edge["name"]


def test_a_catalog_of_ones_own_names_real_images_alone_and_grows(third: Path, tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    version = third / "src/ansible_operator/__init__.py"
    for minor in (2, 3):
        (third / "releases/previous/version").write_text(f"0.{minor - 1}.0\n")
        version.write_text(f'__version__ = "0.{minor}.0"\n')
        images = {"image": f"r.example/operator:{minor}", "bundle_image": f"r.example/bundle:{minor}"}
        write(make.catalog_files(third, ours, **images), ours)
    text = (ours / PATH).read_text()
    assert [one["image"] for one in blobs(text) if one["schema"] == "olm.bundle"] == [
        "r.example/bundle:2",
        "r.example/bundle:3",
    ]
    assert "example.com/aitask-operator:" not in text
    assert "example.com/aitask-operator-bundle" not in text
    related = next(one["relatedImages"] for one in blobs(text) if one["schema"] == "olm.bundle")
    assert [one["image"] for one in related] == ["r.example/operator:2", "r.example/bundle:2"]


def test_inline_bundles_hold_their_manifests_and_need_no_image(entry: Entry) -> None:
    found = blobs(catalog([entry], inline=True))
    [bundle_blob] = [one for one in found if one["schema"] == "olm.bundle"]
    assert bundle_blob["image"] == ""
    kinds = [one["type"] for one in bundle_blob["properties"]]
    assert kinds.count("olm.bundle.object") == len(parsed(entry.files))
    assert kinds.count("olm.gvk") == 3


def test_a_shallow_clone_fetches_the_commit_of_the_last_release(tmp_path: Path, last_release: Entry) -> None:
    clone = tmp_path / "clone"
    command = ["git", "clone", "--quiet", "--depth=1", "--no-checkout", f"file://{ROOT}", str(clone)]
    subprocess.run(command, check=True, capture_output=True)
    missing = subprocess.run(
        ["git", "-C", clone, "cat-file", "-e", previous_commit()], capture_output=True, check=False
    )
    assert missing.returncode != 0
    unpack(clone, previous_commit(), ["config/crd"], tmp_path / "source")
    assert (tmp_path / "source" / "config" / "crd" / "kustomization.yaml").is_file()


def test_a_commit_that_is_nowhere_is_told(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "releases", tmp_path / "releases")
    with pytest.raises(UnreachableError, match=r"commit [0-9a-f]{40} of releases/previous is not in this clone"):
        make.previous_entry(tmp_path)


def test_git_that_would_ask_or_never_ends_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A git of the PATH that tells how it was called, and then reads what nobody writes, or sleeps."""
    git = tmp_path / "git"
    git.write_text('#!/bin/sh\nenv >"$0.env"\nread answer || exec sleep 60\n')
    git.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(previous, "_SECONDS", 1.0)
    with pytest.raises(UnreachableError, match=r"git cat-file had not ended after 1 s"):
        unpack(tmp_path, "0" * 40, ["config"], tmp_path / "source")
    assert "GIT_TERMINAL_PROMPT=0" in (tmp_path / "git.env").read_text().splitlines()


def test_the_present_release_replaces_the_previous_one(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "releases", tmp_path / "releases")
    package = tmp_path / "src" / "ansible_operator"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "7.0.1"\n')
    assert present(tmp_path) == Release("7.0.1", replaces=previous_version())
    (package / "__init__.py").write_text(f'__version__ = "{previous_version()}"\n')
    assert present(tmp_path).replaces == ""
    (package / "__init__.py").write_text("version = 1\n")
    with pytest.raises(BundleError, match="__version__"):
        present(tmp_path)


# --- the release that is coming ---


def fields(schema: Object, path: str = "") -> set[str]:
    found = {path}
    for name, below in schema.get("properties", {}).items():
        found |= fields(below, f"{path}.{name}")
    return found | (fields(schema["items"], f"{path}[]") if isinstance(schema.get("items"), dict) else set())


def test_the_next_release_is_another_program_with_another_definition(tmp_path: Path) -> None:
    """Else an upgrade from one to the other would show nothing."""
    if not present().replaces:
        pytest.skip(f"the work tree has version {present_version()}, which is that of the last release")
    parts = ["src", "roles", "playbooks", "watches.yaml"]
    try:
        unpack(ROOT, previous_commit(), parts, tmp_path)
    except UnreachableError as error:
        pytest.skip(str(error))
    assert content(tmp_path, parts) != content(ROOT, parts)
    name = "aiops.example.com_aitasks.yaml"
    old, new = (
        yaml.safe_load((directory / name).read_text())
        for directory in (ROOT / "releases/previous/crd/bases", ROOT / "config/crd/bases")
    )
    had, has = (fields(one["spec"]["versions"][0]["schema"]["openAPIV3Schema"]) for one in (old, new))
    assert had < has, "the definition of the next release has no field that the last one lacks"


def content(root: Path, parts: Sequence[str]) -> dict[str, bytes]:
    """What an image has of it: without what runs leave there."""
    paths = (path for part in parts for path in ((root / part).rglob("*") if (root / part).is_dir() else [root / part]))
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in paths
        if path.is_file() and "__pycache__" not in path.parts and ".egg-info" not in str(path)
    }
