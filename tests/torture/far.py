# SPDX-License-Identifier: Apache-2.0
"""Runs drawn programs on several hosts, made of namespaces, whose cables may be bad (tests/rig)."""

import os
import pathlib
import sys
import time

import execute

sys.path.append(str(execute.HERE.parent / 'rig'))
import rig  # noqa: E402


class Far(execute.Build):
    """Each host gets as many nodes as the others, or one fewer."""

    def __init__(self, folder, work, hosts):
        super().__init__(folder, work)
        self.hosts = hosts

    def command(self, program, limit, shape=None):
        nodes, per_node = shape or (program.nodes, program.per_node)
        shares = [len(range(i, nodes, self.hosts.n)) * per_node for i in range(self.hosts.n)]
        hosts = ','.join(f'h{i}:{share}' for i, share in enumerate(shares, 1) if share)
        ckrun, *words = super().command(program, limit, shape)
        return [ckrun, '--launcher', 'hydra', '--hosts', hosts, *words]

    def start(self, command, folder, env, limit, kills=()):
        """Nodes that are killed while they start again are missed after CK_BOOT_TIMEOUT only."""
        env = {name: text for name, text in env.items() if name != 'TMPDIR'} | \
            {'HYDRA_LAUNCHER': 'rsh', 'HYDRA_LAUNCHER_EXEC': f'{self.hosts.folder}/agent', 'CK_BOOT_TIMEOUT': '10'}
        return super().start(self.hosts.enter(1, folder) + command, folder, env, limit, kills)

    def kill_nodes(self, job, folder, kills):
        """A launcher that loses a node before all have met has failed, and is not tried again."""
        n_pes = int(job.args[job.args.index('--ppn') - 1])
        while kills and job.poll() is None and len(list((folder / 'notes').iterdir())) < n_pes:
            time.sleep(0.005)
        super().kill_nodes(job, folder, kills)

    def node_of(self, job, folder, rank):
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                if pathlib.Path(f'/proc/{pid}/exe').readlink() == folder / 'x' and execute.has_rank(pid, rank):
                    return int(pid)
            except OSError:
                continue
        return None


def run(options, work):
    """work(build) on the hosts; returns its exit code."""
    if reason := rig.why_not() or options.link is not None and rig.link_missing(options.build):
        print(f'torture: skipped: {reason}')
        return 77

    def inside(folder):
        hosts = rig.drawn_rig(options.hosts, folder, options.link, options.build)
        notes = pathlib.Path(folder) / 'torture'
        notes.mkdir()
        return work(Far(options.build, notes, hosts), notes)
    return rig.run_inside(inside)
