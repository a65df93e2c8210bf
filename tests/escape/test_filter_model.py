"""The compiled filter says, for every call, what the table (policy/syscalls.py) says: no more, no less.

The table is evaluated here in a few lines of Python, the filter by an interpreter of its byte code (bpf.py). Call
numbers are written down from the kernel's headers, not asked of the library that compiled the filter.
"""

from __future__ import annotations

import functools
import itertools
import random
import struct
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grille.policy import syscalls
from grille.pool import filters

from .bpf import ALLOW, AUDIT_ARCH, KILL_PROCESS, Call, Program

# asm/unistd_64.h
X86_64 = {
    "brk": 12,
    "close": 3,
    "exit_group": 231,
    "fstat": 5,
    "getdents64": 217,
    "mmap": 9,
    "mremap": 25,
    "munmap": 11,
    "openat": 257,
    "read": 0,
    "setitimer": 38,
    "write": 1,
}
# asm-generic/unistd.h
AARCH64 = {
    "brk": 214,
    "close": 57,
    "exit_group": 94,
    "fstat": 80,
    "getdents64": 61,
    "mmap": 222,
    "mremap": 216,
    "munmap": 215,
    "openat": 56,
    "read": 63,
    "setitimer": 103,
    "write": 64,
}
NUMBERS = {"x86_64": X86_64, "aarch64": AARCH64}
MACHINES = sorted(NUMBERS)

ALL_64 = 0xFFFF_FFFF_FFFF_FFFF


@functools.cache
def filter_for(machine: str) -> Program:
    """The product's filter, compiled for a machine that need not be this one."""
    return Program(filters.compiled(syscalls.allowed(machine), machine))


@functools.cache
def rules_of(machine: str) -> dict[int, list[syscalls.Rule]]:
    """The table by call number."""
    rules: dict[int, list[syscalls.Rule]] = {}
    for rule in syscalls.allowed(machine):
        rules.setdefault(NUMBERS[machine][rule.call], []).append(rule)
    return rules


def wanted(machine: str, call: Call) -> int:
    """What the table says."""
    if call.architecture != AUDIT_ARCH[machine]:
        return KILL_PROCESS
    for rule in rules_of(machine).get(call.number, []):
        if all(call.arguments[a.position] & a.mask == a.value for a in rule.arguments):
            return ALLOW
    return KILL_PROCESS


def agree(machine: str, call: Call) -> None:
    """Raises AssertionError where filter and table differ."""
    assert filter_for(machine).decide(call) == wanted(machine, call), call


def good_arguments(rule: syscalls.Rule) -> list[int]:
    """Arguments that the rule allows."""
    values = [5] * 6
    for argument in rule.arguments:
        values[argument.position] = argument.value
    return values


@pytest.mark.parametrize("machine", MACHINES)
def test_every_number_on_every_architecture(machine: str) -> None:
    """No number but the table's is allowed, in any calling convention, with arguments that suit any of its rules."""
    numbers = [
        *range(1024),
        *(0x4000_0000 | n for n in range(1024)),
        0x4000_0000,
        0xFFFF_FFFF,
        0x8000_0000,
        0x7FFF_FFFF,
    ]
    samples = [good_arguments(rule) for rule in syscalls.allowed(machine)] + [[0] * 6, [ALL_64] * 6]
    for number, architecture in itertools.product(numbers, AUDIT_ARCH.values()):
        for arguments in samples:
            agree(machine, Call(number, architecture, arguments))


@pytest.mark.parametrize("machine", MACHINES)
def test_the_table_is_all_that_is_allowed_here(machine: str) -> None:
    """Each call of the table is allowed with good arguments, on its own architecture and on no other."""
    for rule in syscalls.allowed(machine):
        number = NUMBERS[machine][rule.call]
        arguments = good_arguments(rule)
        for name, architecture in AUDIT_ARCH.items():
            action = filter_for(machine).decide(Call(number, architecture, arguments))
            assert action == (ALLOW if name == machine else KILL_PROCESS), (rule.call, name)


def boundary_values(argument: syscalls.Argument) -> Iterator[int]:
    """Values one bit away from the allowed one, and those that 32-bit comparisons would take for it."""
    for bit in range(64):
        yield argument.value ^ 1 << bit
    low = argument.value & 0xFFFF_FFFF
    for high in (1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF):
        yield low | high << 32
    yield from (0, 1, 2, ALL_64, 0xFFFF_FF9C, 0xFFFF_FFFF_FFFF_FF9C, 0x8000_0000, 0x7FFF_FFFF, 1 << 63)


