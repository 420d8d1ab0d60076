package hook

import "github.com/interlock-run/interlock/services/internal/hookevent"

func readClaude(data []byte) (*event, error) {
	ev := &event{}
	if err := parse(data, ev); err != nil {
		return nil, err
	}
	return ev.sorted(ClaudeCode)
}

func writeClaude(ev *event, out outcome) (Answer, error) {
	switch {
	case ev.kind == hookevent.Permission && out.verdict == deny:
		return specific(ev, fields{"decision": fields{"behavior": "deny", "message": out.reason}})
	case out.verdict == deny:
		return specific(ev, fields{"permissionDecision": "deny", "permissionDecisionReason": out.reason})
	case out.verdict == allow && out.input != nil:
		return specific(ev, fields{"permissionDecision": "allow", "permissionDecisionReason": out.reason, "updatedInput": out.input})
	case out.verdict == allow:
		return specific(ev, fields{"permissionDecision": "allow", "permissionDecisionReason": out.reason})
	case out.input != nil: // the user's own permissions decide about the changed line
		return specific(ev, fields{"updatedInput": out.input})
	case out.context != "":
		return withShown(out, fields{"hookSpecificOutput": fields{"hookEventName": ev.Name, "additionalContext": out.context}})
	case out.goOn != "":
		return answerWith(fields{"decision": "block", "reason": out.goOn})
	}
	return Answer{}, nil
}

// withShown adds the text for the person.
func withShown(out outcome, answer fields) (Answer, error) {
	if out.shown != "" {
		answer["systemMessage"] = out.shown
	}
	return answerWith(answer)
}

// specific returns an answer in the form that Claude Code has for one event.
func specific(ev *event, of fields) (Answer, error) {
	of["hookEventName"] = ev.Name
	return answerWith(fields{"hookSpecificOutput": of})
}

// writeCodex leaves out the fields that Codex takes for an error of the hook, after which
// it continues as if there were none: to allow a call as it is.
func writeCodex(ev *event, out outcome) (Answer, error) {
	if out.verdict == allow && out.input == nil {
		out.verdict = noOpinion
	}
	return writeClaude(ev, out)
}
