"""grille lets an agent search a repository through bars: glob and grep in workers that reach nothing else.

`policy/` says what is allowed, `worker/` runs behind the bars, `pool/` starts and watches the workers, and
`src/grille/` is the public face. This file marks the root for tools that read the folders as one package. It
holds no code, since test runners import it, and it is in no wheel.
"""
