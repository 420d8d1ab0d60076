package catalog

import (
	"maps"
	"slices"
	"time"
)

// Shadow has the changes of a set that are judged next to the live versions before they are applied (S26.9). It is
// immutable.
type Shadow struct {
	At time.Time `json:"at"`
	// Until is the first moment at which the changes can be applied.
	Until   time.Time           `json:"until"`
	By      string              `json:"by"`
	Repo    string              `json:"repo,omitempty"`
	Commit  string              `json:"commit,omitempty"`
	Objects map[Object]Shadowed `json:"objects"`
}

// Shadowed is the change of one object that waits.
type Shadowed struct {
	// Version and Digest are those that wait; zero for an object that is to be removed.
	Version int64  `json:"version,omitempty"`
	Digest  string `json:"digest,omitempty"`
	// Live is the version that was live when the shadow began; 0 for none.
	Live int64 `json:"live,omitempty"`
	// Attached says that the attachments of a policy change to those of To, each as KIND:ID, in order.
	Attached bool     `json:"attached,omitempty"`
	To       []string `json:"to,omitempty"`
	// Judged says that the calls are judged by the version.
	Judged bool `json:"judged,omitempty"`
}

// Has reports that a shadow waits with exactly these changes.
func (s *Shadow) Has(objects map[Object]Shadowed) bool {
	return s != nil && maps.EqualFunc(s.Objects, objects, func(a, b Shadowed) bool {
		return a.Version == b.Version && a.Digest == b.Digest && a.Live == b.Live && a.Attached == b.Attached && a.Judged == b.Judged && slices.Equal(a.To, b.To)
	})
}
