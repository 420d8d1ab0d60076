package client

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/internal/listing"
)

// Last names the newest thing of its kind.
const Last = "@last"

// shortest is how many characters the beginning of an id has at least, without its prefix.
const shortest = 4

// candidates is how many ids an ambiguous beginning is explained with.
const candidates = 10

// kind is a kind of things that have ids.
type kind struct {
	what, prefix string
	// names reports that the things have names, too, which look like anything.
	names bool
	// list are the newest ids, that a filter selects.
	list func(ctx context.Context, conn grpc.ClientConnInterface, filter string, size int32) ([]string, error)
}

// RunID returns the id that a user means: as given, the newest, or the only one that
// begins so.
func RunID(ctx context.Context, conn grpc.ClientConnInterface, given string) (string, error) {
	return kind{"run", typeid.Run, false, func(ctx context.Context, conn grpc.ClientConnInterface, filter string, size int32) ([]string, error) {
		page, err := enginev1.NewRunServiceClient(conn).ListRuns(ctx, &enginev1.ListRunsRequest{Filter: filter, PageSize: size})
		return each(page.GetRuns(), (*enginev1.Run).GetRunId), err
	}}.id(ctx, conn, given)
}

// ApprovalID does the work of RunID for an approval.
func ApprovalID(ctx context.Context, conn grpc.ClientConnInterface, given string) (string, error) {
	return kind{"approval", typeid.Approval, false, func(ctx context.Context, conn grpc.ClientConnInterface, filter string, size int32) ([]string, error) {
		page, err := approvalv1.NewApprovalServiceClient(conn).ListApprovals(ctx, &approvalv1.ListApprovalsRequest{Filter: filter, PageSize: size})
		return each(page.GetApprovals(), (*approvalv1.Approval).GetApprovalId), err
	}}.id(ctx, conn, given)
}

// StateID does the work of RunID for a state, as a session sees them.
func StateID(ctx context.Context, conn grpc.ClientConnInterface, given, session string) (string, error) {
	return kind{"state", typeid.State, false, func(ctx context.Context, conn grpc.ClientConnInterface, filter string, size int32) ([]string, error) {
		page, err := statev1.NewStateServiceClient(conn).ListStates(ctx, &statev1.ListStatesRequest{Filter: filter, PageSize: size, Session: session})
		return each(page.GetStates(), (*statev1.State).GetStateId), err
	}}.id(ctx, conn, given)
}

// SessionID does the work of RunID for a session, as a session sees them. A name is left
// as it is.
func SessionID(ctx context.Context, conn grpc.ClientConnInterface, given, session string) (string, error) {
	return kind{"session", typeid.Session, true, func(ctx context.Context, conn grpc.ClientConnInterface, filter string, size int32) ([]string, error) {
		page, err := statev1.NewSessionServiceClient(conn).ListSessions(ctx, &statev1.ListSessionsRequest{Filter: filter, PageSize: size, Session: session})
		return each(page.GetSessions(), (*statev1.Session).GetSessionId), err
	}}.id(ctx, conn, given)
}

// id finds the id that is meant. A text that cannot begin an id is left to the server,
// which says that there is no such thing.
func (k kind) id(ctx context.Context, conn grpc.ClientConnInterface, given string) (string, error) {
	if given == Last {
		newest, err := k.list(ctx, conn, "", 1)
		if err == nil && len(newest) == 0 {
			return "", fmt.Errorf("%s: there is no %s yet", Last, k.what)
		}
		if err != nil {
			return "", err
		}
		return newest[0], nil
	}
	begin, partial := k.beginning(given)
	if !partial {
		return given, nil
	}
	found, err := k.list(ctx, conn, listing.Filter(listing.Term{Key: listing.Prefix, Value: begin}), candidates+1)
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return given, nil
	case len(found) == 1:
		return found[0], nil
	}
	more := ""
	if len(found) > candidates {
		found, more = found[:candidates], "\n  and more"
	}
	return "", console.Misusedf("%q begins the ids of several %ss: write more of it\n  %s%s", given, k.what, strings.Join(found, "\n  "), more)
}

// beginning returns the beginning of an id, which may lack the prefix of its kind. It is
// false for whole ids and for other texts.
func (k kind) beginning(given string) (string, bool) {
	rest, prefixed := strings.CutPrefix(given, k.prefix+"_")
	if !prefixed && k.names || len(rest) < shortest || len(rest) >= typeid.Length || strings.Trim(rest, typeid.Alphabet) != "" {
		return "", false
	}
	return k.prefix + "_" + rest, true
}

func each[M any](all []M, id func(M) string) []string {
	ids := make([]string, len(all))
	for i, one := range all {
		ids[i] = id(one)
	}
	return ids
}
