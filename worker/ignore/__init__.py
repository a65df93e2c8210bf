"""What ignore files decide: git's rules, from bytes to a verdict on each name of a folder (contract 6).

`lines` reads a file's lines, `patterns` a line's pattern, `names` matches one name, `tables` many rules at
once, `rules` holds one file, `stack` the files in force in a folder, `cache` what was compiled before.
Nothing here opens anything: the walk reads the files and hands over their bytes.

Why this is own code and not pathspec, which the rest of the project may use (measured on Python 3.11,
pathspec 1.1.1, git 2.39.5):

* Verdicts. pathspec matches whole paths, so that `d/**` ignores the folder `d` itself, a re-included folder
  stays ignored, and a rule that ends in a backslash loses the whole file (its issues 129, 137 and pull
  request 143). git is the truth.
* Bombs. Its plain backend backtracks on `*a*a*a*b`. RE2 does not; but one program for all rules of a file has
  a memory bound, past which a hostile file is refused as a whole.
* Speed. A walk asks about the names of one folder. Nearly every rule is a name, an ending or a beginning: a
  look-up, not a match. See `tables` for the figures.

Every match is linear in the name: `names` runs a machine of bits, `rules` one of path components, and neither
goes back.
"""
