"""Confinement: how a worker gives up everything that it does not need, layer by layer.

`cell` builds the empty root that workers live in; `sequence` is the lock-down of one worker, in its order.
Everything else here is one layer's mechanics. Nothing in this folder decides whether a missing layer is
acceptable: a failure raises LayerFailed with the layer's name, and the supervisor weighs it against the
policy.
"""
