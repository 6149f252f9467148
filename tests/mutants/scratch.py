# SPDX-License-Identifier: Apache-2.0
"""Copies of the tree in a folder of their own: the mutants are planted there.

`base` is built once, from what the tree's build folder has. Each worker has a copy of it, and after each mutant
every file that differs from the base's is copied again, so make rebuilds only what depends on the next one.
"""

import glob
import os
import re
import shutil
import subprocess

# Of the build folder: what takes long to make. Programs are linked anew where they are needed.
KEPT = re.compile(r'\.(o|d|a|h|so|pc)$|/bin/')


def copy_tree(top, to):
    def unwanted(folder, names):
        return [name for name in names
                if folder == top and (name == '.git' or re.match('build', name)) or name == '__pycache__']
    shutil.copytree(top, to, ignore=unwanted, symlinks=True)
    for build in 'build', 'build-address', 'build-thread':
        copy_build(f'{top}/{build}', f'{to}/{build}')


def copy_build(top, to):
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if KEPT.search(path) and name != 'chard.o' and not os.path.islink(path):
                place = to + path[len(top):]
                os.makedirs(os.path.dirname(place), exist_ok=True)
                shutil.copy2(path, place)


def forget_other_trees(folder):
    """What pkg-config is told names the tree in which it was made, so that scripts would use that one's library."""
    for path in glob.glob(f'{folder}/build*/chard-uninstalled.pc'):
        with open(path, encoding='utf-8') as file:
            if f'top={os.path.abspath(folder)}' not in file.read().splitlines():
                os.unlink(path)


def make(folder, targets, sanitizer='', jobs=2):
    """Builds; returns what went wrong, or ''."""
    forget_other_trees(folder)
    # A make above us must not share its jobs or options.
    env = {name: value for name, value in os.environ.items() if not name.startswith(('MAKE', 'MFLAGS'))}
    words = ['make', '-s', f'-j{jobs}', f'SANITIZE={sanitizer}', *targets]
    done = subprocess.run(words, cwd=folder, env=env, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.stdout if done.returncode else ''


def targets_of(case, build):
    """What make must build for a case: the files of the build folder that its command and environment name."""
    words = ' '.join([*case.command, *case.env.values()])
    found = set(re.findall(rf'(?<![\w./-]){build}/[\w./-]+', words))
    if re.search(rf'(?<![\w./-]){build}(?![\w./-])', words):  # a script that chooses programs itself
        found.add('tests')
    return found | {f'{build}/bin/ckrun'}


def entries(folder):
    with os.scandir(folder) as found:
        return {entry.name: entry for entry in found}


def is_same(a, b):
    one, other = a.stat(follow_symlinks=False), b.stat(follow_symlinks=False)
    return (one.st_mtime_ns, one.st_size, one.st_mode) == (other.st_mtime_ns, other.st_size, other.st_mode)


def remove(entry):
    if entry.is_dir(follow_symlinks=False):
        shutil.rmtree(entry.path)
    else:
        os.unlink(entry.path)


def restore(base, work):
    """Make `work` equal to `base` again."""
    wanted, there = entries(base), entries(work)
    for name, entry in there.items():
        if name not in wanted:
            remove(entry)
    for name, entry in wanted.items():
        path = f'{work}/{name}'
        if entry.is_dir(follow_symlinks=False):
            os.makedirs(path, exist_ok=True)
            restore(entry.path, path)
        elif name not in there or not is_same(entry, there[name]):
            if name in there:
                os.unlink(path)
            shutil.copy2(entry.path, path, follow_symlinks=False)
