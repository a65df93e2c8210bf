"""What ignore files decide: git's rules, from bytes to a verdict on each name of a folder (contract 6).

`lines` reads a file's lines, `patterns` a line's pattern; `names` matches a name against patterns, `tables` many
rules at once; `rules` holds one file, `stack` the files in force in a folder, `cache` what was compiled before.
Nothing here opens anything: the walk reads the files and hands over their bytes. Whatever an ignore file holds,
the time for a name is linear in the name, and nothing is matched by trial and error.

This is own code and not pathspec's `GitIgnoreSpec`, which serves as an oracle in tests/conformance. Measured with
pathspec 1.1.1 on its RE2 backend (the plain one hangs on `*a*a*a*b`), Python 3.11, git 2.39.5:

* Verdicts. `d/**` ignores the folder `d` itself (its issue 137), so a pruning walk loses what a later rule takes
  back. git is the truth.
* Hostile files. One rule that ends in a backslash, or `[[:alpha:]]`, makes the whole file an error; so do ten
  thousand rules like `*a*a*?1?`, whose common program exceeds RE2's memory. Each would switch off all other rules
  of the file. Here a bad rule is one rule less, and those ten thousand take 0.06 s for a hundred names of 250 bytes.
* Speed. On 98 rules like the Linux kernel's and names of which few are ignored, 0.9 us a path against 0.3 us a
  name in a large folder and 0.4 us in one of twenty; 1.3 us for a name that is ignored, or asked about alone.
"""
