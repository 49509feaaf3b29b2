# shellcheck shell=bash
# Python environments with exactly the packages of a requirements file. Sourced by up and cargo-lambda.

# ensure_venv NAME FOLDER REQUIREMENTS: install, unless that is done and the requirements are still
# the same. The stamp is written last; it names the folder, since an environment can't be copied.
ensure_venv() {
    local name=$1 folder=$2 requirements=$3 stamp python log
    stamp="$folder $(cksum <"$requirements")"
    [[ ! -x $folder/bin/python || $(cat "$folder/stamp" 2>/dev/null) != "$stamp" ]] || return 0
    python=$(find_python) || fail "no Python 3.11, 3.12 or 3.13 with its venv module, for $name." \
        "Install one (Debian, Ubuntu: apt-get install python3 python3-venv)."
    say "$name: installing into ${folder#"$checkout/"} with $("$python" --version) (once)."
    log=$(basename "$folder")-install
    if ! patiently "$log" "Installing $name" make_venv "$python" "$folder" "$requirements"; then
        show_tail "$logs/$log.log"
        fail "$name could not be installed. Does this machine reach a Python package index?" \
            "All that was said is in .local/log/$log.log. Once it's mended, make $(basename "$0") goes on."
    fi
    printf '%s' "$stamp" >"$folder/stamp"
}

# LocalStack 4.13 was made for 3.11; its packages as pinned here were also tried on 3.12 and 3.13.
find_python() {
    local candidate
    for candidate in python3.11 "${HOME:-/}"/.pyenv/versions/3.11.*/bin/python python3.12 python3.13 python3; do
        if candidate=$(command -v "$candidate") && "$candidate" -c '
import ensurepip, sys, venv
sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
            printf '%s' "$candidate"
            return
        fi
    done
    return 1
}

# uv takes seconds where pip takes minutes; where it can't be had, pip does it.
# --no-deps: the file names every package, and nothing else may come in.
make_venv() {
    local python=$2/bin/python
    rm -rf "$2" && "$1" -m venv "$2" || return 1
    "$python" -m pip install --disable-pip-version-check uv &&
        "$python" -m uv pip install --python "$python" --no-deps --requirements "$3" ||
        "$python" -m pip install --disable-pip-version-check --no-deps --requirement "$3"
}
