package upstream

import (
	"slices"
	"strings"
)

// Environment has a caller's demands on the environment of a process, such as those of a
// run's state (S3.4): before a call, a process with another one is started anew. That is
// for callers that have the server to themselves. A process that serves many callers at
// once has one environment, which is the operator's alone.
type Environment struct {
	// Set are variables in addition to those that it has.
	Set []Variable
	// Blocked are names of variables that it must not have, no matter who has set them.
	Blocked []string
}

// Variable of an environment.
type Variable struct{ Name, Value string }

// environment is the environment of a process: sorted NAME=value.
type environment []string

// environment returns that of the server's process: ours without Interlock's own
// variables (INTERLOCK_TOKEN above all), with the additions of its configuration and a
// caller's demands; nil if there is none. In a jail, it has of ours the harmless and the
// lent variables.
func (s Server) environment(mode Jails, ours []string, demanded *Environment) environment {
	if needs, _ := s.jailed(mode); needs != nil {
		ours = needs.passed(ours)
	}
	env := childEnv(ours, s.Env)
	if demanded != nil {
		for _, v := range demanded.Set {
			env = setVariable(env, v.Name, v.Value)
		}
		env = slices.DeleteFunc(env, func(entry string) bool {
			name, _, _ := strings.Cut(entry, "=")
			return slices.ContainsFunc(demanded.Blocked, func(blocked string) bool {
				return sameVariable(name, blocked)
			})
		})
	}
	slices.Sort(env)
	return env
}

func childEnv(ours []string, extra map[string]string) environment {
	env := slices.DeleteFunc(slices.Clone(ours), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(strings.ToUpper(name), "INTERLOCK_")
	})
	for name, value := range extra {
		env = setVariable(env, name, value)
	}
	return env
}

func setVariable(env environment, name, value string) environment {
	env = slices.DeleteFunc(env, func(entry string) bool {
		have, _, _ := strings.Cut(entry, "=")
		return sameVariable(have, name)
	})
	return append(env, name+"="+value)
}

// LoadsCode reports whether a variable makes common loaders, interpreters and launchers
// run other code: those that sudo removes, and their like.
func LoadsCode(name string) bool {
	name = strings.ToUpper(name)
	prefixes := []string{
		"LD_", "DYLD_", "_RLD", "NPM_CONFIG_", "GIT_", "PYTHON", "PERL", "RUBY", "BUNDLE_", "GEM_", "LUA_", "BASH_FUNC_",
	}
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	return slices.ContainsFunc(prefixes, begins) || slices.Contains([]string{
		"PATH", "NODE_OPTIONS", "NODE_PATH", "BASH_ENV", "ENV", "SHELL", "SHELLOPTS", "BASHOPTS", "PS4", "IFS",
		"ZDOTDIR", "FPATH", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH",
		"DOTNET_STARTUP_HOOKS", "PHPRC", "PHP_INI_SCAN_DIR",
		"DENO_DIR", "BUN_INSTALL", "GCONV_PATH", "LIBPATH", "SHLIB_PATH",
	}, name)
}
