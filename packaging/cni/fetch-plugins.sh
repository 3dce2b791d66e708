#!/bin/sh
# Builds reference CNI plugins (tuning, bandwidth, bridge, host-local) for the
# tests and the benchmark, and prints the folder that holds them. They are built
# from the Go module github.com/containernetworking/plugins in a temporary
# module, so that heddle itself does not depend on it. Run again, it finds them
# built.
set -eu

version=${CNI_PLUGINS_VERSION:-v1.9.1}
cache=${HEDDLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/heddle}
folder=$cache/cni-plugins/$version
plugins="meta/tuning meta/bandwidth main/bridge main/loopback ipam/host-local"

complete() {
	for plugin in $plugins; do
		[ -x "$folder/${plugin##*/}" ] || return 1
	done
}

if ! complete; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	mkdir -p "$cache/cni-plugins" "$work/bin"
	cd "$work"
	module=github.com/containernetworking/plugins
	go mod init fetch >/dev/null 2>&1
	go get "$module@$version" >&2
	for plugin in $plugins; do
		# -mod=mod lets go add the modules that the plugins import
		CGO_ENABLED=0 GOFLAGS=-mod=mod go build -trimpath -ldflags '-s -w' -o "bin/${plugin##*/}" "$module/plugins/$plugin" >&2
	done
	# aside and renamed: a folder that is there is whole
	rm -rf "$folder"
	mv "$work/bin" "$folder.new.$$" && mv "$folder.new.$$" "$folder"
fi
echo "$folder"
