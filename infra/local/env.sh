# shellcheck shell=bash
# The file .local/env: the addresses and credentials of what runs. Sourced by up.

env_file=$state/env

# Every address that this checkout has ever written. A shell that has read .local/env carries our
# addresses in its environment; they must not pass for the user's own at the next up.
own_addresses=$state/own-addresses

# users_own NAME: the variable's value if the user set it, else nothing.
users_own() {
    is_own_address "${!1:-}" || printf '%s' "${!1:-}"
}

is_own_address() { grep -qxF -- "$1" "$own_addresses" 2>/dev/null; }

remember_own_address() {
    is_own_address "$1" || (umask 077 && printf '%s\n' "$1" >>"$own_addresses")
}

# write_env KEY=value...: the whole file at once, so that nobody reads half of it.
write_env() {
    local line
    (
        umask 077
        {
            say "# Written by make up. In a shell: set -a; source .local/env; set +a"
            for line in "$@"; do
                printf '%s=%s\n' "${line%%=*}" "$(shell_word "${line#*=}")"
            done
        } >"$env_file.new"
    )
    mv "$env_file.new" "$env_file"
}

# What we make ourselves are plain words, to the shell and to make alike. A user's value may not be
# one (?sslmode=require&...): it is then quoted, for the shell only.
shell_word() {
    if [[ $1 =~ ^[A-Za-z0-9_.:/@%+,=?~-]*$ ]]; then
        printf '%s' "$1"
    else
        printf "'%s'" "${1//\'/\'\\\'\'}"
    fi
}
