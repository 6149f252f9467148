# SPDX-License-Identifier: Apache-2.0
"""keeper_calls.py: what a node, and whoever else calls, gets of the keeper of this host.

    keeper_calls.py note TEXT      what a node notes at its end
    keeper_calls.py calls          each of the calls below; one line each
    keeper_calls.py sealed         whether what leaves the host is encrypted

Part of a start of tests/launcher/again.sh: CK_IMAGES and CK_NOTES are set.
"""

import array
import os
import socket
import struct
import sys

INFO = struct.Struct('=QQQIIIxxxxQQQQ')
ASK = struct.Struct(f'=IIIIQ{INFO.size}s')
ANSWER = struct.Struct('=IIIxxxxQ400s')
HELLO, GET, READ, MIRROR = range(1, 5)


def connect(behind=''):
    name = os.environ['CK_IMAGES'][1:]
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(f'\0{name}{behind}')
    return s


def note(text):
    with connect('.notes') as s:
        s.send(f'{os.environ["CK_NOTES"].rpartition("/")[2]} {text}'.encode())


def ask(s, word, node=0, sequence=0, version=2):
    """(the answer's text, how many descriptors came); (None, 0): the connection has ended."""
    s.send(ASK.pack(version, word, node, 0, sequence, bytes(INFO.size)))
    data, control, _, _ = s.recvmsg(ANSWER.size, 256)
    fds = array.array('i')
    for _, _, part in control:
        fds.frombytes(part)
    for fd in fds:
        os.close(fd)
    if not data:
        return None, 0
    ok, _, _, _, why = ANSWER.unpack(data)
    return 'ok' if ok else why.rstrip(b'\0').decode(), len(fds)


def is_sealed():
    with connect() as s:
        s.send(ASK.pack(2, HELLO, 0, 0, 0, bytes(INFO.size)))
        return bool(ANSWER.unpack(s.recv(ANSWER.size))[2])


def is_dropped(s, data):
    s.send(data)
    s.settimeout(10)
    try:
        return s.recv(1000) == b''
    except ConnectionError:
        return True


def ports():
    """Those on which the keepers of this host listen."""
    inodes = set()
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/environ', encoding='utf-8', errors='replace') as file:
                if f'CK_KEEPER={os.environ["CK_IMAGES"][1:]} ' not in file.read():
                    continue
            for fd in os.listdir(f'/proc/{pid}/fd'):
                inodes.add(os.readlink(f'/proc/{pid}/fd/{fd}'))
        except OSError:
            pass
    found = set()
    for name in 'tcp', 'tcp6':
        with open(f'/proc/net/{name}', encoding='utf-8') as file:
            for line in file.readlines()[1:]:
                words = line.split()
                if words[3] == '0A' and f'socket:[{words[9]}]' in inodes:
                    found.add(int(words[1].rpartition(':')[2], 16))
    return found


def stranger(port, text):
    """Whether the keeper hangs up."""
    with socket.create_connection(('127.0.0.1', port)) as s:
        s.settimeout(10)
        if len(s.recv(56, socket.MSG_WAITALL)) != 56:
            return False
        s.sendall(text)
        try:
            return s.recv(1000) == b''
        except ConnectionError:
            return True


def calls():
    with connect() as s:
        print('node:', *ask(s, HELLO))
        print('image:', *ask(s, GET))
        print('mirror:', *ask(s, MIRROR, sequence=7))
        print('no node:', *ask(s, HELLO, node=1000))
        print('no word:', *ask(s, 99))
    with connect() as s:
        print('version:', *ask(s, HELLO, version=1))
    with connect() as s:
        print('rubbish:', is_dropped(s, b'rubbish'))
    with connect('.notes') as s:
        print('no note:', is_dropped(s, b'rubbish'))
    silent = [connect(), connect('.notes')]  # until the end: nobody waits for them
    for port in ports():
        print('stranger:', stranger(port, os.urandom(584)))
        silent.append(socket.create_connection(('127.0.0.1', port)))
    with connect() as s:
        print('again:', *ask(s, HELLO))


if sys.argv[1] == 'note':
    note(sys.argv[2])
elif sys.argv[1] == 'sealed':
    print('sealed:', is_sealed())
else:
    calls()
