# shellcheck shell=bash
# The same services by Docker: compose.yaml, for make up STACK=docker. Sourced by up and down.

docker_home=$state/docker

# docker_up SERVICE...: afterwards they answer, and database_url and aws_endpoint are their addresses.
docker_up() {
    docker compose version >/dev/null 2>&1 ||
        fail "there is no docker compose here." "Without Docker: make up"
    mkdir -p "$docker_home"
    if [[ -z $(compose ps --quiet --status running) ]]; then
        choose_port "$docker_home/postgres-port" >/dev/null
        choose_port "$docker_home/localstack-port" >/dev/null
    fi
    [[ -s $docker_home/password ]] ||
        (umask 077 && od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$docker_home/password")
    say "Docker: starting $*."
    patiently docker "Starting containers" compose up --detach --wait --renew-anon-volumes "$@" || {
        show_tail "$logs/docker.log"
        fail "the containers do not start."
    }
    database_url=postgres://outbox:$(<"$docker_home/password")@127.0.0.1:$(<"$docker_home/postgres-port")/outbox
    aws_endpoint=http://127.0.0.1:$(<"$docker_home/localstack-port")
}

# docker_down: the containers keep their data; CLEAN removes both.
docker_down() {
    [[ -d $docker_home ]] || return 0
    if [[ -n ${CLEAN:-} ]]; then
        patiently docker "Removing containers" compose down --volumes
    else
        patiently docker "Stopping containers" compose stop
    fi || fail "docker compose failed: .local/log/docker.log tells why."
    report Docker stopped
}

compose() {
    env POSTGRES_PORT="$(cat "$docker_home/postgres-port" 2>/dev/null)" \
        LOCALSTACK_PORT="$(cat "$docker_home/localstack-port" 2>/dev/null)" \
        POSTGRES_PASSWORD="$(cat "$docker_home/password" 2>/dev/null)" \
        docker compose --file "$checkout/compose.yaml" --project-name "outbox-$checkout_hash" "$@"
}
