package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/decisions"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type verifyCommand struct {
	daemon.NATSLogin
	client.Connection
	show.Printer
	Partition string            `help:"Only the chain of this root run." placeholder:"RUN"`
	Head      map[string]string `help:"Head of a chain that was kept elsewhere: it must be the chain's, or one of before. May be repeated." placeholder:"RUN=HASH" mapsep:"none"`
	NATSURL   string            `name:"nats-url" help:"NATS with the published heads, which the chains must lead to; that in the data folder by default, and none with --server." env:"INTERLOCK_NATS_URL" placeholder:"URL"`
}

// auditView is the JSON of the findings.
type auditView struct {
	OK     bool                   `json:"ok"`
	Chains []jsonview.ChainReport `json:"chains"`
	Heads  []headView             `json:"heads,omitempty"`
	// RolledBack are published heads that the chains do not lead to.
	RolledBack []anchor `json:"rolled_back,omitempty"`
}

// headView is the JSON of a head that was given.
type headView struct {
	Partition string `json:"partition"`
	Head      string `json:"head"`
	OK        bool   `json:"ok"`
	// Sequence of the record that it is the hash of, and how many were sealed since.
	Sequence int64  `json:"sequence,omitzero"`
	Since    int64  `json:"sealed_since,omitzero"`
	Problem  string `json:"problem,omitzero"`
}

func (c *verifyCommand) Run(ctx context.Context, io console.Streams) error {
	var view *auditView
	err := c.Ask(ctx, io, func(conn grpc.ClientConnInterface) (err error) {
		view, err = c.verify(ctx, conn)
		return err
	})
	if err != nil {
		return err
	}
	if err := c.Print(io.Out, view, view.table); err != nil {
		return err
	}
	if !view.OK {
		return console.ErrNo
	}
	return nil
}

func (c *verifyCommand) verify(ctx context.Context, conn grpc.ClientConnInterface) (*auditView, error) {
	anchors, err := c.anchors(ctx)
	if err != nil {
		return nil, err
	}
	chains, err := client.Collect(client.NoLimit, jsonview.ChainReportOf,
		func(token string, _ int32) ([]*policyv1.ChainReport, string, error) {
			page, err := policyv1.NewDecisionServiceClient(conn).VerifyDecisions(ctx, &policyv1.VerifyDecisionsRequest{
				Partition: c.Partition, PageToken: token,
			})
			return page.GetChains(), page.GetNextPageToken(), err
		})
	if err != nil {
		return nil, err
	}
	view := &auditView{OK: true, Chains: chains}
	for i := range chains {
		view.OK = view.OK && chains[i].OK
	}
	if view.RolledBack, err = rolledBack(ctx, conn, anchors, chains, c.Partition); err != nil {
		return nil, err
	}
	view.OK = view.OK && len(view.RolledBack) == 0
	for _, partition := range slices.Sorted(maps.Keys(c.Head)) {
		head := headView{Partition: partition, Head: c.Head[partition]}
		if err := head.compare(ctx, conn, chains); err != nil {
			return nil, err
		}
		view.OK = view.OK && head.OK
		view.Heads = append(view.Heads, head)
	}
	return view, nil
}

// errFound ends the search through a log.
var errFound = errors.New("found")

// compare looks for a head in its chain: as it is now, or as it was before more was
// sealed.
func (h *headView) compare(ctx context.Context, conn grpc.ClientConnInterface, chains []jsonview.ChainReport) error {
	i := slices.IndexFunc(chains, func(chain jsonview.ChainReport) bool { return chain.Partition == h.Partition })
	switch {
	case i < 0:
		h.Problem = "there is no such chain"
		return nil
	case !chains[i].OK:
		h.Problem = "its chain is broken"
		return nil
	case chains[i].Head == h.Head:
		h.OK, h.Sequence = true, chains[i].Sealed
		return nil
	}
	err := decisions.Each(ctx, conn, &policyv1.ListDecisionsRequest{}, func(r *policyv1.DecisionRecord) error {
		if r.GetPartition() == h.Partition && r.GetHash() == h.Head {
			h.OK, h.Sequence = true, r.GetSequence()
			h.Since = chains[i].Sealed - r.GetSequence()
			return errFound
		}
		return nil
	})
	if err == nil {
		h.Problem = "no record of the chain has this hash: it was rewritten, or the head is another's"
		return nil
	}
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}

func (v *auditView) table(w *show.Sheet) {
	broken, sealed, unsealed := 0, int64(0), int64(0)
	for i := range v.Chains {
		c := &v.Chains[i]
		sealed, unsealed = sealed+c.Sealed, unsealed+c.Unsealed
		if !c.OK {
			broken++
			fmt.Fprintf(w, "BROKEN\t%s\trecord %d: %s\n", show.Text(c.Partition), c.Sequence, show.Text(c.Problem))
		}
	}
	for _, a := range v.RolledBack {
		fmt.Fprintf(w, "ROLLED BACK\t%s\tthe head of record %d was published, and %s\n", show.Text(a.Partition), a.Sequence, a.Problem)
	}
	for i := range v.Heads {
		h := &v.Heads[i]
		switch {
		case !h.OK:
			fmt.Fprintf(w, "WRONG HEAD\t%s\t%s\n", show.Text(h.Partition), show.Text(h.Problem))
		case h.Since > 0:
			fmt.Fprintf(w, "head\t%s\tok, and %d more sealed since\n", show.Text(h.Partition), h.Since)
		default:
			fmt.Fprintf(w, "head\t%s\tok\n", show.Text(h.Partition))
		}
	}
	fmt.Fprintf(w, "%s, %s sealed, %d not yet: %d broken\n",
		show.Counted(len(v.Chains), "chain"), show.Counted(int(sealed), "record"), unsealed, broken)
	if len(v.Chains) == 1 && v.Chains[0].OK && v.Chains[0].Head != "" {
		fmt.Fprintf(w, "head\t%s=%s\n", show.Text(v.Chains[0].Partition), v.Chains[0].Head)
	}
}
