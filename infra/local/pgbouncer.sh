# shellcheck shell=bash
# PgBouncer's program, for the tests of the transaction pooler. Sourced by up. The tests start it themselves.

# Sets pgbouncer, the line of .local/env about it: the machine's own, else, as root on Debian or Ubuntu, the
# distribution's. Neither PyPI nor npm has one. Nothing but those tests needs it, so without it up goes on.
find_pgbouncer() {
    pgbouncer=()
    local program
    if ! program=$(pgbouncer_on_machine) && install_pgbouncer; then
        program=$(pgbouncer_on_machine) || true
    fi
    if [[ -z $program ]]; then
        report PgBouncer "not here; its tests will fail until the system's package pgbouncer is installed"
        return
    fi
    report PgBouncer "$program, for the tests"
    pgbouncer=(PGBOUNCER="$program")
}

# Debian keeps it off the PATH of those who aren't root.
pgbouncer_on_machine() { PATH=$PATH:/usr/sbin:/usr/local/sbin command -v pgbouncer; }

install_pgbouncer() {
    ((EUID == 0)) && command -v apt-get >/dev/null || return 1
    say "PgBouncer: installing the distribution's package (once)."
    patiently pgbouncer-install "Installing PgBouncer" apt_get_pgbouncer && return
    say "PgBouncer: apt-get failed (.local/log/pgbouncer-install.log tells why)."
    return 1
}

# The package may start a service. It wasn't there before, so nobody needs it: stop it.
apt_get_pgbouncer() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update &&
        apt-get install --yes --no-install-recommends pgbouncer || return 1
    service pgbouncer stop || true
}
