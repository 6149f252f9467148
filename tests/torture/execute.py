# SPDX-License-Identifier: Apache-2.0
"""Translates, compiles and runs a program with what a build folder has."""

import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

import emit
import notes

STILL = 5 * 10**9     # ns: a program that has made a note since then does not hang
MOST = 300            # seconds

HERE = pathlib.Path(__file__).resolve().parent


def has_rank(pid, rank):
    return f'PMI_RANK={rank}'.encode() in pathlib.Path(f'/proc/{pid}/environ').read_bytes().split(b'\0')


class Build:
    def __init__(self, folder, work):
        self.here = HERE
        self.folder = pathlib.Path(folder).resolve()
        self.top = HERE.parent.parent if not (self.folder.parent / 'runtime/chare').is_dir() else self.folder.parent
        self.flags = ['-std=gnu11', '-w', f'-I{HERE}'] + [f'-I{self.top}/runtime/{d}' for d in ('chare', 'direct', 'scheduler')]
        self.note = work / 'note.o'
        subprocess.run(['cc', '-O1', *self.flags, '-c', HERE / 'note.c', '-o', self.note], check=True)

    def compile(self, program, folder):
        """Returns what is wrong, or None."""
        emit.write(program, folder)
        done = subprocess.run([self.folder / 'bin/ckci', 'x.ci'], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            return f'ckci: {done.stderr}'
        done = subprocess.run(['cc', program.optimize, *self.flags, '-I.', 'x.c', self.note, '-o', 'x', f'-L{self.folder}',
                               f'-Wl,-rpath,{self.folder}', '-lchard', '-lm'], cwd=folder, capture_output=True, text=True)
        return f'cc: {done.stderr}' if done.returncode else None

    def command(self, program, limit, shape=None):
        nodes, per_node = shape or (program.nodes, program.per_node)
        more = ['--replace', str(len(program.kills))] if program.kills else []
        return [str(self.folder / 'bin/ckrun'), *more, '-n', str(nodes * per_node), '--ppn', str(per_node), '--timeout', str(limit),
                './x']

    def node_of(self, job, folder, rank):
        """The process of a node, or None."""
        try:
            children = pathlib.Path(f'/proc/{job.pid}/task/{job.pid}/children').read_text().split()
            return next((int(pid) for pid in children if has_rank(pid, rank)), None)
        except OSError:
            return None

    def kill_nodes(self, job, folder, kills):
        for seconds, rank in kills:
            time.sleep(seconds)
            pid = self.node_of(job, folder, rank) if job.poll() is None else None
            if pid:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def start(self, command, folder, env, limit, kills=()):
        """Returns the exit code and what was said."""
        with subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors='replace') as job:
            killer = threading.Thread(target=self.kill_nodes, args=(job, folder, kills))
            killer.start()
            try:
                text, code = job.communicate(timeout=limit + 30)[0], job.returncode
            except subprocess.TimeoutExpired:
                job.kill()
                text, code = job.communicate()[0], 124
            killer.join()
        return code, text

    def run(self, program, folder, limit=60):
        told = folder / 'notes'
        shutil.rmtree(told, ignore_errors=True)
        told.mkdir()
        env = {k: v for k, v in os.environ.items() if not k.startswith('CK_')} | program.env | {'TORTURE_NOTES': str(told)}
        shutil.rmtree(folder / 'ck', ignore_errors=True)
        code, text = self.start(self.command(program, limit), folder, env, limit, program.kills)
        if code == 0 and program.again and (folder / 'ck/latest').exists():
            code, text = self.start(self.command(program, limit, program.again), folder, env | {'CK_RESTART': 'ck'}, limit)
        run = notes.Run(program, told, code, text)
        if program.kills and run.ended and 'the job is ended' in text:
            run.code = 0        # who is killed when it has finished is no longer replaced
        shutil.rmtree(told, ignore_errors=True)
        if code == 124 and run.all and time.monotonic_ns() - max(n.time for n in run.all) < STILL and limit < MOST:
            return self.run(program, folder, MOST)        # a busy machine: it was still going on
        return run
