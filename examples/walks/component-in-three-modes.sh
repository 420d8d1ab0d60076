# The life of a state component: what `none`, `session` and `long_term` keep, over two
# executions of a session, its end, and another session of the same person. It needs
# `interlock up`, and an operator's token in INTERLOCK_TOKEN.
set -eu
for mode in none session long_term; do
  slug=notes-$(echo $mode | tr _ -)
  cat >component.json <<JSON
{"name": "Notes", "slug": "$slug", "persistence": "$mode",
 "schema_definition": {"count": {"type": "integer"}, "topic": {"type": "string"}}, "initial_values": {"count": 0}}
JSON
  interlock component create component.json >/dev/null
  count() { interlock component values "$slug" --session "$1" -o json | sed -n 's/.*"count": \([0-9]*\).*/\1/p'; }
  execution() { interlock component begin "$slug" --session "$1" -o json | grep -o 'exec_[a-z0-9]*'; }

  interlock session create "monday-$slug" --subject "alice-$slug" >/dev/null
  interlock component commit "$(execution "monday-$slug")" --merge '{"count": 1}' >/dev/null
  echo "$mode: the next execution begins with $(count "monday-$slug")"
  interlock session stop "monday-$slug" --end >/dev/null
  interlock session create "tuesday-$slug" --subject "alice-$slug" >/dev/null
  echo "$mode: another session begins with $(count "tuesday-$slug")"
done
