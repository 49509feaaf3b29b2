# shellcheck shell=bash
# Ports, and the processes that are ours. Sourced by up and down.

# Does something listen on this port of the loopback?
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# http_ok PORT PATH: is the answer 200? In the shell itself: curl may not be installed.
http_ok() {
    (
        exec 3<>"/dev/tcp/127.0.0.1/$1"
        printf 'GET %s HTTP/1.0\r\nHost: 127.0.0.1:%s\r\n\r\n' "$2" "$1" >&3
        read -r -t 5 _ status _ <&3 && [[ $status == 200 ]]
    ) 2>/dev/null
}

# choose_port FILE: the port that the file remembers if it is still free, so that addresses which
# people have copied stay good; else another one.
choose_port() {
    local port=''
    [[ ! -s $1 ]] || port=$(<"$1")
    if [[ ! $port =~ ^[0-9]+$ ]] || listens "$port"; then
        port=$(free_port)
    fi
    printf '%s' "$port" >"$1"
    printf '%s' "$port"
}

# Below 32768, where Linux begins to take the local ports of outgoing connections from: none of
# those can sit on it at the next start.
free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        listens "$port" || break
    done
    printf '%s' "$port"
}

# find_process PROGRAM ARGUMENT: the running processes of that program with exactly that argument.
# Our servers name a file of this checkout in their arguments, so they are looked for by it, and no
# file of process ids is believed: after a reboot or a kill -9, or in a copied checkout, such a
# number is anybody's; and after rm -rf .local there is none, though the server runs.
find_process() {
    local file pid argument arguments
    for file in $(grep -lsF -- "$2" /proc/[0-9]*/cmdline); do
        { mapfile -d '' -t arguments <"$file"; } 2>/dev/null || continue
        [[ ${arguments[0]##*/} == "$1" ]] || continue
        for argument in "${arguments[@]:1}"; do
            if [[ $argument == "$2" ]]; then
                pid=${file#/proc/}
                say "${pid%/cmdline}"
                break
            fi
        done
    done
}

# stop_process PROGRAM ARGUMENT SIGNAL...: send one signal after the other, ten seconds apart,
# until the process is gone.
stop_process() {
    local program=$1 argument=$2 signal pids
    shift 2
    for signal in "$@"; do
        mapfile -t pids < <(find_process "$program" "$argument")
        ((${#pids[@]} > 0)) || return 0
        kill -s "$signal" "${pids[@]}" 2>/dev/null || true
        for _ in {1..100}; do
            [[ -n $(find_process "$program" "$argument") ]] || return 0
            sleep 0.1
        done
    done
    fail "process ${pids[*]} ($program) does not stop."
}
