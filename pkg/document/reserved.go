package document

import "strings"

// reserved are names that authors take for a protection. In an object that does not read
// them they are errors, so that no document seems to restrict an act that it allows, and so
// that a later version can give them a meaning. The value says how to get the effect.
var reserved = map[string]string{
	"calls": "write it in a state of a workflow", "only": "write it in an entry of \"calls\" of a state",
	"when": "use a guard of a transition, or a policy", "unless": "use a guard of a transition, or a policy",
	"facets":  "name a facet in a condition: \"only\" of an entry of \"calls\" of a state, or \"when\" of a policy's rule",
	"timeout": adviceTime, "timeout_seconds": adviceTime, "after": adviceTime, "deadline": adviceTime, "max_duration": adviceTime,
	"stale": adviceTime, "remind": adviceTime, "not_before": adviceTime, "window": adviceTime, "change_freeze": adviceTime, "freeze": adviceTime,
	"time_limit": adviceTime, "expires": adviceTime,
	"allowed_paths": advicePaths, "denied_paths": advicePaths, "allowed_files": advicePaths, "denied_files": advicePaths, "paths": advicePaths,
	"readonly": "leave tools that write out of \"allowed_tools\": then command lines may only read, too", "sandbox": "run the agent in a container",
	"allowed_domains": adviceHosts, "denied_domains": adviceHosts, "allowed_hosts": adviceHosts, "denied_hosts": adviceHosts,
	"allowed_urls": adviceHosts, "network": adviceHosts,
	"budget_usd": adviceMoney, "max_cost": adviceMoney, "max_cost_usd": adviceMoney, "budget": adviceMoney, "cost_limit": adviceMoney, "max_budget": adviceMoney,
	"max_tokens": "set \"context_budget_bytes\" in the state", "rate": "write \"rate_limit\" in a rule of a policy",
	"approvers": adviceApprovers, "approval_required": adviceApprovers, "requires_review": adviceApprovers, "permissions": adviceDefault,
	"default": adviceDefault, "default_action": adviceDefault, "default_decision": adviceDefault, "fail_closed": adviceDefault,
	"enforce": adviceEnforce, "enforcement": adviceEnforce,
	"requires": "it stands at the top of a workflow only",
}

const (
	adviceEnforce   = "write \"enforcement\" in \"meta\" of a workflow"
	adviceTime      = "in a state write \"after\", \"remind\" or \"stale\", at a transition \"not_before\" or \"window\", and \"deadline\" in \"meta\" for the whole run"
	advicePaths     = "write {\"calls\": [{\"capability\": \"*\", \"only\": {\"writes\": [\"src/**\"]}}]} in the state, with \"reads\" for files that are read"
	adviceHosts     = "write {\"calls\": [{\"capability\": \"*\", \"only\": {\"host\": [\"*.example.com\"]}}]} in the state, or \"hosts\" in its \"jail\""
	adviceMoney     = "write \"budget_limit\" in a policy, or \"session_budget\" in a process"
	adviceApprovers = "name approvers in \"meta.approval\", and write \"requires_approval\" at the transition"
	adviceDefault   = "write \"default\" in a policy; a state allows the tools of \"allowed_tools\""
)

var reservedFolded = foldedNames(reserved)

// protectiveStarts begin names that sound like a restriction, folded.
var protectiveStarts = []string{
	"allow", "allowed", "denied", "deny", "disallow", "forbid", "forbidden", "block", "blocked", "restrict", "protect", "require", "timeout",
	"deadline", "max", "limit", "readonly", "approv", "quota", "whitelist", "blacklist", "prohibit", "prevent",
}

func foldedNames(names map[string]string) map[string]string {
	out := make(map[string]string, len(names))
	for name, advice := range names {
		out[strings.TrimSuffix(fold(name), "s")] = advice
	}
	return out
}

// soundsProtective returns how to get the effect that a field's name promises, in any spelling of
// case, separators and plural, or the empty text if the name promises none.
func soundsProtective(name string) string {
	folded := strings.TrimSuffix(fold(name), "s")
	if advice, ok := reservedFolded[folded]; ok {
		return advice
	}
	for _, start := range protectiveStarts {
		if strings.HasPrefix(folded, start) {
			return "use one of the fields that the reference of workflows lists"
		}
	}
	return ""
}
