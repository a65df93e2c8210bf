"""What is allowed, as plain data: policies, limits, system calls, and what may be said across the bars.

Invariant: this folder imports nothing of ours, so that both sides of the bars can read it without reading
each other. It opens no file but a policy file. Enforcing is left to `worker/`, watching to `pool/`.
"""
