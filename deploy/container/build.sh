#!/usr/bin/env bash
# Builds the container image: deploy/container/build.sh [NAME[:TAG]]
#
# It compiles a static binary for musl, which needs `rustup target add x86_64-unknown-linux-musl` and
# musl-gcc (Debian: musl-tools), and puts it into an empty image with podman, buildah or docker,
# whichever is there. PROFILE=dev compiles faster, for tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

name=${1:-leafid}
profile=${PROFILE:-release}
target=$(uname -m)-unknown-linux-musl
folder=$profile
[ "$profile" = dev ] && folder=debug

export "CC_${target//-/_}=${CC_MUSL:-musl-gcc}"
cargo build --profile "$profile" --locked -p leafid-cli --target "$target"

context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
install -m 755 "${CARGO_TARGET_DIR:-target}/$target/$folder/leafid" "$context/leafid"
mkdir "$context/data"

for tool in podman buildah docker; do
    if command -v "$tool" >/dev/null; then
        format=()
        # The format of OCI has no health check.
        [ "$tool" = docker ] || format=(--format docker)
        "$tool" build "${format[@]}" -t "$name" -f deploy/container/Containerfile "$context"
        exit
    fi
done
echo "build.sh: none of podman, buildah and docker is there to build the image with" >&2
exit 1
