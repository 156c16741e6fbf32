#!/usr/bin/env bash
# Makes the topics of the pipelines on the brokers given, as `cargo local topics create` does, and then the mark that the health check looks for.
set -euo pipefail

brokers=$1
mark=${2:-/tmp/brew-topics}
partitions=4
# Retry and dead-letter topics take what main takes, and 64 KiB of our headers.
main_bytes=1048588
ours_bytes=$((main_bytes + 64 * 1024))

create() {
  kafka-topics.sh --bootstrap-server "$brokers" --create --if-not-exists --partitions "$partitions" \
    --topic "$1" --config cleanup.policy=delete --config "max.message.bytes=$2"
}

rm -f "$mark"
until kafka-topics.sh --bootstrap-server "$brokers" --list >/dev/null 2>&1; do sleep 1; done
for topic in brew.payments.v1 orders; do
  create "$topic" "$main_bytes"
done
for topic in brew.payments.retry.30s brew.payments.retry.5m brew.payments.retry.1h brew.payments.dlq orders.dlq; do
  create "$topic" "$ours_bytes"
done
touch "$mark"
