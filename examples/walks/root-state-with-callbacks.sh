# The walk of a shared state: a root creates it, its children work and must report to it, and
# the root is called back with their results. It needs `interlock up`, and an operator's token
# in INTERLOCK_TOKEN for the schema and the runner.
set -eu
cat >schema.json <<'JSON'
{"type": "object", "required": ["status", "tasks"], "properties": {
  "status": {"enum": ["in_progress", "completed"]},
  "tasks": {"type": "array", "items": {"type": "object", "required": ["name", "status"]}}}}
JSON
cat >agent.sh <<'SH'
case "$INTERLOCK_TASK_KIND" in
  start) cat >/dev/null && echo "checked $INTERLOCK_SESSION" ;;
  state_update) interlock state patch "$WORKFLOW_STATE_ID" --op '{"op": "add", "path": "/tasks/-", "value": {"name": "'"$INTERLOCK_SESSION"'", "status": "done"}}' >/dev/null ;;
  callback) cat && interlock state patch "$WORKFLOW_STATE_ID" --op '{"op": "replace", "path": "/status", "value": "completed"}' >/dev/null ;;
esac
SH

echo "1. The schema is registered, and the root creates the state."
interlock schema register review schema.json
interlock state create review --session orchestrator --input '{"status": "in_progress", "tasks": []}' >/dev/null

echo "2. Children are started below it, and share the state."
for child in lint test; do
  INTERLOCK_SESSION=orchestrator interlock session create "$child" --prompt "Do your part." >/dev/null
done

echo "3. A runner starts their agents; who stops without a report is asked for it."
interlock runner --exec 'sh agent.sh' --max 2 --name desk >runner.log 2>&1 &
runner=$!
state=$(interlock state list --root orchestrator -q)
reported() { interlock state get "$state" -o json | tr -d ' \n' | grep -q '"status":"completed".*"done".*"done"'; }
until reported && [ -z "$(interlock task list -q)" ]; do :; done

echo "4. The root is called back, with what the children have found."
kill -INT $runner && wait $runner
grep -F '[orchestrator] "checked' runner.log | sort -u

echo "5. The state says how it ended."
interlock state get "$state" --pointer /status
interlock session result lint
