package session

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
)

type treeCommand struct{ oneSession }

func (c *treeCommand) Run(ctx context.Context, streams console.Streams) error {
	return c.ask(ctx, streams, func(conn grpc.ClientConnInterface) error {
		top, err := statev1.NewSessionServiceClient(conn).GetSession(ctx, &statev1.GetSessionRequest{
			SessionId: c.Name, Session: c.AsSession,
		})
		if err != nil {
			return err
		}
		all, err := listSessions(ctx, conn, client.NoLimit, &statev1.ListSessionsRequest{
			Session: c.AsSession, Filter: listing.Filter(listing.Term{Key: "root", Value: top.GetSession().GetRootSessionId()}),
		})
		if err != nil {
			return err
		}
		slices.Reverse(all) // children are shown in the order in which they were created
		tree := treeOf(jsonview.SessionOf(top.GetSession()), all)
		return c.Print(streams.Out, tree, func(w *show.Sheet) {
			fmt.Fprintln(w, "SESSION\tSTATUS\tSTATE UPDATE\tWAITS FOR")
			tree.draw(w, "", "")
		})
	})
}

// node is a session with those below it.
type node struct {
	jsonview.Session
	Children []*node `json:"children"`
}

// treeOf puts the sessions of a tree below the one that is the top.
func treeOf(top jsonview.Session, all []jsonview.Session) *node {
	below := map[string][]*node{}
	for i := range all {
		if parent := all[i].ParentSessionID; parent != nil {
			below[*parent] = append(below[*parent], &node{Session: all[i]})
		}
	}
	root := &node{Session: top}
	for next := []*node{root}; len(next) > 0; next = next[1:] {
		next[0].Children = below[next[0].SessionID]
		delete(below, next[0].SessionID) // this ends with any answer of a server
		next = append(next, next[0].Children...)
	}
	return root
}

// draw writes a session on a line and those below it under that: branch is the prefix of
// its name, and margin that of theirs.
func (n *node) draw(w io.Writer, branch, margin string) {
	fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\n",
		branch, show.Text(n.SessionName), statusText(&n.Session), reportText(&n.Session), show.Text(n.waitsFor()))
	for i, child := range n.Children {
		if i < len(n.Children)-1 {
			child.draw(w, margin+"├─ ", margin+"│  ")
		} else {
			child.draw(w, margin+"└─ ", margin+"   ")
		}
	}
}

// waitsFor returns the outstanding work of a session.
func (n *node) waitsFor() string {
	var all []string
	if n.TaskID != "" {
		all = append(all, n.TaskID)
	}
	if n.OpenChildren > 0 {
		all = append(all, fmt.Sprintf("%d below", n.OpenChildren))
	}
	if len(n.Callbacks) > 0 {
		all = append(all, fmt.Sprintf("to be called back by %d", len(n.Callbacks)))
	}
	return strings.Join(all, ", ")
}
