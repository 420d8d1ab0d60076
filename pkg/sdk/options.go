package sdk

import (
	"context"
	"encoding/json"
	"strings"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// CallOption says more of a tool call that is checked.
type CallOption func(*call)

// call is a tool call that is put before the gate.
type call struct {
	req      policyv1.CheckToolCallRequest
	onReport func(Report)
	// shell and jailRequired are those of GuardCommand.
	shell        string
	jailRequired bool
}

// InFolder names the folder that the call is made in, as an absolute path. A command outside of
// the run's workspace is no evidence.
func InFolder(path string) CallOption { return func(c *call) { c.req.Folder = path } }

// QualifiedTool returns the full name of the tool, mcp__SERVER__TOOL, where the call names TOOL
// alone: policies judge the full name.
func QualifiedTool(name string) CallOption { return func(c *call) { c.req.QualifiedTool = name } }

// EstimatedCost returns the estimated cost of the call, in decimal US dollars such as "0.02".
// It is reserved of budgets until the report.
func EstimatedCost(usd string) CallOption { return func(c *call) { c.req.EstimatedCostUsd = usd } }

// Explain adds the explanation to the decision.
func Explain() CallOption { return func(c *call) { c.req.Explain = true } }

// DryRun only decides: it does not count, record or ask, and the decision allows no call. Guard
// refuses it.
func DryRun() CallOption { return func(c *call) { c.req.DryRun = true } }

// CallID returns the id of the call, which makes its check repeatable: the same id with the same
// tool and input returns the first decision while the run has not changed. Without it each check
// has a new one.
func CallID(id string) CallOption { return func(c *call) { c.req.CallId = id } }

// OnReport sets a function that is called with the report of a guarded call once the
// server has accepted it.
func OnReport(do func(Report)) CallOption { return func(c *call) { c.onReport = do } }

// ChangeOption says more of a change.
type ChangeOption func(*change)

type change struct {
	key    string
	staged bool
}

// IdempotencyKey returns the caller's own key of a change: the same request with the same key,
// also of another process, returns the first response. Without it each change has a new key,
// which its repeats share.
func IdempotencyKey(key string) ChangeOption { return func(c *change) { c.key = key } }

// Staged stores a version of a workflow, process or policy that is not live, as an operator: a set makes it live (see
// [Client.ApplySet]). Other changes ignore it.
func Staged() ChangeOption { return func(c *change) { c.staged = true } }

// staged reports that a version is not to be live.
func staged(opts []ChangeOption) bool {
	var c change
	for _, opt := range opts {
		opt(&c)
	}
	return c.staged
}

// keyOf returns the key of a change.
func keyOf(opts []ChangeOption) string {
	var c change
	for _, opt := range opts {
		opt(&c)
	}
	if c.key == "" {
		return newKey()
	}
	return c.key
}

// page reads all pages of a list, at most the given number of elements; 0 is all.
func page[T any](ctx context.Context, most int, next func(ctx context.Context, size int32, token string) ([]T, string, error)) ([]T, error) {
	const size = 100
	all := []T{}
	for token := ""; ; {
		want := int32(size)
		if most > 0 {
			want = int32(min(size, most-len(all)))
		}
		some, following, err := next(ctx, want, token)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if token = following; token == "" || most > 0 && len(all) >= most {
			return all, nil
		}
	}
}

// terms returns a filter of the members that are not empty: names and values by turns.
func terms(pairs ...string) string {
	var all []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			value, _ := json.Marshal(pairs[i+1]) //nolint:errchkjson // a text always encodes
			all = append(all, pairs[i]+"="+string(value))
		}
	}
	return strings.Join(all, " AND ")
}

// each converts the elements of a list.
func each[T, U any](list []T, convert func(T) U) []U {
	out := make([]U, len(list))
	for i, one := range list {
		out[i] = convert(one)
	}
	return out
}
