# SPDX-License-Identifier: Apache-2.0
"""Translates, compiles and runs a program with what a build folder has."""

import os
import pathlib
import shutil
import subprocess
import time

import emit
import notes

STILL = 5 * 10**9     # ns: a program that has made a note since then does not hang
MOST = 300            # seconds

HERE = pathlib.Path(__file__).resolve().parent


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

    def command(self, program, limit):
        return [str(self.folder / 'bin/ckrun'), '-n', str(program.pes), '--ppn', str(program.per_node), '--timeout',
                str(limit), './x']

    def run(self, program, folder, limit=60):
        told = folder / 'notes'
        shutil.rmtree(told, ignore_errors=True)
        told.mkdir()
        env = {k: v for k, v in os.environ.items() if not k.startswith('CK_')} | program.env | {'TORTURE_NOTES': str(told)}
        try:
            done = subprocess.run(self.command(program, limit), cwd=folder, env=env, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors='replace', timeout=limit + 30)
            code, text = done.returncode, done.stdout
        except subprocess.TimeoutExpired as e:
            code, text = 124, (e.stdout or b'').decode(errors='replace')
        run = notes.Run(program, told, code, text)
        shutil.rmtree(told, ignore_errors=True)
        if code == 124 and run.all and time.monotonic_ns() - max(n.time for n in run.all) < STILL and limit < MOST:
            return self.run(program, folder, MOST)        # a busy machine: it was still going on
        return run
