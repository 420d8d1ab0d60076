package sdk

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/rpc"
)

// DefaultServer is where `interlock up` serves gRPC unless told otherwise.
const DefaultServer = "127.0.0.1:7421"

// FromEnv makes a client of what the environment says, under the names that the
// command line reads: INTERLOCK_SERVER (a gRPC address; [DefaultServer] without
// it), INTERLOCK_TOKEN, INTERLOCK_NAMESPACE, INTERLOCK_CA, INTERLOCK_INSECURE,
// INTERLOCK_SESSION, INTERLOCK_RUN, and WORKFLOW_STATE_ID.
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
	switch {
	case target == "":
		target = DefaultServer
	case strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://"):
		return "", opts, fmt.Errorf("INTERLOCK_SERVER is %s, an HTTP address: give the address of its gRPC services, such as %s", target, DefaultServer)
	}
	if text := getenv("INTERLOCK_INSECURE"); text != "" {
		if opts.Insecure, err = strconv.ParseBool(text); err != nil {
			return "", opts, fmt.Errorf("INTERLOCK_INSECURE is %q: give true or false", text)
		}
	}
	opts.Token, opts.Namespace = getenv("INTERLOCK_TOKEN"), getenv("INTERLOCK_NAMESPACE")
	opts.Session, opts.Run, opts.State = getenv("INTERLOCK_SESSION"), getenv("INTERLOCK_RUN"), getenv("WORKFLOW_STATE_ID")
	opts.TLS = rpc.ClientTLS{CAFile: getenv("INTERLOCK_CA")}
	return target, opts, nil
}
