#!/usr/bin/env bash
# Installs the command of release $VERSION from $RELEASES into $RUNNER_TEMP, and adds it to $GITHUB_PATH.
set -euo pipefail

case "$(uname -s)" in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) echo "there is no archive for $(uname -s): use a runner with Linux or macOS" >&2; exit 1 ;;
esac
case "$(uname -m)" in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) echo "there is no archive for $(uname -m)" >&2; exit 1 ;;
esac

name="interlock_${VERSION}_${os}_${arch}"
cd "$(mktemp -d "$RUNNER_TEMP/interlock.XXXXXX")"
for file in "$name.tar.gz" SHA256SUMS; do
	curl --fail --silent --show-error --location --retry 3 --remote-name "$RELEASES/$VERSION/$file"
done
sum="$(grep -F "  $name.tar.gz" SHA256SUMS)" || { echo "SHA256SUMS of $VERSION has no $name.tar.gz" >&2; exit 1; }
if command -v sha256sum >/dev/null; then check="sha256sum"; else check="shasum -a 256"; fi
echo "$sum" | $check -c -
tar -xzf "$name.tar.gz"
echo "$PWD/$name" >>"$GITHUB_PATH"
