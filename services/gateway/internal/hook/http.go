package hook

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
	"github.com/interlock-run/interlock/services/internal/hookwire"
)

const maxEvent = 8 << 20

// ServeHTTP serves hook events of callers that package access has let in: the event
// as the body, an Answer as the answer.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
	if err != nil {
		write(w, block(errors.New("the hook event could not be read: "+err.Error())))
		return
	}
	write(w, h.Handle(outgoing(r), data, Options{
		Agent: Agent(r.Header.Get(hookwire.AgentHeader)), Workflow: r.Header.Get(hookwire.WorkflowHeader), Local: local(r), Patience: patience(r),
		Session: r.Header.Get(hookwire.SessionHeader), Refused: r.Header.Get(hookwire.RefusedHeader), Observe: r.Header.Get(hookwire.ObserveHeader) != "", Jail: jailFrom(r.Header),
	}))
}

// outgoing returns the context for calls to the services for a request.
func outgoing(r *http.Request) context.Context {
	ctx := r.Context()
	if token := access.CallerOf(ctx).Token; token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	if witness := r.Header.Get(hookwire.WitnessHeader); witness != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, rpc.WitnessKey, witness)
	}
	if behalf := r.Header.Get(access.ForHeader); behalf != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, rpc.ForKey, behalf)
	}
	if namespace := r.Header.Get(hookwire.NamespaceHeader); namespace != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, rpc.NamespaceKey, namespace)
	}
	return ctx
}

// Refuse implements access.Part: a caller that is not known is blocked as by any
// other answer.
func (h *Handler) Refuse(w http.ResponseWriter, _ *http.Request, why *access.Refusal) {
	switch why.Status {
	case http.StatusForbidden:
		http.Error(w, why.Message, why.Status)
	case http.StatusUnauthorized:
		write(w, block(errors.New("the token is not known here")))
	default:
		write(w, block(errors.New(why.Message)))
	}
}

// patience returns that of a hook; none when that cannot be read.
func patience(r *http.Request) time.Duration {
	seconds, err := strconv.ParseUint(r.Header.Get(hookwire.PatienceHeader), 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// local reports that a request comes from this machine: by its loopback interface,
// or by a unix socket, which has no address.
func local(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err != nil || from.Addr().Unmap().IsLoopback()
}

func write(w http.ResponseWriter, a Answer) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(a); err != nil {
		// The client went away; it blocks without an answer.
		return
	}
}
