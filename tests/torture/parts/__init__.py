# SPDX-License-Identifier: Apache-2.0
"""The kinds of parts of which programs are made. Each file has one."""
