#!/bin/sh
# Prints the secret of secret.template.yaml with new random passwords and a new token:
#   sh deploy/kubernetes/secret.sh | kubectl apply -f -
set -eu
random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
script="s/<REPLACE_ADMIN_TOKEN>/$(random)/;"
for user in APPLICATION PROBE EXPORTER; do
  password=$(random)
  hash=$(printf %s "$password" | sha256sum | cut -d ' ' -f 1)
  script="${script}s/REPLACE_${user}_PASSWORD/$password/;s/REPLACE_${user}_SHA256/$hash/;"
done
# Through a pipe: every process of the machine could read a password on sed's command line.
printf '%s' "$script" | sed -f /dev/stdin "$(dirname "$0")/secret.template.yaml"
