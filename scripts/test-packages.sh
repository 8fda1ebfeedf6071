#!/usr/bin/env bash
# What tests run against and no package of npm brings: installed where this is Debian and we are root, and otherwise left to whoever
# reads which test asks for it. Does nothing where all is there.
set -euo pipefail

missing=()
need() { # program or file, packages
  command -v "$1" >/dev/null || compgen -G "$1" >/dev/null || missing+=("${@:2}")
}

need cc gcc libc6-dev # a small library that stands between the server and its disk
need runc runc # plugins in containers and sandboxes
need runsc runsc
need bwrap bubblewrap
need busybox busybox-static
need '/usr/lib/postgresql/*/bin/initdb' postgresql # databases, on data of their own

if [ ${#missing[@]} -eq 0 ]; then exit 0; fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "tests of disks, containers or databases will fail for want of: ${missing[*]}" >&2
  exit 0
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
