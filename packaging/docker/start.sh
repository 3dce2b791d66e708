#!/bin/sh
# start: what the managed plugin runs. dockerd mounts /proc/sys for reading only,
# and networks need settings.
set -eu
mount -o remount,rw,bind /proc/sys
exec /usr/bin/heddled --state-dir /host/var/lib/heddle --run-dir /host/run/heddle \
	--docker-socket /run/docker/plugins/heddle.sock --docker-host unix:///host/run/docker.sock \
	--docker-driver heddle:latest "$@"
