# A process as a gate before a deployment: what its four actions do, and its policy, which hooks
# enforce. It needs `interlock up`, its data folder in INTERLOCK_DATA, and tokens of an
# operator in INTERLOCK_TOKEN and of an approver in INTERLOCK_APPROVER.
set -eu
cat >deploy-gate.json <<'JSON'
{
  "name": "deploy-gate-walk",
  "initial": "env-check",
  "initial_prompt": "Walk through the deployment checklist before pushing to production.",
  "states": {
    "env-check": {
      "question": "Is the target environment correct (not accidentally staging → prod)?",
      "answers": {
        "yes": {"next": "migration-check"},
        "no": {"next": null, "action": "block"}
      }
    },
    "migration-check": {
      "question": "Have all database migrations been reviewed and tested?",
      "answers": {
        "yes": {"next": "traffic-check"},
        "n/a": {"next": "traffic-check", "action": "warn"},
        "no": {"next": null, "action": "block"}
      }
    },
    "traffic-check": {
      "question": "Is it safe to shift traffic now (no peak hours, no active incidents)?",
      "answers": {
        "yes": {"next": null, "action": "complete"},
        "unsure": {"next": "traffic-check", "action": "notify_human"},
        "no": {"next": null, "action": "block"}
      }
    }
  },
  "session_budget_usd": 5,
  "policy": {
    "role": "agent",
    "allow": [{"capability": "bash", "rate_limit": {"max_calls": 2, "window_seconds": 3600}}],
    "ask": [{"capability": "mcp:filesystem:write_file", "budget_limit": {"max_usd": 5.00, "period": "daily"}}],
    "deny": [{"capability": "mcp:filesystem:delete_file"}]
  }
}
JSON
interlock process register deploy-gate.json
approve() { INTERLOCK_TOKEN=$INTERLOCK_APPROVER interlock approval approve "$(interlock approval list -q --status PENDING)" "$@"; }
agent() { env -u INTERLOCK_TOKEN interlock "$@"; }
run() { interlock run list --session "$1" -q; }
status() { interlock run get "$(run "$1")" -o json | sed -n 's/^ *"status": "\([A-Z_]*\)".*/\1/p' | head -1; }
answer() { agent process answer "$(run "$1")" "$2" >/dev/null || :; echo "$2: $(status "$1")"; } # a parked answer is no success
# A call of one of the agent's tools, as its hook asks about it.
calls=0
call() {
  calls=$((calls + 1))
  verdict=$(printf '{"hook_event_name": "PreToolUse", "session_id": "%s", "cwd": "/repo", "tool_name": "%s", "tool_input": %s, "tool_use_id": "call-%d"}' \
    "$1" "$2" "$3" $calls | agent hook)
  case $verdict in
  *'"deny"'*) printf 'DENY  %s: %s\n' "$2" "$(printf '%s' "$verdict" | sed 's/\\"/'"'"'/g; s/.*"permissionDecisionReason":"\([^"]*\)".*/\1/; s/ (\/[a-z].*//; s/\. .*/./')" ;;
  *) printf 'ALLOW %s\n' "$2" ;;
  esac
}

echo "1. The agent reads the prompt and the first question before its first turn."
agent process start deploy-gate-walk --session monday >/dev/null
printf '{"hook_event_name": "SessionStart", "session_id": "monday", "cwd": "/repo", "source": "startup"}' | agent hook |
  grep -o 'Walk through[^.]*\.\|Is the target environment correct'

echo "2. The policy: what is denied, what people are asked about, and a rate limit."
call monday mcp__filesystem__delete_file '{"path": "/repo/a"}'
call monday mcp__filesystem__write_file '{"path": "/repo/a", "content": "b"}'
approve >/dev/null
call monday mcp__filesystem__write_file '{"path": "/repo/a", "content": "b"}'
for n in 1 2 3; do call monday Bash '{"command": "git status"}'; done

echo "3. warn continues, notify_human waits for a person, complete ends well."
answer monday yes
answer monday n/a
answer monday unsure
approve --note "Traffic is low." >/dev/null
until [ "$(status monday)" = RUNNING ]; do :; done
answer monday yes
interlock run history "$(run monday)" -o json | grep -c '"warned"'

echo "4. block ends the session, and its agent does nothing more."
agent process start deploy-gate-walk --session tuesday >/dev/null
answer tuesday no
call tuesday Bash '{"command": "git status"}'
