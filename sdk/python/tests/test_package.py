"""The package is built, installed where nothing else is, and imported; its reference can be made."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

SDK = Path(__file__).parents[1]
HERE = Path(sys.executable).parent


def test_the_wheel(tmp_path: Path) -> None:
    uv = HERE / "uv"
    build = [uv, "build", "--quiet", "--no-build-isolation", "--python", sys.executable, "--out-dir", tmp_path / "dist", SDK]
    subprocess.run(build, check=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    (source,) = (tmp_path / "dist").glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    assert "interlock/py.typed" in names
    assert "interlock/gen/policy/v1/policy_enforcer_service_pb2_grpc.pyi" in names
    assert [name for name in names if "test" in name] == ["interlock/testing.py"]
    with tarfile.open(source) as archive:
        assert any(name.endswith("interlock/gen/policy/v1/decision_pb2.py") for name in archive.getnames())
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([uv, "pip", "install", "--quiet", "--python", python, wheel], check=True)
    program = "import interlock, interlock.sync; from interlock.gen.policy.v1 import decision_pb2 as d; "
    program += "print(interlock.__version__, d.DECISION_ALLOW)"
    done = subprocess.run([python, "-I", "-c", program], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "0.1.0 1\n"


def test_the_reference(tmp_path: Path) -> None:
    modules = ["interlock", "interlock.sync", "interlock.patch", "interlock.errors", "interlock.types"]
    subprocess.run([HERE / "pdoc", "--output-directory", tmp_path, *modules], check=True, capture_output=True)
    assert "guard" in (tmp_path / "interlock.html").read_text()
