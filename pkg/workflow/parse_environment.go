package workflow

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

func (r stateSection) environment(f document.Fields, s *State) {
	if name := r.alias(f, "blocked_env", "deny_env"); name != "" {
		if blocked, ok := f.Strings(name, maxItems); ok {
			for _, item := range blocked {
				r.variable(item.Text, item.At)
			}
			r.report.Duplicates(blocked)
			s.BlockedEnv = document.Texts(blocked)
		}
	}
	name := r.alias(f, "env_overrides", "env")
	if name == "" {
		return
	}
	overrides, ok := f.Object(name)
	if !ok {
		return
	}
	for variable, value := range overrides.Value.Members() {
		r.variable(variable, overrides.At.Key(variable))
		text, ok := overrides.Str(variable)
		if !ok {
			continue
		}
		if strings.Contains(value.Str(), "\x00") {
			r.report.Errorf(overrides.At.Key(variable), document.CodeRange, "a variable cannot hold a NUL character; remove it")
		}
		if slices.Contains(s.BlockedEnv, variable) {
			r.report.Warnf(overrides.At.Key(variable), document.CodeNoEffect, "%s is also in \"blocked_env\", so no command may read it; remove one", document.Quote(variable))
		}
		s.EnvOverrides = append(s.EnvOverrides, EnvVar{variable, text})
	}
}

// alias returns which of two names of one field is there, the first when both
// are (ALIAS_CONFLICT), or "".
func (r stateSection) alias(f document.Fields, name, other string) string {
	switch {
	case f.Has(name) && f.Has(other):
		r.report.Errorf(f.At, document.CodeAliasConflict, "%q and its other name %q are both present; keep one", name, other)
		r.report.Errorf(f.At.Key(other), document.CodeAliasConflict, "this is another name of %q, which is also present; remove one", name)
		return name
	case f.Has(other):
		return other
	case f.Has(name):
		return name
	}
	return ""
}

// variable checks the name of an environment variable: one that a shell can read.
func (r stateSection) variable(name string, at *document.Path) {
	if name == "" {
		r.report.Errorf(at, document.CodeEmpty, "the variable name is empty; name one or remove it")
		return
	}
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			r.report.Errorf(at, document.CodeName,
				"%s is not a valid variable name; use letters, digits and _ without $, not beginning with a digit", document.Quote(name))
			return
		}
	}
}
