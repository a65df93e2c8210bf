"""An interpreter for seccomp's classic BPF, independent of whoever compiled the program.

It knows the instructions that compilers of seccomp filters emit and refuses every other, so a program that it runs to
the end was understood in full. Semantics: linux/filter.h, seccomp(2).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

KILL_PROCESS: Final = 0x8000_0000
ALLOW: Final = 0x7FFF_0000

AUDIT_ARCH: Final = {"x86_64": 0xC000_003E, "i386": 0x4000_0003, "aarch64": 0xC000_00B7}
"""linux/audit.h"""

_LOAD_WORD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS: a word of struct seccomp_data
_JUMP: Final = 0x05  # BPF_JMP | BPF_JA
_JUMP_EQUAL: Final = 0x15
_JUMP_GREATER: Final = 0x25
_JUMP_GREATER_EQUAL: Final = 0x35
_JUMP_SET: Final = 0x45
_AND: Final = 0x54
_RETURN: Final = 0x06

_DATA: Final = struct.Struct("<IIQ6Q")  # nr, arch, instruction_pointer, args
_WORDS: Final = struct.Struct(f"<{_DATA.size // 4}I")
_INSTRUCTION: Final = struct.Struct("<HBBI")
_MOST: Final = 4096  # BPF_MAXINSNS


class Call(NamedTuple):
    """What the kernel shows a filter of a system call."""

    number: int
    """32 bits: what stands above in the register, the kernel cuts off before."""
    architecture: int
    arguments: Sequence[int]
    instruction_pointer: int = 0x7F00_0000_1000


class Program:
    """A compiled filter. Raises ValueError for an instruction that is not known here."""

    def __init__(self, code: bytes) -> None:
        self.instructions = list(_INSTRUCTION.iter_unpack(code))
        if not 0 < len(self.instructions) <= _MOST:
            raise ValueError("a program has 1 to 4096 instructions")
        known = {_LOAD_WORD, _JUMP, _JUMP_EQUAL, _JUMP_GREATER, _JUMP_GREATER_EQUAL, _JUMP_SET, _AND, _RETURN}
        unknown = {code for code, _, _, _ in self.instructions} - known
        if unknown:
            raise ValueError(f"unknown instructions {unknown}")
        if any(code == _LOAD_WORD and (at % 4 or at >= _DATA.size) for code, _, _, at in self.instructions):
            raise ValueError("a load that the kernel refuses")

    def decide(self, call: Call) -> int:
        """The action for a call. Raises IndexError when the program runs past its end or its data."""
        words = _WORDS.unpack(
            _DATA.pack(call.number, call.architecture, call.instruction_pointer, *call.arguments)
        )
        accumulator = at = 0
        while True:
            code, if_true, if_false, value = self.instructions[at]
            at += 1
            if code == _LOAD_WORD:
                accumulator = words[value // 4]
            elif code == _JUMP_EQUAL:
                at += if_true if accumulator == value else if_false
            elif code == _AND:
                accumulator &= value
            elif code == _RETURN:
                return int(value)
            elif code == _JUMP:
                at += value
            elif code == _JUMP_GREATER:
                at += if_true if accumulator > value else if_false
            elif code == _JUMP_GREATER_EQUAL:
                at += if_true if accumulator >= value else if_false
            else:
                at += if_true if accumulator & value else if_false
