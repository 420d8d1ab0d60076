package earlyjail

import "github.com/interlock-run/interlock/services/cmd/interlock/internal/jailclient"

// Rest runs a command that was claimed before the program was initialised, and returns its exit status. It is nil where there
// is none. The program has nothing else to do then.
var Rest func(jailclient.Proxy) int
