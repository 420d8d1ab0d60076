package access

import (
	"context"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// Places are a number of things that callers hold for a while, such as open streams. No
// principal takes more than its share, and all agents together leave a tenth to people.
type Places struct {
	// What is their kind, in the plural; Flag sets how many a principal may hold.
	What, Flag  string
	Total, Each int

	mu    sync.Mutex
	taken int
	of    map[auth.Principal]int
}

// Take takes a place for the caller of a request until give is called. The error is
// QUOTA_EXCEEDED.
func (p *Places) Take(ctx context.Context) (give func(), err error) {
	who := CallerOf(ctx).Principal
	who.Human, who.IssuedAt, who.Expires, who.TokenID = nil, time.Time{}, time.Time{}, "" // another token of it is the same principal
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[who] >= p.Each {
		return nil, fault.New(fault.QuotaExceeded, "you have %d %s open, which is the limit for one principal (--%s); close one", p.Each, p.What, p.Flag)
	}
	if p.taken >= Room(p.Total, who) {
		return nil, fault.New(fault.QuotaExceeded, "this server has reached its limit of %d %s; try again later", Room(p.Total, who), p.What)
	}
	if p.of == nil {
		p.of = map[auth.Principal]int{}
	}
	p.taken++
	p.of[who]++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken--
		if p.of[who]--; p.of[who] == 0 {
			delete(p.of, who)
		}
	}), nil
}

// ForHeader has the token of the person on whose behalf the caller acts, as "Bearer TOKEN".
const ForHeader = "X-Interlock-For"

// Room returns how many of total a principal finds: agents leave a tenth to people.
func Room(total int, who auth.Principal) int {
	if who.Role.Drives() || who.Role == "" {
		return total - total/10
	}
	return total
}
