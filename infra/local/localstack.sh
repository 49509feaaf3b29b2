# shellcheck shell=bash
# LocalStack without its container: SQS, SNS, S3, Secrets Manager, SSM, CloudWatch. Sourced by up and
# down. It keeps everything in memory: what is in its queues is gone when it stops.

# shellcheck source=infra/local/python.sh
source "$here/python.sh"

localstack_home=$state/localstack
localstack_requirements=$here/localstack-requirements.txt
localstack_version=$(sed -n 's/^localstack-core.*==//p' "$localstack_requirements")
launcher=$here/localstack_main.py

# localstack_begin: have it running, if not ready yet: Postgres can be started while it starts.
localstack_begin() {
    ensure_venv LocalStack "$state/venv" "$localstack_requirements"
    localstack_how='already running'
    [[ -n $(find_localstack) && -s $localstack_home/port ]] || launch_localstack
}

# localstack_await: afterwards it answers, and aws_endpoint is its address.
localstack_await() {
    # A second try, on another port: somebody may take the first one between our look and the start,
    # or what runs may hang.
    if ! await_answer; then
        rm "$localstack_home/port"
        launch_localstack
        await_answer || {
            show_tail "$logs/localstack.log"
            localstack_down
            fail "LocalStack does not start." "All that it said is in .local/log/localstack.log."
        }
    fi
    localstack_port=$(<"$localstack_home/port")
    aws_endpoint=http://127.0.0.1:$localstack_port
    report "LocalStack $localstack_version" "$localstack_how on 127.0.0.1:$localstack_port"
}

localstack_down() {
    [[ -n $(find_localstack) ]] || return 0
    stop_localstack
    report LocalStack stopped
}

find_localstack() { find_process python "$launcher"; }

stop_localstack() { stop_process python "$launcher" TERM KILL; }

localstack_answers() {
    [[ -s $localstack_home/port && -n $(find_localstack) ]] &&
        http_ok "$(<"$localstack_home/port")" /_localstack/health
}

await_answer() {
    localstack_answers || patiently localstack-start "Starting LocalStack" wait_for_answer
}

# Five seconds on an idle machine, twenty on a busy one. The wait is long, because the way out of it
# is a restart, which loses all messages.
wait_for_answer() {
    local deadline=$((SECONDS + 120))
    until localstack_answers; do
        if [[ -z $(find_localstack) ]]; then
            say "The process has ended."
            return 1
        elif ((SECONDS >= deadline)); then
            say "It has not answered for 120 seconds."
            return 1
        fi
        sleep 0.2
    done
}

# With an environment of its own: LocalStack reads some hundred variables, and the user's may be
# meant for another one.
#   OVERRIDE_IN_DOCKER=0      inside any container it would take the whole file system for its own
#   SQS_ENDPOINT_STRATEGY=off queue URLs with the plain address; by default they carry a host name
#                             that only a name server on the internet knows
#   DNS_ADDRESS=0             no name server
#   SQS_DISABLE_CLOUDWATCH_METRICS=1   130 SendMessageBatch a second in place of 60, on two cores
#   TEMP                      where Python makes temporary files
launch_localstack() {
    local port variables
    stop_localstack
    mkdir -p "$localstack_home/tmp"
    port=$(choose_port "$localstack_home/port")
    variables=(
        PATH="$PATH" LANG=C.UTF-8 HOME="$localstack_home" TEMP="$localstack_home/tmp"
        FILESYSTEM_ROOT="$localstack_home" OVERRIDE_IN_DOCKER=0
        GATEWAY_LISTEN="127.0.0.1:$port" LOCALSTACK_HOST="127.0.0.1:$port"
        SQS_ENDPOINT_STRATEGY=off DNS_ADDRESS=0 DISABLE_EVENTS=1 SKIP_SSL_CERT_DOWNLOAD=1
        LS_LOG="${LS_LOG:-warning}" SQS_DISABLE_CLOUDWATCH_METRICS=1
    )
    rotate "$logs/localstack.log"
    env --ignore-environment "${variables[@]}" \
        setsid "$state/venv/bin/python" "$launcher" >"$logs/localstack.log" 2>&1 </dev/null 9>&- &
    localstack_how=started
}
