package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/decisions"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// anchor is the last head of a chain that was published: the stream keeps it apart from
// the store.
type anchor struct {
	Partition string `json:"partition"`
	Sequence  int64  `json:"sequence"`
	Head      string `json:"head"`
	Problem   string `json:"problem"`
}

// readTimeout is how long the stream may be silent while heads are read.
const readTimeout = 10 * time.Second

// anchors reads the published heads of a namespace; nil when no stream is known.
func (c *verifyCommand) anchors(ctx context.Context) (map[string]anchor, error) {
	endpoint, err := c.Endpoint(c.NATSURL)
	if err != nil {
		return nil, err
	}
	if c.NATSURL == "" && c.Server == "" {
		folder, err := client.DataFolder(c.Data)
		if err != nil {
			return nil, err
		}
		endpoints, err := folder.ReadEndpoints()
		if err != nil {
			return nil, err
		}
		endpoint.URL = endpoints.NATS
	}
	if endpoint.URL == "" {
		return nil, nil
	}
	nc, err := endpoint.Connect("interlock-audit")
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("read published heads: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	heads, err := readAnchors(ctx, js, cmp.Or(c.Namespace, rpc.DefaultNamespace))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil // no anchor was published yet
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: NATS does not answer about the stream; log in as a user that may make consumers of it, as `gateway` of deploy/nats/nats.conf", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read published heads: %w", err)
	}
	return heads, nil
}

func readAnchors(ctx context.Context, js jetstream.JetStream, namespace string) (map[string]anchor, error) {
	consumer, err := js.CreateConsumer(ctx, bus.DefaultStream, jetstream.ConsumerConfig{
		FilterSubjects: []string{bus.Subject{Namespace: namespace, Entity: "audit", Type: "sealed"}.Filter()},
		DeliverPolicy:  jetstream.DeliverLastPerSubjectPolicy,
		AckPolicy:      jetstream.AckNonePolicy, MemoryStorage: true, InactiveThreshold: readTimeout,
	})
	if err != nil {
		return nil, err
	}
	info := consumer.CachedInfo()
	defer js.DeleteConsumer(context.WithoutCancel(ctx), bus.DefaultStream, info.Name) //nolint:errcheck // it goes by itself
	heads := map[string]anchor{}
	for left := int(info.NumPending); left > 0; {
		batch, err := consumer.Fetch(min(left, 1000), jetstream.FetchContext(ctx))
		if err != nil {
			return nil, err
		}
		for msg := range batch.Messages() {
			left--
			ev, err := bus.Decode(msg.Data())
			if sealed := ev.GetDecisionsSealed(); err == nil && sealed != nil {
				heads[ev.GetEntityId()] = anchor{Partition: ev.GetEntityId(), Sequence: sealed.GetLast(), Head: sealed.GetHead()}
			}
		}
		if err := errors.Join(batch.Error(), ctx.Err()); err != nil {
			return nil, err
		}
	}
	return heads, nil
}

// rolledBack returns the anchors that the chains do not lead to: the store has gone back
// in time since, or was written anew. chains were read after the anchors.
func rolledBack(ctx context.Context, conn grpc.ClientConnInterface, heads map[string]anchor, chains []jsonview.ChainReport, only string) ([]anchor, error) {
	doubtful := map[string]anchor{}
	for partition, head := range heads {
		i := slices.IndexFunc(chains, func(chain jsonview.ChainReport) bool { return chain.Partition == partition })
		switch {
		case only != "" && only != partition, i >= 0 && (chains[i].Head == head.Head || !chains[i].OK):
		case i < 0:
			head.Problem = "the store has no such chain"
			doubtful[partition] = head
		default:
			head.Problem = "the log ends before it"
			doubtful[partition] = head
		}
	}
	if len(doubtful) == 0 {
		return nil, nil
	}
	err := decisions.Each(ctx, conn, &policyv1.ListDecisionsRequest{}, func(r *policyv1.DecisionRecord) error {
		head, found := doubtful[r.GetPartition()]
		switch {
		case !found:
		case r.GetSequence() == head.Sequence && r.GetHash() != head.Head:
			head.Problem = "another record has its place"
			doubtful[head.Partition] = head
		case r.GetSequence() == head.Sequence:
			delete(doubtful, head.Partition)
		case r.GetSequence() > head.Sequence && head.Problem == "the log ends before it":
			head.Problem = "" // unless the record is found to be another, it was deleted after its time
			doubtful[head.Partition] = head
		}
		return nil
	})
	gone := make([]anchor, 0, len(doubtful))
	for _, head := range doubtful {
		if head.Problem != "" {
			gone = append(gone, head)
		}
	}
	slices.SortFunc(gone, func(a, b anchor) int { return cmp.Compare(a.Partition, b.Partition) })
	return gone, err
}