@pytest.mark.parametrize("machine", MACHINES)
def test_each_condition_at_its_boundary(machine: str) -> None:
    """Each bit of each condition counts as the table says, in both halves of the register."""
    for rule in syscalls.allowed(machine):
        for argument in rule.arguments:
            for value in boundary_values(argument):
                arguments = good_arguments(rule)
                arguments[argument.position] = value
                agree(machine, Call(NUMBERS[machine][rule.call], AUDIT_ARCH[machine], arguments))


@pytest.mark.parametrize("machine", MACHINES)
def test_random_arguments(machine: str) -> None:
    """30,000 random calls, half of their arguments near what is allowed."""
    chance = random.Random(20_251_130)
    rules = syscalls.allowed(machine)
    for _ in range(30_000):
        rule = chance.choice(rules)
        arguments = good_arguments(rule)
        for position in range(6):
            roll = chance.random()
            if roll < 0.2:
                arguments[position] = chance.getrandbits(64)
            elif roll < 0.35:
                arguments[position] = chance.getrandbits(32)
            elif roll < 0.5:
                arguments[position] ^= 1 << chance.randrange(64)
        number = NUMBERS[machine][rule.call] if chance.random() < 0.9 else chance.getrandbits(32)
        agree(machine, Call(number, AUDIT_ARCH[machine], arguments, chance.getrandbits(64)))


registers = st.integers(0, ALL_64) | st.integers(0, 8) | st.sampled_from([1 << bit for bit in range(64)])


@settings(max_examples=300)
@given(
    machine=st.sampled_from(MACHINES),
    architecture=st.sampled_from(list(AUDIT_ARCH.values())) | st.integers(0, 0xFFFF_FFFF),
    number=st.sampled_from([*X86_64.values(), *AARCH64.values()]) | st.integers(0, 0xFFFF_FFFF),
    arguments=st.lists(registers, min_size=6, max_size=6),
)
def test_anything(machine: str, architecture: int, number: int, arguments: list[int]) -> None:
    """Whatever is asked, filter and table give the same answer."""
    agree(machine, Call(number, architecture, arguments))


@pytest.mark.parametrize("machine", MACHINES)
def test_only_two_answers(machine: str) -> None:
    """A call is allowed or kills the process: no errno to probe with, no trap, no tracer asked."""
    returned = {value for code, _, _, value in filter_for(machine).instructions if code == 6}
    assert returned == {ALLOW, KILL_PROCESS}


def test_the_interpreter_itself() -> None:
    """The interpreter takes each jump as linux/filter.h defines it: a wrong one would agree with a wrong filter."""

    def answer(*instructions: tuple[int, int, int, int], number: int = 7) -> int:
        code = b"".join(struct.pack("<HBBI", *i) for i in instructions)
        return Program(code).decide(Call(number, 1, [10, 20, 30, 40, 50, 1 << 63]))

    yes, no = (6, 0, 0, 1), (6, 0, 0, 0)
    number = (0x20, 0, 0, 0)
    assert answer(number, (0x15, 0, 1, 7), yes, no) == 1
    assert answer(number, (0x15, 1, 0, 7), yes, no) == 0
    assert answer(number, (0x25, 0, 1, 7), yes, no) == 0
    assert answer(number, (0x25, 0, 1, 6), yes, no) == 1
    assert answer(number, (0x35, 0, 1, 7), yes, no) == 1
    assert answer(number, (0x35, 0, 1, 8), yes, no) == 0
    assert answer(number, (0x45, 0, 1, 8), yes, no) == 0
    assert answer(number, (0x45, 0, 1, 2), yes, no) == 1
    assert answer(number, (0x54, 0, 0, 6), (0x15, 0, 1, 6), yes, no) == 1
    assert answer((0x05, 0, 0, 1), no, yes) == 1
    assert answer((0x20, 0, 0, 16), (0x15, 0, 1, 10), yes, no) == 1
    assert answer((0x20, 0, 0, 60), (0x15, 0, 1, 1 << 31), yes, no) == 1
    with pytest.raises(ValueError, match="unknown instructions"):
        answer((0x01, 0, 0, 0), yes)
    with pytest.raises(ValueError, match="kernel refuses"):
        answer((0x20, 0, 0, 2), yes)
