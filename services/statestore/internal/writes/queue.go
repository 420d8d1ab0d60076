package writes

import (
	"sync"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

// Bounds of one commit of several edits, and of all edits that wait.
const (
	mostEdits     = 256
	mostEditBytes = 4 << 20
	mostBytes     = 256 << 20
	// editWeight is how much memory an edit takes until it is answered, by the byte
	// of its text: the text, its tree, a patch and the records made of it.
	editWeight = 8
)

// writers applies the edits of each state one after the other, and lets those that arrive
// while a commit is in flight share the next one. So a state that many write costs one
// commit for many versions, and first come is first served.
type writers struct {
	mu     sync.Mutex
	queues map[store.Key]*queue
	bytes  int // of all edits that are not answered
}

type queue struct{ waiting []*edit }

// add queues an edit; its outcome comes on its channel. It refuses edits without room.
func (w *writers) add(a *Editor, key store.Key, e *edit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if q, ok := w.queues[key]; ok {
		q.waiting = append(q.waiting, e)
		return
	}
	q := &queue{waiting: []*edit{e}}
	w.queues[key] = q
	go a.drain(key, q)
}

// next takes the edits that can share a commit: those with the fencing token of the
// first, and with at most one idempotency key. It answers nil, and the queue is
// gone, when there are none.
func (w *writers) next(key store.Key, q *queue) []*edit {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(q.waiting) == 0 {
		delete(w.queues, key)
		return nil
	}
	token := q.waiting[0].Token
	keyed, bytes := false, 0
	var group []*edit
	rest := q.waiting[:0:0]
	for _, e := range q.waiting {
		fits := len(group) < mostEdits && (bytes == 0 || bytes+e.size() <= mostEditBytes)
		if fits && e.Token == token && (e.once.Name == "" || !keyed) {
			keyed = keyed || e.once.Name != ""
			bytes += e.size()
			group = append(group, e)
		} else {
			rest = append(rest, e)
		}
	}
	q.waiting = rest
	return group
}

func (ed *Editor) drain(key store.Key, q *queue) {
	for {
		group := ed.writers.next(key, q)
		if group == nil {
			return
		}
		ed.writeGroup(key, group)
		for _, e := range group {
			e.leave()
		}
	}
}

// Waiting counts the edits of a state that wait for those of the commit that is in progress.
func (ed *Editor) Waiting(key store.Key) int {
	ed.writers.mu.Lock()
	defer ed.writers.mu.Unlock()
	if q, ok := ed.writers.queues[key]; ok {
		return len(q.waiting)
	}
	return 0
}

// enter makes room for a change before it is read, or refuses it; leave follows.
func (w *writers) enter(bytes int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bytes > 0 && w.bytes+editWeight*bytes > mostBytes {
		return fault.New(fault.Unavailable, "too many large changes are being made; try again")
	}
	w.bytes += editWeight * bytes
	return nil
}

func (w *writers) leave(bytes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes -= editWeight * bytes
}
