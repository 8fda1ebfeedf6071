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
need bwrap bubblewrap
need busybox busybox-static
need '/usr/lib/postgresql/*/bin/initdb' postgresql # databases, on data of their own

# Not every Debian packages it: its tests are passed over then, and say so.
lacks_runsc() { ! command -v runsc >/dev/null && apt-cache show runsc >/dev/null 2>&1; }

if [ ${#missing[@]} -eq 0 ] && ! lacks_runsc; then exit 0; fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  [ ${#missing[@]} -eq 0 ] || echo "tests of disks, containers or databases will fail for want of: ${missing[*]}" >&2
  exit 0
fi
apt-get update -qq
if lacks_runsc; then missing+=(runsc); fi
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
