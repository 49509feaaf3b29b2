# shellcheck shell=bash
# The queues and topics of the demo and the tests. Sourced by up.

# aws_settings: set the array aws, the variables by which programs find the endpoint.
# On a user's endpoint his own credentials count; they stay in his environment.
aws_settings() {
    local region=us-east-1
    [[ -z $given_endpoint ]] || region=${AWS_REGION:-${AWS_DEFAULT_REGION:-$region}}
    aws=(AWS_ENDPOINT_URL="$aws_endpoint" AWS_REGION="$region" AWS_DEFAULT_REGION="$region")
    if [[ -z $given_endpoint || -z ${AWS_ACCESS_KEY_ID:-}${AWS_PROFILE:-} ]]; then
        aws+=(AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test)
    fi
}

# make_resources: afterwards they exist, and the array resources has their addresses, KEY=value.
make_resources() {
    local known=$state/resources
    resources=()
    if [[ $aws_endpoint == *amazonaws.com* ]]; then
        report Resources "none made, since AWS_ENDPOINT_URL is AWS itself"
        return
    fi
    if ! still_there "$known"; then
        patiently resources "Making queues and topics" run_resources "$known" || {
            show_tail "$logs/resources.log"
            fail "the queues and topics could not be made at $aws_endpoint." \
                "If that endpoint isn't meant: unset AWS_ENDPOINT_URL, and make up starts LocalStack."
        }
    fi
    mapfile -t resources <"$known"
}

# Asking boto3 takes a second; asking LocalStack for one of the queues tells whether it has been
# restarted or reset since.
still_there() {
    [[ -z $given_endpoint && -s $1 && $1 -nt $here/resources.py ]] &&
        grep -qF "=$aws_endpoint/" "$1" &&
        http_ok "${aws_endpoint##*:}" '/000000000000/orders?Action=GetQueueAttributes'
}

run_resources() {
    env "${aws[@]}" "$boto_python" "$here/resources.py" >"$1.new" && mv "$1.new" "$1"
}

# find_boto: set boto_python, a Python with boto3: LocalStack's own, else a small one.
find_boto() {
    boto_python=$state/venv/bin/python
    [[ ! -e $state/venv/stamp ]] || return 0
    local folder=$state/boto3 requirements=$state/boto3-requirements.txt
    grep -E '^(boto3|botocore|jmespath|python-dateutil|s3transfer|six|urllib3)==' \
        "$here/localstack-requirements.txt" >"$requirements"
    ensure_venv boto3 "$folder" "$requirements"
    boto_python=$folder/bin/python
}
