"""What the machine gives a process: control groups of both versions, its own limits, its scheduler's job."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tensorframe.backends import control_groups, host_memory
from tensorframe.backends.control_groups import Group, groups

ROOT = Path(__file__).parents[2]
GIB = 1 << 30

NO_LIMIT = 0x7FFFFFFFFFFFF000
MOUNT_ONE = "35 31 0:32 {seen} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory"
MOUNT_TWO = "41 31 0:38 {seen} {point} rw,relatime - cgroup2 cgroup2 rw,nsdelegate"


def tree(tmp_path, files):
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(content))
    return str(tmp_path)


def two(folder, limit, used, stat="", high=None):
    files = {f"{folder}/memory.max": limit, f"{folder}/memory.current": used}
    files[f"{folder}/memory.stat"] = stat
    return files if high is None else {**files, f"{folder}/memory.high": high}


def one(folder, limit, used, stat=""):
    return {
        f"{folder}/memory.limit_in_bytes": limit,
        f"{folder}/memory.usage_in_bytes": used,
        f"{folder}/memory.stat": stat,
    }


TWO = "sys/fs/cgroup"
ONE = "sys/fs/cgroup/memory"


def test_nested_groups_of_version_2_all_have_a_say(tmp_path):
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "0::/user.slice/app.scope\n",
            "proc/self/mountinfo": MOUNT_TWO.format(seen="/", point="/sys/fs/cgroup"),
            **two(f"{TWO}/user.slice/app.scope", "max", 100),
            **two(f"{TWO}/user.slice", 3000, 1000, "inactive_file 200\nactive_file 100\n"),
            **two(TWO, 9000, 2000),
        },
    )
    assert groups(root) == [Group(3000, 700), Group(9000, 2000)]
    assert host_memory.available(root) == 2300
    assert host_memory.total(root) == 3000


def test_a_group_that_is_slowed_down_has_its_limit_there(tmp_path):
    root = tree(tmp_path, {"proc/self/cgroup": "0::/\n", **two(TWO, 9000, 2000, high=4000)})
    assert groups(root) == [Group(4000, 2000)]


def test_pages_that_have_to_be_written_first_are_in_use(tmp_path):
    stat = "inactive_file 500\nactive_file 300\nfile_dirty 600\nfile_writeback 100\n"
    root = tree(tmp_path, {"proc/self/cgroup": "0::/\n", **two(TWO, 9000, 2000, stat)})
    assert groups(root) == [Group(9000, 1900)]


def test_nested_groups_of_version_1(tmp_path):
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "5:devices:/\n4:cpu,memory:/slurm/job_7\n0::/\n",
            "proc/self/mountinfo": MOUNT_ONE.format(seen="/"),
            **one(f"{ONE}/slurm/job_7", NO_LIMIT, 100),
            **one(f"{ONE}/slurm", 5000, 4000, "total_inactive_file 300\ntotal_active_file 0\n"),
            **one(ONE, NO_LIMIT, 90_000),
        },
    )
    assert groups(root) == [Group(5000, 3700)]


def test_limits_of_groups_further_out_than_a_container_sees(tmp_path):
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/docker/ab\n",
            "proc/self/mountinfo": MOUNT_ONE.format(seen="/docker/ab"),
            **one(ONE, NO_LIMIT, 100, "hierarchical_memory_limit 4000\n"),
        },
    )
    assert groups(root) == [Group(4000, 100)]


def test_version_2_beside_version_1_is_found_where_it_is_mounted(tmp_path):
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/\n0::/job\n",
            "proc/self/mountinfo": MOUNT_ONE.format(seen="/")
            + "\n"
            + MOUNT_TWO.format(seen="/", point="/mnt/unified"),
            **one(ONE, 8000, 1000),
            **two("mnt/unified/job", 3000, 500),
        },
    )
    assert groups(root) == [Group(8000, 1000), Group(3000, 500)]


@pytest.mark.parametrize("path", ["/../../other", "/gone/for/good"])
def test_a_group_that_is_not_seen_leaves_those_around_it(tmp_path, path):
    root = tree(tmp_path, {"proc/self/cgroup": f"0::{path}\n", **two(TWO, 7000, 1000)})
    assert groups(root) == [Group(7000, 1000)]


@pytest.mark.parametrize("said", ["", "nonsense", "0", "0::\n\n:::", "x:memory"])
def test_what_makes_no_sense_is_no_limit(tmp_path, said):
    root = tree(tmp_path, {"proc/self/cgroup": said, f"{TWO}/memory.max": "many"})
    assert groups(root) == []


def test_statistics_are_read_of_groups_with_limits_and_mounts_once(tmp_path, monkeypatch):
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/a/b\n",
            "proc/self/mountinfo": MOUNT_ONE.format(seen="/"),
            **one(f"{ONE}/a/b", NO_LIMIT, 100),
            **one(f"{ONE}/a", 3000, 500),
            **one(ONE, NO_LIMIT, 900, "hierarchical_memory_limit 9000\n"),
        },
    )
    read = []

    def noted(path):
        read.append(path.removeprefix(f"{root}/"))
        return Path(path).read_text()

    monkeypatch.setattr(control_groups, "text", noted)
    assert groups(root) == [Group(3000, 500), Group(9000, 900)]
    assert read.count("proc/self/mountinfo") == 1
    read.clear()
    assert groups(root) == [Group(3000, 500), Group(9000, 900)]
    assert read == [
        "proc/self/cgroup",
        f"{ONE}/a/b/memory.limit_in_bytes",
        f"{ONE}/a/memory.limit_in_bytes",
        f"{ONE}/a/memory.stat",
        f"{ONE}/a/memory.usage_in_bytes",
        f"{ONE}/memory.limit_in_bytes",
        f"{ONE}/memory.stat",
        f"{ONE}/memory.usage_in_bytes",
    ]


def test_without_such_files_there_are_no_groups(tmp_path):
    assert groups(str(tmp_path)) == []


def test_more_than_the_limit_leaves_nothing(tmp_path):
    root = tree(tmp_path, {"proc/self/cgroup": "0::/\n", **two(TWO, 1000, 1500)})
    assert host_memory.available(root) == 0


def test_the_machine_says_what_is_free(tmp_path):
    root = tree(tmp_path, {"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:   7 kB\n"})
    assert next(iter(host_memory.shares(root, {}))).left == 7 << 10


JOBS = [
    ({"SLURM_MEM_PER_NODE": "4096"}, 4 * GIB),
    ({"SLURM_MEM_PER_NODE": "0"}, None),
    ({"SLURM_MEM_PER_CPU": "1024", "SLURM_CPUS_ON_NODE": "6"}, 6 * GIB),
    ({"SLURM_MEM_PER_CPU": "1024"}, GIB),
    ({"SLURM_MEM_PER_GPU": "2048", "SLURM_GPUS_ON_NODE": "2"}, 4 * GIB),
    ({"SGE_HGR_m_mem_free": "1.5G", "NSLOTS": "2"}, 3 * GIB),
    ({"SGE_HGR_h_vmem": "512M"}, GIB // 2),
    ({"SLURM_MEM_PER_NODE": "lots"}, None),
    ({"SGE_HGR_h_vmem": "-1G"}, None),
    ({}, None),
]


@pytest.mark.parametrize(("environ", "expected"), JOBS)
def test_a_scheduler_tells_what_the_job_has(tmp_path, environ, expected):
    tree(tmp_path, {"proc/self/statm": "50 30 10 5 0 20 0"})
    page = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
    found = [share for share in host_memory.shares(str(tmp_path), environ) if "job" in share.giver]
    left = [] if expected is None else [expected - 20 * page]
    assert [share.total for share in found] == ([] if expected is None else [expected])
    assert [share.left for share in found] == left


LIMITED = """
import resource, sys
limit = getattr(resource, sys.argv[1])
resource.setrlimit(limit, (3 << 30, resource.getrlimit(limit)[1]))
from tensorframe.backends import control_groups, host_memory
total, left = host_memory.total_and_available()
assert total == 3 << 30, total
assert (2 << 30) < left < (3 << 30), left
held = bytearray(200 << 20)
assert left - host_memory.available() > 190 << 20
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells what counts towards a limit")
@pytest.mark.parametrize("name", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_limits_of_the_process_are_known_as_is_what_counts_towards_them(name):
    subprocess.run(
        [sys.executable, "-c", LIMITED, name],
        env=os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "2"},
        check=True,
        timeout=120,
    )


def test_this_process_has_memory_to_itself():
    if sys.platform != "linux":
        pytest.skip("other systems do not tell")
    before = host_memory.own()
    held = bytearray(64 << 20)
    assert host_memory.own() - before >= len(held) * 0.99
