"""Any Python pattern at a linear engine's speed: the planner that chooses an engine, and the scanners.

Invariants: what matches is what `re` says, on every buffer; everything is imported before the lock-down; nothing
is opened, printed, warned about or left running. Limits of time and memory are the kernel's and the caller's.
"""

from .compiling import compile_pattern
from .plan import Plan, Program
from .refusal import PatternRefused
from .scanner import Hits, Scanner

__all__ = ["Hits", "PatternRefused", "Plan", "Program", "Scanner", "compile_pattern"]
