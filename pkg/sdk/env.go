package sdk

import (
	"fmt"
	"os"
	"strconv"
)

// DefaultServer is where `interlock up` serves gRPC by default.
const DefaultServer = "127.0.0.1:7421"

// FromEnv makes a client from environment variables, under the names that the command
// line reads: INTERLOCK_SERVER (a gRPC address; [DefaultServer] without it),
// INTERLOCK_TOKEN, INTERLOCK_NAMESPACE, INTERLOCK_CA, INTERLOCK_INSECURE,
// INTERLOCK_SESSION, INTERLOCK_RUN, WORKFLOW_STATE_ID, INTERLOCK_BREAKGLASS, INTERLOCK_BREAKGLASS_KEY,
// INTERLOCK_BREAKGLASS_SPOOL and INTERLOCK_PRINCIPAL.
func FromEnv() (*Client, error) {
	target, opts, err := settings(os.Getenv)
	if err != nil {
		return nil, err
	}
	return Dial(target, opts)
}

// settings reads an environment.
func settings(getenv func(string) string) (target string, opts Options, err error) {
	target = getenv("INTERLOCK_SERVER")
	if target == "" {
		target = DefaultServer
	}
	if err := checkTarget(target); err != nil {
		return "", opts, fmt.Errorf("INTERLOCK_SERVER: %w", err)
	}
	if text := getenv("INTERLOCK_INSECURE"); text != "" {
		if opts.Insecure, err = strconv.ParseBool(text); err != nil {
			return "", opts, fmt.Errorf("INTERLOCK_INSECURE is %q: give true or false", text)
		}
	}
	opts.Token, opts.Namespace = getenv("INTERLOCK_TOKEN"), getenv("INTERLOCK_NAMESPACE")
	opts.Session, opts.Run, opts.State = getenv("INTERLOCK_SESSION"), getenv("INTERLOCK_RUN"), getenv("WORKFLOW_STATE_ID")
	opts.BreakGlass = BreakGlass{
		Grant: getenv("INTERLOCK_BREAKGLASS"), Key: getenv("INTERLOCK_BREAKGLASS_KEY"), Spool: getenv("INTERLOCK_BREAKGLASS_SPOOL"), Principal: getenv("INTERLOCK_PRINCIPAL"),
	}
	opts.TLS = TLS{CAFile: getenv("INTERLOCK_CA")}
	return target, opts, nil
}
