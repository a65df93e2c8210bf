# Keeps .venv ready for ./try, ./test and .ci/run, which source this file.
#
# A stamp in .venv records each finished step, so that a second run costs a look and no more. A venv made for
# another Python or another place is made anew; packages are installed again when pyproject.toml changes.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
venv=$root/.venv

say() { printf 'grille: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

# Sets `python` and `interpreter`, or ends the script with what is missing.
pick_python() {
    python=${PYTHON:-python3}
    command -v -- "$python" >/dev/null ||
        die "no '$python' here. Install Python 3.11 or newer, or name one: PYTHON=/path/to/python3.12"
    interpreter=$("$python" -B "$root/.ci/preflight.py") || exit 1
}

make_venv() {
    local stamp=$venv/.grille-venv want="$root $interpreter"
    if [[ -f $stamp ]]; then
        [[ $(<"$stamp") != "$want" ]] || return 0
        rm -rf -- "$venv"                  # only ever one that carries our stamp
    fi
    say "making .venv with $("$python" --version)"
    if "$python" -c 'from ensurepip import version' 2>/dev/null; then
        "$python" -m venv "$venv"
    elif "$python" -m pip --version >/dev/null 2>&1; then
        # Debian keeps ensurepip in a package of its own; the system's pip can fill the venv as well.
        "$python" -m venv --without-pip "$venv"
        "$python" -m pip --python "$venv/bin/python" install -qq pip
    else
        die "this Python has no pip. On Debian and Ubuntu: apt-get install python3-venv"
    fi
    # 25.1: dependency groups (PEP 735)
    pip_install --upgrade 'pip>=25.1'
    printf '%s\n' "$want" >"$stamp"
}

# Quiet but for errors: what pip warns of is the machine's set-up, not ours.
pip_install() {
    (cd -- "$root" && "$venv/bin/python" -m pip --disable-pip-version-check install -qq --no-input "$@") ||
        die "pip could not install $*: see its words above."
}

# install_once STEP PIP-ARGUMENTS...: does nothing when pyproject.toml is as it was at the last STEP.
install_once() {
    local stamp=$venv/.grille-$1 want
    want=$(cksum <"$root/pyproject.toml")
    shift
    [[ ! -f $stamp || $(<"$stamp") != "$want" ]] || return 0
    say "installing $*"
    pip_install "$@"
    printf '%s\n' "$want" >"$stamp"
}

# Everything grille itself needs. Editable: a change in the sources needs no new run.
install_grille() {
    pick_python
    make_venv
    install_once core --editable .
}
