package hook

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/interlock-run/interlock/pkg/rpc"
)

// Request headers of the hook.
const (
	// WorkflowHeader names the workflow that a session without a run is put on.
	WorkflowHeader = "X-Interlock-Workflow"
	// AgentHeader names the agent whose event this is.
	AgentHeader = "X-Interlock-Agent"
	// PatienceHeader is how many seconds the hook waits for its answer.
	PatienceHeader = "X-Interlock-Patience"
)

const maxEvent = 8 << 20

// HTTP serves hook events: the event as the body, an Answer as the answer. known,
// when given, tells whether a token is good before the event is read; nil leaves
// that to the services.
func HTTP(h *Handler, known func(ctx context.Context, token string) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if known != nil {
			token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			if !ok || known(r.Context(), token) != nil {
				write(w, block(errors.New("the token is not known here")))
				return
			}
		}
		data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
		if err != nil {
			write(w, block(errors.New("the hook event could not be read: "+err.Error())))
			return
		}
		ctx := r.Context()
		for header, key := range map[string]string{
			"Authorization": "authorization", "X-Interlock-Namespace": rpc.NamespaceKey,
		} {
			if v := r.Header.Get(header); v != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, key, v)
			}
		}
		write(w, h.Handle(ctx, data, Options{
			Agent: Agent(r.Header.Get(AgentHeader)), Workflow: r.Header.Get(WorkflowHeader), Local: local(r), Patience: patience(r),
		}))
	})
}

// patience is what a hook says of it; none when that cannot be read.
func patience(r *http.Request) time.Duration {
	seconds, err := strconv.ParseUint(r.Header.Get(PatienceHeader), 10, 16)
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
