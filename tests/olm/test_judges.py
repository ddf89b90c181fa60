"""What opm and operator-verify say of the bundle and the catalog; both are built here where nobody has done so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from olmbundle.catalog import PATH, Entry, catalog
from olmbundle.errors import BundleError
from olmbundle.files import write
from olmbundle.judges import judge_bundle, judge_catalog
from olmbundle.release import ROOT

pytestmark = pytest.mark.slow


def test_opm_accepts_the_catalog_that_is_checked_in() -> None:
    judge_catalog(ROOT / "catalog", print)


@pytest.mark.parametrize("inline", [True, False])
def test_opm_accepts_the_upgrade(last: Entry, following: Entry, inline: bool, tmp_path: Path) -> None:
    write({PATH: catalog([last, following], inline=inline)}, tmp_path)
    judge_catalog(tmp_path / "catalog", print)


def test_opm_sees_an_edge_from_nowhere(following: Entry, tmp_path: Path) -> None:
    write({PATH: catalog([following, following], inline=True)}, tmp_path)
    with pytest.raises(BundleError, match=r"opm validate:\n.*duplicate"):
        judge_catalog(tmp_path / "catalog", print)


def test_operator_verify_accepts_the_bundle_that_is_checked_in() -> None:
    print(judge_bundle(ROOT / "bundle", print))


def test_operator_verify_is_heard_though_it_exits_with_0(tmp_path: Path) -> None:
    bundle = shutil.copytree(ROOT / "bundle", tmp_path / "bundle")
    (bundle / "manifests" / "aiops.example.com_aitasks.yaml").unlink()
    with pytest.raises(BundleError, match=r"level=error.*AITask.* not found in bundle"):
        judge_bundle(bundle, print)


def test_neither_sees_what_hangs_an_install(following: Entry, tmp_path: Path) -> None:
    """Why `make bundle` refuses the guard itself."""
    guard = list(yaml.safe_load_all((ROOT / "config" / "guard" / "aitask-guard.yaml").read_text()))
    files = {**following.files, **{f"bundle/manifests/{one['kind']}.yaml": yaml.safe_dump(one) for one in guard}}
    write({**files, PATH: catalog([Entry(following.release, files)], inline=True)}, tmp_path)
    judge_catalog(tmp_path / "catalog", print)
    judge_bundle(tmp_path / "bundle", print)
