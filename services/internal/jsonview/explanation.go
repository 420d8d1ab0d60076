package jsonview

import (
	"time"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// Explanation has the reasons of a decision, and how to change it.
type Explanation struct {
	InputKept  bool           `json:"input_kept" doc:"False when the log does not keep the input of a recorded call (meta.capture_output): then command is absent."`
	Command    *CommandLine   `json:"command,omitzero" doc:"The command line of a call of a shell."`
	State      StateReason    `json:"state" doc:"The verdict of the state."`
	Policies   []PolicyReason `json:"policies" doc:"The verdict of each policy that holds for the call."`
	Limits     []LimitReason  `json:"limits" doc:"The limits that the call counts against. Their counts are the present ones, also for a call that was recorded long ago."`
	Jail       *Jail          `json:"jail,omitzero" doc:"The jail that the command must run in; absent when it needs none."`
	WouldAllow []string       `json:"would_allow" doc:"Changes by which the call would be allowed, a sentence each. Empty when it is allowed."`
}

// CommandLine is a command line as it is judged.
type CommandLine struct {
	Line  string        `json:"line" doc:"The line. Where the input names a folder, it begins with a cd to that."`
	Parts []CommandPart `json:"parts" doc:"The commands and writes of the line, in the order of the text. A command that another one runs lies within that one."`
}

// CommandPart is a simple command of a line, or something of it that no command does.
type CommandPart struct {
	Start    int64    `json:"start" doc:"Where it begins in the line: an offset in bytes of its UTF-8."`
	End      int64    `json:"end" doc:"The offset of the byte behind it."`
	Text     string   `json:"text"`
	Words    []string `json:"words" doc:"After quotes are removed. Parts that are known only when the line runs are an ellipsis."`
	Verdict  string   `json:"verdict" enum:"ok,refused,unknown"`
	Code     string   `json:"code,omitzero"`
	Message  string   `json:"message,omitzero"`
	Writes   []string `json:"writes,omitempty" doc:"Files that it would write, as far as the text shows."`
	ReadsEnv []string `json:"reads_env,omitempty" doc:"Variables that its words read."`
	Matched  string   `json:"matched,omitzero" doc:"The entry of allowed_commands that it matches."`
}

// StateReason is the verdict of a run's state on a call.
type StateReason struct {
	Verdict      string       `json:"verdict" enum:"ALLOW,ASK,DENY"`
	Code         string       `json:"code,omitzero"`
	Message      string       `json:"message,omitzero"`
	AllowedTools *[]string    `json:"allowed_tools,omitzero" doc:"Absent when the state does not restrict tools."`
	Matched      string       `json:"matched,omitzero" doc:"The entry of allowed_tools or disallowed_tools that the tool matches."`
	Calls        []CallReason `json:"calls,omitempty" doc:"The entries of the state's calls that are about the tool, in their order."`
}

// CallReason is an entry of a state's calls that is about a call.
type CallReason struct {
	Rule       string      `json:"rule" doc:"JSON Pointer of the entry in the state."`
	Pattern    string      `json:"pattern" doc:"The tool or the capability that it names."`
	Result     string      `json:"result" enum:"holds,fails,doubt" doc:"The state refuses the call unless it holds."`
	Conditions []Condition `json:"conditions,omitempty" doc:"Its comparisons."`
}

// PolicyReason is the verdict of one policy on a call.
type PolicyReason struct {
	Policy  string       `json:"policy" doc:"Empty for the rules of a process."`
	Version int64        `json:"version" doc:"0 when there is no such policy. Of a recorded decision: the recorded one for the policy that decided, and for others the one that is live now."`
	Scope   string       `json:"scope,omitzero" doc:"Why it holds for the call, such as: workflow deploy."`
	Rules   []RuleReason `json:"rules" doc:"In their order, deny first, the default last."`
	Verdict string       `json:"verdict" enum:"ALLOW,ASK,DENY"`
	Code    string       `json:"code,omitzero"`
	Message string       `json:"message,omitzero" doc:"The deciding rule, and how to change the decision."`
}

// RuleReason is one rule of a policy, and whether it is about a call.
type RuleReason struct {
	Rule       string      `json:"rule" doc:"JSON Pointer of the rule in the policy."`
	Effect     string      `json:"effect" enum:"deny,ask,allow"`
	Capability string      `json:"capability" doc:"Its pattern; empty for the default."`
	Conditions []Condition `json:"conditions,omitempty" doc:"Its further requirements on the call."`
	Matches    bool        `json:"matches" doc:"True when it is about the call."`
	Decides    bool        `json:"decides" doc:"True when it is the one that decides for its policy."`
	Unclear    bool        `json:"unclear,omitzero" doc:"True when it cannot be told whether it is about the call."`
	ID         string      `json:"id,omitzero" doc:"Its name in the policy; absent for none."`
}

// Condition is something that a rule requires.
type Condition struct {
	Field    string `json:"field" doc:"A pointer into the input, or a facet. Agents get none that is about the time, the caller or the session."`
	Expected string `json:"expected"`
	Actual   string `json:"actual"`
	Holds    bool   `json:"holds"`
	Doubt    string `json:"doubt,omitzero" doc:"Why it cannot be told, and how to send the value; absent when it can."`
	Negated  bool   `json:"negated,omitzero" doc:"True when it stands under not or unless: when it holds, that part of the rule does not."`
}

// LimitReason is a limit that a call counts against.
type LimitReason struct {
	Policy        string    `json:"policy,omitzero" doc:"Absent for limits of the state."`
	Rule          string    `json:"rule,omitzero" doc:"JSON Pointer of the rule in the policy, or the field of the state."`
	Measure       string    `json:"measure" enum:"calls,money,emails,iterations,result_bytes,files"`
	Scope         string    `json:"scope" enum:"policy,principal,session,entry"`
	Subject       string    `json:"subject,omitzero" doc:"The principal or the root session."`
	WindowSeconds int64     `json:"window_seconds,omitzero" doc:"Of rolling windows."`
	Period        string    `json:"period,omitzero" doc:"hourly, daily or monthly, in UTC."`
	ResetsAt      time.Time `json:"resets_at,omitzero" doc:"The end of the present period."`
	Used          int64     `json:"used" doc:"The present count, before the call."`
	Max           int64     `json:"max"`
	After         int64     `json:"after" doc:"The count with the call."`
	Unit          string    `json:"unit" enum:"calls,micro-dollars,emails,bytes,files"`
}

// ExplanationOf returns the JSON of an explanation; nil for none.
func ExplanationOf(e *policyv1.Explanation) *Explanation {
	if e == nil {
		return nil
	}
	s := e.GetState()
	return &Explanation{
		InputKept: e.GetInputKept(), Command: CommandLineOf(e.GetCommand()),
		State: StateReason{
			Verdict: decisionName(s.GetVerdict()), Code: codeName(s.GetCode()), Message: s.GetMessage(),
			AllowedTools: ListOf(s.GetToolsRestricted(), s.GetAllowedTools()), Matched: s.GetMatched(),
			Calls: Each(s.GetCalls(), func(c *policyv1.CallReason) CallReason {
				return CallReason{
					Rule: c.GetRule(), Pattern: c.GetPattern(), Result: protomap.LowerWord(c.GetResult(), "TRUTH_"), Conditions: Each(c.GetConditions(), conditionOf),
				}
			}),
		},
		Policies: Each(e.GetPolicies(), policyReasonOf), Limits: Each(e.GetLimits(), limitReasonOf), WouldAllow: e.GetWouldAllow(),
		Jail: jailOf(e.GetJailLevel(), e.GetJailDigest()),
	}
}

// CommandLineOf returns the JSON of a command line; nil for none.
func CommandLineOf(l *policyv1.CommandLine) *CommandLine {
	if l == nil {
		return nil
	}
	return &CommandLine{Line: l.GetLine(), Parts: Each(l.GetParts(), commandPartOf)}
}

func commandPartOf(p *policyv1.CommandPart) CommandPart {
	return CommandPart{
		Start: p.GetStart(), End: p.GetEnd(), Text: p.GetText(), Words: p.GetWords(), Verdict: protomap.LowerWord(p.GetVerdict(), "PART_VERDICT_"),
		Code: codeName(p.GetCode()), Message: p.GetMessage(), Writes: p.GetWrites(), ReadsEnv: p.GetReadsEnv(), Matched: p.GetMatched(),
	}
}

func policyReasonOf(p *policyv1.PolicyReason) PolicyReason {
	return PolicyReason{
		Policy: p.GetPolicy(), Version: p.GetVersion(), Scope: p.GetScope(), Rules: Each(p.GetRules(), ruleReasonOf),
		Verdict: decisionName(p.GetVerdict()), Code: codeName(p.GetCode()), Message: p.GetMessage(),
	}
}

func ruleReasonOf(r *policyv1.RuleReason) RuleReason {
	return RuleReason{
		Rule: r.GetRule(), Effect: protomap.LowerWord(r.GetEffect(), "RULE_EFFECT_"), Capability: r.GetCapability(),
		Conditions: Each(r.GetConditions(), conditionOf),
		Matches:    r.GetMatches(), Decides: r.GetDecides(), Unclear: r.GetUnclear(), ID: r.GetId(),
	}
}

func conditionOf(c *policyv1.Condition) Condition {
	return Condition{
		Field: c.GetField(), Expected: c.GetExpected(), Actual: c.GetActual(), Holds: c.GetHolds(), Doubt: c.GetDoubt(), Negated: c.GetNegated(),
	}
}

// units of measures.
var units = map[policyv1.Measure]string{
	policyv1.Measure_MEASURE_CALLS: "calls", policyv1.Measure_MEASURE_MONEY: "micro-dollars", policyv1.Measure_MEASURE_EMAILS: "emails",
	policyv1.Measure_MEASURE_ITERATIONS: "calls", policyv1.Measure_MEASURE_RESULT_BYTES: "bytes", policyv1.Measure_MEASURE_FILES: "files",
	policyv1.Measure_MEASURE_AMOUNT: "millionths",
}

func limitReasonOf(l *policyv1.LimitReason) LimitReason {
	return LimitReason{
		Policy: l.GetPolicy(), Rule: l.GetRule(), Measure: protomap.LowerWord(l.GetMeasure(), "MEASURE_"), Scope: protomap.LowerWord(l.GetScope(), "LIMIT_SCOPE_"),
		Subject: l.GetSubject(), WindowSeconds: secondsOf(l.GetWindow()), Period: protomap.LowerWord(l.GetPeriod(), "PERIOD_"), ResetsAt: Time(l.GetResetsAt()),
		Used: l.GetUsed(), Max: l.GetMax(), After: l.GetAfter(), Unit: units[l.GetMeasure()],
	}
}
