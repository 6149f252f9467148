# SPDX-License-Identifier: Apache-2.0
"""A strict reader of OpenMetrics 1.0 text, as far as gauges and counters go; after the specification, not after what the
runtime writes."""

import re

NAME = r'[a-zA-Z_:][a-zA-Z0-9_:]*'
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf'({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?[0-9.]+(?:e[+-]?[0-9]+)?|NaN|[+-]Inf)$')
SUFFIX = {'gauge': '', 'counter': '_total'}


def read(text):
    """{family: [(labels, value)]}; None: it breaks a rule."""
    if not text.endswith('# EOF\n') or text.count('# EOF') != 1:
        return None
    families, kind, seen, name = {}, {}, set(), None
    for line in text[:-len('# EOF\n')].splitlines():
        words = line.split(' ', 3)
        if line.startswith('# '):
            if len(words) < 4 or words[1] not in ('TYPE', 'UNIT', 'HELP') or not re.fullmatch(NAME, words[2]):
                return None
            if words[2] != name:  # a family begins, once, and in one piece
                if words[2] in families:
                    return None
                name = words[2]
                families[name] = []
            if (name, words[1]) in seen or families[name]:
                return None
            seen.add((name, words[1]))
            if words[1] == 'TYPE':
                kind[name] = words[3]
            if words[1] == 'UNIT' and not name.endswith('_' + words[3]):
                return None
            continue
        match = SAMPLE.match(line)
        if not match or name is None or kind.get(name) not in SUFFIX or match[1] != name + SUFFIX[kind[name]]:
            return None
        if (match[1], match[2]) in seen:
            return None
        seen.add((match[1], match[2]))
        families[name].append((match[2], match[3]))
    return families
