#!/usr/bin/env bash
# Checks the folder $FOLDER, and plans or applies it, as $MODE says.
set -euo pipefail

output() { echo "$1=$2" >>"$GITHUB_OUTPUT"; }
summary() { cat >>"$GITHUB_STEP_SUMMARY"; }

# comment shows a text in the one comment of this folder on the pull request.
comment() {
	if [ -z "${GH_TOKEN:-}" ] || [ -z "${PULL_REQUEST:-}" ]; then return; fi
	local marker="<!-- interlock $FOLDER -->" id
	printf '%s\n' "$marker" | cat - "$1" >"$1.comment"
	id="$(gh api --paginate "repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments" --jq ".[] | select(.body | startswith(\"$marker\")) | .id" | head -n 1)"
	if [ -n "$id" ]; then
		gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" --field "body=@$1.comment" >/dev/null
	else
		gh api --method POST "repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments" --field "body=@$1.comment" >/dev/null
	fi
}

case "$MODE" in
plan | apply) ;;
*) echo "mode is $MODE: write plan or apply" >&2; exit 1 ;;
esac

# has reports that the folder has files of a name.
has() { [ -n "$(find "$FOLDER" -name "$1" -print -quit)" ]; }

if has '*.properties.*'; then
	output sarif "$RUNNER_TEMP/interlock.sarif"
	interlock verify "$FOLDER/..." --format sarif >"$RUNNER_TEMP/interlock.sarif" || true # what is refuted is said below
fi
if [ -z "$INTERLOCK_TOKEN" ]; then
	if [ "$MODE" = apply ]; then
		echo "there is no token: give the input token" >&2
		exit 1
	fi
	interlock validate "$FOLDER/..."
	if has '*.test.*'; then interlock test "$FOLDER/..."; fi
	if has '*.properties.*'; then interlock verify "$FOLDER/..."; fi
	echo "The folder is valid. It was not compared with the server: this job has no token, as in pull requests of forks." | summary
	exit 0
fi

text="$RUNNER_TEMP/interlock.md"
args=()
for digest in $ACCEPT; do args+=("--accept=$digest"); done
if [ "$MODE" = apply ]; then args+=(--yes); else args+=(--detailed-exitcode); fi
code=0
interlock "$MODE" "$FOLDER" "${args[@]}" >"$text.log" 2>&1 || code=$?
cat "$text.log"
{
	echo "### \`interlock $MODE $FOLDER\`"
	echo '```'
	head -c 60000 "$text.log"
	echo '```'
} >"$text"
summary <"$text"
comment "$text"
output plan "$(sed -n 's/.* plan \([0-9a-f]\{8,\}\)$/\1/p' "$text.log" | tail -n 1)"
if [ "$MODE" = plan ] && [ "$code" = 2 ]; then
	output changes true
	exit 0
fi
output changes false
exit "$code"
