package client

import (
	"errors"
	"regexp"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// dialing is how the transport names the address that it has tried.
var dialing = regexp.MustCompile(`(?:dial \w+:? |lookup )([^\s"]*[^\s":])`)

// dialed names the address in an error of the transport, or returns "".
func dialed(message string) string {
	found := dialing.FindStringSubmatch(message)
	if found == nil {
		return ""
	}
	if found[1] == "lookup" {
		_, after, _ := strings.Cut(message, "lookup")
		return dialed("lookup" + after)
	}
	return " at " + found[1]
}

// Explain returns an error as a user reads it: a service's message without the trappings
// of the transport, every violation, and how to fix it.
func Explain(err error) string {
	var grpcError interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &grpcError) {
		return show.Lines(err.Error())
	}
	f := fault.From(err)
	text := f.Message
	st := grpcError.GRPCStatus()
	switch {
	case st.Code() == codes.Unavailable && strings.Contains(st.Message(), "looked like an HTTP/1.1 header"):
		text = "the server does not speak gRPC: when that is the HTTP port, write http:// before it"
	case st.Code() == codes.Unavailable && len(st.Details()) == 0:
		// The transport's own: the services say more.
		text = "the server" + dialed(st.Message()) + " cannot be reached: is `interlock up` running there? --server names another one"
	case st.Code() == codes.Unauthenticated:
		text += ": give --token or INTERLOCK_TOKEN, or --data-dir with the folder of that server's `interlock up`"
	case f.Reason == fault.SessionRequired:
		text += "; here that is --as-session or INTERLOCK_SESSION"
	}
	switch as := (errAsAgent{}); {
	case errors.As(err, &errVariable{}):
		text += "; the token is that of the variable " + TokenVariable + ", which counts more than a log-in: `unset " + TokenVariable +
			"`, or give --as or --token"
	case !errors.As(err, &as):
	case as.alone:
		text += "; no person has logged in, so only the agent's token was taken from the data folder: run `interlock login` " +
			"(the first person: with `--code`, as `interlock up` has printed), or give --token or INTERLOCK_TOKEN"
	default:
		text += "; neither standard input nor standard error is a terminal, so only the agent's token was taken " +
			"from the data folder: give --token or INTERLOCK_TOKEN with another"
	}
	for _, v := range f.Violations {
		text += "\n  " + strings.TrimPrefix(v.Pointer+": ", ": ") + v.Message
	}
	return show.Lines(text)
}
