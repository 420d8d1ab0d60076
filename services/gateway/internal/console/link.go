package console

import (
	"maps"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
)

// LinkLife is how long a link may be used.
const LinkLife = 10 * time.Minute

const useOfLinks = "link"

// maxLinks bounds those that a process remembers as used.
const maxLinks = 10_000

// invitation is the content of a link.
type invitation struct {
	Tokens map[auth.Role]string `json:"t"`
	Until  time.Time            `json:"u"`
	// Name and Namespace are those of who signed in at an issuer, and Ends when its token does.
	Name      string    `json:"n,omitempty"`
	Namespace string    `json:"s,omitempty"`
	Ends      time.Time `json:"e,omitzero"`
}

// Link returns a code that logs in once, with the tokens that are given, until LinkLife
// has passed. It belongs into the fragment of the console's URL, which browsers do not
// send.
func (k Key) Link(tokens map[auth.Role]string, now time.Time) (string, error) {
	return k.sealed(useOfLinks, invitation{Tokens: tokens, Until: now.Add(LinkLife)})
}

// usedLinks are those that have logged somebody in, as long as they could again. Each
// process remembers its own: what another replica, or this one before a restart, has
// accepted can be used until it expires.
type usedLinks struct {
	mu    sync.Mutex
	until map[[nonceSize]byte]time.Time
}

// use reports whether a link was not used before.
func (u *usedLinks) use(link [nonceSize]byte, until, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.until, func(_ [nonceSize]byte, end time.Time) bool { return !now.Before(end) })
	if _, used := u.until[link]; used || len(u.until) >= maxLinks {
		return false
	}
	u.until[link] = until
	return true
}
