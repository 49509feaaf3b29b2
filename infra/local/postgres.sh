# shellcheck shell=bash
# The Postgres server of this checkout. Sourced by up and down. In .local/postgres-<major>:
#   password, port   of this version's server
#   server/          what belongs to the server's user: data/ and socket/
#   elsewhere        where that is instead, if the server can't get into this checkout

# shellcheck source=infra/local/postgres-programs.sh
source "$here/postgres-programs.sh"

# postgres_up: afterwards a server of the wanted version answers, database_url is its address, and
# postgres_bin the folder of its programs.
postgres_up() {
    local postgres_major postgres_version postgres_origin
    find_postgres
    local folder=$state/postgres-$postgres_major home how='already running' port
    mkdir -p "$folder"
    settle_home
    if ! postgres_answers; then
        stop_process postgres "$home/data" INT QUIT KILL
        make_data
        start_server
        how=started
    fi
    port=$(<"$folder/port")
    database_url=postgres://outbox:$(<"$folder/password")@127.0.0.1:$port/outbox
    report "Postgres $postgres_version" "$how on 127.0.0.1:$port ($postgres_origin)"
}

# postgres_down: stop the servers of every version. INT ends their sessions first.
postgres_down() {
    local folder home
    for folder in "$state"/postgres-*/; do
        folder=${folder%/}
        home=$(home_of "$folder")
        if [[ -n $(find_process postgres "$home/data") ]]; then
            stop_process postgres "$home/data" INT QUIT KILL
            report "Postgres ${folder##*-}" stopped
        fi
    done
}

# Postgres refuses to run as root: root runs it as nobody.
as_server() {
    if ((EUID == 0)); then
        (cd / && exec setpriv --reuid=nobody --regid="$(id -gn nobody)" --clear-groups \
            env HOME=/ "$@")
    else
        (cd / && exec "$@")
    fi
}

# Sets home, the folder of the server's user. It is outside of the checkout if root works where
# nobody can't go (/root, say).
settle_home() {
    home=$(home_of "$folder")
    if [[ ! -d $home ]]; then
        mkdir "$home"
        give_to_server "$home"
    fi
    if ! as_server test -w "$home"; then
        rmdir "$home" || fail "$home isn't the user nobody's, though root's Postgres runs as nobody." \
            "To give its data up: make down CLEAN=1"
        home=$(mktemp -d "${TMPDIR:-/tmp}/outbox-$checkout_hash-XXXXXX")
        give_to_server "$home"
        as_server test -w "$home" || fail "the user nobody can write neither here nor in $home." \
            "Work as another user than root, or set TMPDIR to a folder that everybody can reach."
        printf '%s' "$home" >"$folder/elsewhere"
        say "Postgres: the user nobody can't get into this checkout; the data is in $home"
    fi
    if ! as_server test -x "$postgres_bin/postgres"; then
        [[ -d $home/programs ]] || cp -a "${postgres_bin%/bin}" "$home/programs"
        postgres_bin=$home/programs/bin
    fi
}

# home_of FOLDER. A note that came along in a copy of another checkout names that one's folder,
# which isn't ours, as its name tells; a temporary folder may have been swept away.
home_of() {
    local elsewhere=''
    [[ ! -s $1/elsewhere ]] || elsewhere=$(<"$1/elsewhere")
    if [[ $elsewhere == */outbox-"$checkout_hash"-* && -d $elsewhere ]]; then
        printf '%s' "$elsewhere"
    else
        printf '%s' "$1/server"
    fi
}

give_to_server() {
    chmod u=rwX,go= "$1"
    ((EUID != 0)) || chown "nobody:$(id -gn nobody)" "$1"
}

# Our own process, past its start, on the port that we remember? Of the server's own notes line 1 is
# its process id, 4 its port, 8 its state; pg_ctl --wait reads the same ones.
postgres_answers() {
    local notes
    [[ -s $home/data/postmaster.pid && -s $folder/port && -s $folder/password ]] || return 1
    mapfile -t notes <"$home/data/postmaster.pid"
    [[ ${notes[3]:-} == "$(<"$folder/port")" && ${notes[7]:-} == ready* ]] &&
        find_process postgres "$home/data" | grep -qx "${notes[0]}" &&
        listens "${notes[3]}"
}

# The data gets its name only when the database is in it: what was interrupted is made anew.
make_data() {
    [[ ! -e $home/data/PG_VERSION || ! -s $folder/password ]] || return 0
    patiently postgres-install "Making the database" initialise || {
        show_tail "$logs/postgres-install.log"
        fail "Postgres' data folder could not be made."
    }
}

# A statement on the server's own input makes the database: npm's package has no createdb or psql.
initialise() {
    rm -rf "$home/data" "$home/data.new" &&
        (umask 077 && od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$folder/password") &&
        cp "$folder/password" "$home/password" &&
        give_to_server "$home/password" &&
        as_server "$postgres_bin/initdb" --pgdata="$home/data.new" --no-sync \
            --username=outbox --auth=scram-sha-256 --pwfile="$home/password" \
            --encoding=UTF8 --locale=C.UTF-8 &&
        as_server "$postgres_bin/postgres" --single -D "$home/data.new" postgres \
            <<<'CREATE DATABASE outbox' &&
        rm "$home/password" &&
        mv "$home/data.new" "$home/data"
}

# Three tries: somebody may take the port between our look and the start; and the children of a
# server that got a kill -9 keep its shared memory until they notice, a second or two later.
start_server() {
    local log=postgres-$postgres_major
    rotate "$logs/$log.log"
    for _ in 1 2 3; do
        ! patiently "$log" "Starting Postgres" launch_server || return 0
        sleep 1
    done
    show_tail "$logs/$log.log"
    fail "Postgres does not start." "If its data is damaged: make down CLEAN=1, then make up."
}

# No server of ours runs here, so a process id in the data folder is a dead one's; left there it
# would stop the start if another process of this user had that number by now.
launch_server() {
    local port socket=$home/socket
    port=$(choose_port "$folder/port")
    rm -f "$home/data/postmaster.pid"
    mkdir -p "$socket"
    give_to_server "$socket"
    # A Unix socket's address has 107 bytes: where it would be longer, none is made.
    ((${#socket} + ${#port} + 12 <= 107)) || socket=''
    cp "$here/postgresql.conf" "$home/data/postgresql.conf"
    as_server "$postgres_bin/pg_ctl" start --pgdata="$home/data" --wait --timeout=60 \
        --options="-p $port -k '$socket'"
}
