# shellcheck shell=bash
# Where things are, how the scripts speak, and the lock. Sourced by every script in this folder.

if [[ $(uname) != Linux ]]; then
    echo "This needs Linux. Elsewhere: docker compose up --wait, with compose.yaml." >&2
    exit 1
fi

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
here=$checkout/infra/local
state=$checkout/.local
logs=$state/log

# A name for this checkout, for what must lie outside of it.
checkout_hash=$(cksum <<<"$checkout" | cut -d ' ' -f 1)

# Postgres may run as another user, who has to get to its files. What is secret says so itself.
umask 022

say() { printf '%s\n' "$*"; }

# One line of what is found or done: report THING STATE.
report() { printf '%-18s %s\n' "$1" "$2"; }

# fail SENTENCE [ADVICE...]: what is wrong, and what to do about it.
fail() {
    printf 'make %s: %s\n' "$(basename "$0")" "$1" >&2
    shift
    (($# == 0)) || printf '  %s\n' "$@" >&2
    exit 1
}

# One up or down of a checkout at a time. The lock is file descriptor 9; what outlives the script
# must be started with 9>&-, or the lock would be held for as long as the server runs.
take_lock() {
    mkdir -p "$logs" 2>/dev/null || true
    if [[ ! -w $state || ! -w $logs ]]; then
        fail "$state belongs to $(stat -c %U "$state" 2>/dev/null || echo another user)." \
            "Work as that user; or, as that user, first: make down CLEAN=all"
    fi
    exec 9>"$state/lock"
    if ! flock --nonblock 9; then
        say "Another up or down of this checkout is running: waiting for it."
        flock --timeout 900 9 || fail "the other up or down has not ended within 15 minutes."
    fi
    # A CLEAN=all that ended meanwhile has removed the file that we hold.
    [[ $state/lock -ef /dev/fd/9 ]] || take_lock
}

# patiently LOG TEXT COMMAND...: run a command with its output in .local/log/LOG.log.
# On a terminal a line shows what goes on, once it has taken two seconds. The command runs where
# errexit has no effect (its failure is the caller's to handle): chain its steps with &&.
patiently() {
    local log=$logs/$1.log text=$2 began=$SECONDS shown=1 status=0
    shift 2
    printf -- '--- %(%F %T)T %s\n' -1 "$text" >>"$log"

    # In a process group of its own, which an interrupt ends as a whole: without job control the
    # shell would let a background command ignore Ctrl-C.
    set -m
    "$@" >>"$log" 2>&1 </dev/null 9>&- &
    local worker=$!
    set +m
    # shellcheck disable=SC2064 # this worker's number, now
    trap "kill -- -$worker 2>/dev/null || true" EXIT
    while kill -0 "$worker" 2>/dev/null; do
        if [[ -t 1 ]] && ((SECONDS - began > shown)); then
            shown=$((SECONDS - began))
            printf '\r\e[K%s ... %d s' "$text" "$shown"
        fi
        sleep 0.1
    done
    [[ ! -t 1 ]] || printf '\r\e[K'
    wait "$worker" || status=$?
    trap - EXIT
    return "$status"
}

# The end of a log, under a failure.
show_tail() {
    printf 'The end of %s:\n' "${1#"$checkout/"}" >&2
    tail -n 15 "$1" | sed 's/^/  | /' >&2
}

# A server's log starts anew with the server; the one before is kept, for a crash's sake.
rotate() { [[ ! -s $1 ]] || mv "$1" "${1%.log}.previous.log"; }
