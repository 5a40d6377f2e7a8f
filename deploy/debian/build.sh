#!/usr/bin/env bash
# Builds the Debian package: deploy/debian/build.sh [FOLDER]
#
# It needs cargo-deb (`cargo install cargo-deb`) and Debian's dpkg-dev, and writes
# leafid_VERSION_ARCHITECTURE.deb into the folder. PROFILE=dev compiles faster, for tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

folder=$(realpath -m "${1:-.}")
profile=${PROFILE:-release}
built=${CARGO_TARGET_DIR:-target}/$profile
[ "$profile" = dev ] && built=${CARGO_TARGET_DIR:-target}/debug

cargo build --profile "$profile" --locked -p leafid-cli
rm -rf "$built/debian-pages"
mkdir -p "$built/debian-pages/man" "$folder"
"$built/leafid" man --out "$built/debian-pages/man" >/dev/null
gzip -9n "$built"/debian-pages/man/*.1
"$built/leafid" completions bash >"$built/debian-pages/leafid"
"$built/leafid" completions zsh >"$built/debian-pages/_leafid"
"$built/leafid" completions fish >"$built/debian-pages/leafid.fish"
cargo deb --quiet --no-build --locked --profile "$profile" -p leafid-cli -o "$folder/"
