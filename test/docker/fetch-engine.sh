#!/bin/sh
# Builds a current Docker engine (dockerd, docker-proxy, and the runc that it needs) from the Go
# modules of its makers, and prints the folder that holds them: what HEDDLE_DOCKER
# is set to, to have the tests of this package meet that engine instead of Debian's
# 20.10. The docker command and containerd stay Debian's. The modules are built in
# temporary modules, so that heddle itself does not depend on them. Run again, it
# finds them built. Needs a C compiler; takes minutes.
set -eu

engine=${ENGINE_VERSION:-v2.0.0-beta.24} # of github.com/moby/moby/v2: engine 29.8, API 1.56
runc=${RUNC_VERSION:-v1.5.2}
cache=${HEDDLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/heddle}
folder=$cache/docker/$engine-$runc

# build NAME PACKAGE VERSION CGO: the package's program as NAME
build() (
	mkdir "$work/$1"
	cd "$work/$1"
	go mod init fetch >&2
	go get -tool "$2@$3" >&2
	CGO_ENABLED=$4 GOFLAGS=-mod=mod go build -trimpath -ldflags '-s -w' -o "$work/bin/$1" "$2" >&2
)

if ! [ -d "$folder" ]; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	mkdir -p "$cache/docker" "$work/bin"
	build engine github.com/moby/moby/v2/cmd/dockerd "$engine" 0
	build docker-proxy github.com/moby/moby/v2/cmd/docker-proxy "$engine" 0
	build runc github.com/opencontainers/runc "$runc" 1
	# Debian's docker command speaks an older API; this runc has no seccomp.
	cat >"$work/bin/dockerd" <<-'EOF'
		#!/bin/sh
		export DOCKER_MIN_API_VERSION=1.24
		exec "$(dirname "$0")/engine" --seccomp-profile unconfined "$@"
	EOF
	chmod +x "$work/bin/dockerd"
	# aside and renamed: a folder that is there is whole
	mv "$work/bin" "$folder.new.$$"
	mv -T "$folder.new.$$" "$folder"
fi
echo "$folder"
