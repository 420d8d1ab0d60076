package workflow

import (
	"regexp"
	"sync"

	"github.com/interlock-run/interlock/pkg/document"
)

// maxPolicies bounds the policies that a workflow names.
const maxPolicies = 16

// policyName is the form of names in the registry of policies (S7).
var policyName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9._-]{1,128}$`) })

// policies reads meta.policy: one name, or a list of them. Whether they exist is
// known when a tool call is judged.
func (r metaSection) policies(meta document.Fields) {
	v, there := meta.Value.Get("policy")
	if !there {
		return
	}
	at := meta.At.Key("policy")
	items := []document.StringAt{{Text: v.Str(), At: at}}
	switch v.Kind() {
	case document.String:
	case document.Array:
		var ok bool
		if items, ok = meta.Strings("policy", maxPolicies); !ok {
			return
		}
	default:
		r.report.Errorf(at, document.CodeType, "\"policy\" must be a policy's name, or a list of names")
		return
	}
	for _, item := range items {
		switch {
		case item.Text == "":
			r.report.Errorf(item.At, document.CodeEmpty, "the name is empty; name a policy or remove it")
		case !policyName().MatchString(item.Text):
			r.report.Errorf(item.At, document.CodeName, "%s is not a valid policy name; use a-z, 0-9, . _ and -, at most 128 of them", document.Quote(item.Text))
		}
	}
	r.report.Duplicates(items)
	r.def.Meta.Policies = document.Texts(items)
}
