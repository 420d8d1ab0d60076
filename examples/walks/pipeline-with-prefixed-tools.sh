# A whole deployment pipeline: a workflow with every field of a state, driven over MCP by tools
# whose names begin with statewright_, while hooks judge what the agent does. It needs
# `interlock up`, its data folder in INTERLOCK_DATA, and tokens of an
# operator in INTERLOCK_TOKEN and of an approver in INTERLOCK_APPROVER.
set -eu
cat >deploy-pipeline.json <<'JSON'
{
  "id": "deploy-pipeline-walk",
  "initial": "planning",
  "context": {"test_result": null, "coverage": 0, "approved": false},
  "meta": {
    "task_type": "deployment", "estimated_steps": 25, "danger_level": "dangerous",
    "requires_human_approval": true, "capture_output": true, "approval_mode": "ui", "enforcement": "while_running"
  },
  "states": {
    "planning": {
      "allowed_tools": ["Read", "Grep", "Glob"],
      "instructions": "Understand the change. Read tests and deployment config.",
      "max_iterations": 10,
      "context_budget_bytes": 50000,
      "safe_next": "testing",
      "on": {"READY": "testing", "FAIL": "failed"}
    },
    "testing": {
      "allowed_tools": ["Read", "Bash"],
      "allowed_commands": ["pytest", "npm test", "cargo test"],
      "blocked_env": ["PROD_DB_URL"],
      "max_iterations": 15,
      "on": {"EVALUATE": [
        {"target": "deploying", "guard": "deploy_ready"},
        {"target": "fixing", "guard": "tests_failed"},
        {"target": "failed"}
      ]}
    },
    "fixing": {
      "allowed_tools": ["Read", "Edit"],
      "max_edit_lines": 20,
      "max_files_per_state": 3,
      "instructions": "Fix only the failing tests. Minimal changes.",
      "on": {"DONE": "testing", "FAIL": "failed"}
    },
    "deploying": {
      "allowed_tools": ["Bash"],
      "allowed_commands": ["kubectl", "helm"],
      "env_overrides": {"KUBECONFIG": "/etc/kube/staging.yaml"},
      "on": {
        "DONE": {"target": "complete", "requires_approval": true, "approval_message": "Deployment finished. Approve to mark complete?"},
        "FAIL": "failed"
      }
    },
    "complete": {"type": "final"},
    "failed": {"type": "final"}
  },
  "guards": {
    "deploy_ready": {"field": "test_result", "op": "eq", "value": "pass"},
    "tests_failed": {"field": "test_result", "op": "eq", "value": "fail"}
  }
}
JSON
interlock workflow register deploy-pipeline.json

approve() { INTERLOCK_TOKEN=$INTERLOCK_APPROVER interlock approval approve "$(interlock approval list -q --status PENDING)" "$@"; }

# The agent's MCP server on stdio. The agent's token is that of the data folder.
mkfifo requests answers
env -u INTERLOCK_TOKEN interlock mcp --tool-prefix statewright_ --session pipeline <requests >answers 2>mcp.log &
server=$!
exec 3>requests 4<answers
id=0
ask() {
  id=$((id + 1))
  printf '{"jsonrpc": "2.0", "id": %d, "method": "%s", "params": %s}\n' $id "$1" "$2" >&3
  while read -r answer <&4; do
    case $answer in *'"id":'$id[,}]*) return ;; esac
  done
  echo "the MCP server has ended" && exit 1
}
tool() {
  ask tools/call '{"name": "statewright_'"$1"'", "arguments": '"$2"'}'
  said=$(printf '%s' "$answer" | sed 's/\\"/'"'"'/g; s/.*"text":"\([^"\\]*\).*/\1/; s/apr_[a-z0-9]*/APPROVAL/g; s/ (.It is up.*//')
  printf '%s: %s\n' "statewright_$1" "$said"
}
# A call of one of the agent's other tools, as its hook asks about it, and then reports it.
calls=0
call() {
  calls=$((calls + 1))
  event='"session_id": "pipeline", "cwd": "/repo", "tool_name": "'$1'", "tool_input": '$2', "tool_use_id": "call-'$calls'"'
  verdict=$(printf '{"hook_event_name": "PreToolUse", %s}' "$event" | env -u INTERLOCK_TOKEN interlock hook)
  case $verdict in
  *'"deny"'*) printf 'DENY  %s: %s\n' "$1" "$(printf '%s' "$verdict" | sed 's/\\"/'"'"'/g; s/.*"permissionDecisionReason":"\([^"]*\)".*/\1/; s/\. .*/./')" ;;
  *) printf 'ALLOW %s\n' "$1"
    printf '{"hook_event_name": "PostToolUse", %s, "tool_response": {"stdout": "done"}}' "$event" | env -u INTERLOCK_TOKEN interlock hook >/dev/null ;;
  esac
}
ask initialize '{"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "walk", "version": "1"}}'
printf '{"jsonrpc": "2.0", "method": "notifications/initialized"}\n' >&3

echo "1. Planning reads only. An event that is not known leads to safe_next."
tool load_workflow '{"name": "deploy-pipeline-walk"}'
call Read '{"file_path": "/repo/a.py"}'
call Edit '{"file_path": "/repo/a.py", "old_string": "a", "new_string": "b"}'
tool transition '{"event": "GO", "data": {"test_result": "fail"}}'

echo "2. Testing runs tests only, and the first branch decides whose guard passes."
call Bash '{"command": "pytest -v tests/"}'
call Bash '{"command": "rm -rf /repo"}'
call Bash '{"command": "pytest --db $PROD_DB_URL"}'
tool transition '{"event": "EVALUATE"}'

echo "3. Fixing edits little. A run that is paused keeps its place."
tool pause '{}'
tool load_workflow '{"name": "deploy-pipeline-walk", "resume": true}'
call Edit '{"file_path": "/repo/a.py", "old_string": "a", "new_string": "'"$(printf 'b\\n%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21)"'"}'
call Edit '{"file_path": "/repo/a.py", "old_string": "a", "new_string": "b"}'
tool transition '{"event": "DONE", "data": {"test_result": "pass", "coverage": 92}}'
tool transition '{"event": "EVALUATE"}'

echo "4. Deploying runs the commands of deployments, and a person approves its end."
call Bash '{"command": "helm upgrade app ./chart"}'
call Bash '{"command": "pytest"}'
tool transition '{"event": "DONE"}'
approval=$(printf '%s' "$answer" | grep -o 'apr_[a-z0-9]*' | head -1)
approve --note "It is up." >/dev/null
tool wait_approval '{"approval_id": "'"$approval"'"}'
until interlock run list --session pipeline -o json | grep -q '"COMPLETED"'; do :; done
tool get_state '{}'
exec 3>&- 4<&-
wait $server
