package mcp

import (
	"fmt"
	"slices"
	"strings"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
)

// The environment of a stdio upstream follows the state of the run (S3.4) where
// one caller has the upstream to itself, as each `interlock mcp` has: before a
// call in a state that demands another environment, the server is started anew.
//
// The upstreams of a gateway's /mcp serve many sessions at once, in different
// states, and a process has one environment. There it is the operator's alone:
// what a state blocks is not removed. Keep such variables out of the gateway's
// environment, or give each agent an `interlock mcp` of its own.

// environment is what a process is started with: sorted NAME=value.
type environment []string

// environment is that of the upstream's process: ours without what is ours alone
// (INTERLOCK_TOKEN above all), with what its configuration adds and what the state
// of a run sets, and without what that blocks, whoever has set it. run may be nil.
func (u Upstream) environment(ours []string, run *enginev1.Run) environment {
	env := childEnv(ours, u.Env)
	if run != nil && brief.StandingOf(run) == brief.Judged {
		for _, v := range run.GetEnvOverrides() {
			env = setVariable(env, v.GetName(), v.GetValue())
		}
		env = slices.DeleteFunc(env, func(entry string) bool {
			name, _, _ := strings.Cut(entry, "=")
			return slices.ContainsFunc(run.GetBlockedEnv(), func(blocked string) bool { return sameVariable(name, blocked) })
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

// checkOverrides refuses variables that decide which code a program runs. A
// workflow may come from an agent, and an upstream server has secrets and rights
// that its agent has not.
func checkOverrides(run *enginev1.Run) error {
	for _, v := range run.GetEnvOverrides() {
		if loadsCode(v.GetName()) {
			return fmt.Errorf("the state %s sets %s, which decides what code a server runs, and Interlock does not pass that on; "+
				"leave it out of env_overrides, or set it in the configuration of the server", run.GetState(), v.GetName())
		}
	}
	return nil
}

// loadsCode is whether a variable makes common loaders, interpreters and launchers
// run other code: those that sudo removes, and their like.
func loadsCode(name string) bool {
	name = strings.ToUpper(name)
	for _, prefix := range []string{"LD_", "DYLD_", "_RLD", "NPM_CONFIG_", "GIT_", "PYTHON", "PERL", "RUBY", "BUNDLE_", "GEM_", "LUA_", "BASH_FUNC_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{
		"PATH", "NODE_OPTIONS", "NODE_PATH", "BASH_ENV", "ENV", "SHELL", "SHELLOPTS", "BASHOPTS", "PS4", "IFS", "ZDOTDIR", "FPATH",
		"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH", "DOTNET_STARTUP_HOOKS", "PHPRC", "PHP_INI_SCAN_DIR",
		"DENO_DIR", "BUN_INSTALL", "GCONV_PATH", "LIBPATH", "SHLIB_PATH",
	}, name)
}
