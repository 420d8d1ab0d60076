package approvalpage

import (
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
)

const (
	cookieName = "interlock_approvals"
	// maxAge ends a session whatever happens in it, and maxIdle when nothing does.
	maxAge  = 8 * time.Hour
	maxIdle = 30 * time.Minute
	// maxSessions bounds those that are open in one process.
	maxSessions = 10_000
)

// session is somebody who has logged in. Its token is kept here alone: the browser
// has an id that means nothing elsewhere.
type session struct {
	token, namespace string
	// who it is, where that is known.
	who auth.Principal
	// csrf is in every form of the session's pages.
	csrf        string
	begun, seen time.Time
}

func (s *session) over(now time.Time) bool {
	return now.Sub(s.begun) >= maxAge || now.Sub(s.seen) >= maxIdle
}

// sessions are those of this process: they end with it.
type sessions struct {
	now func() time.Time

	mu sync.Mutex
	// open are sessions by the digest of their id, so that it takes as long to find
	// none whatever the guess.
	open map[[sha256.Size]byte]*session
}

func newSessions(now func() time.Time) *sessions {
	return &sessions{now: now, open: map[[sha256.Size]byte]*session{}}
}

// begin opens a session and answers its id. When there are too many, that ends
// which was idle for longest.
func (s *sessions) begin(opened session) (id string) {
	opened.begun, opened.csrf = s.now(), rand.Text()
	opened.seen = opened.begun
	id = rand.Text() + rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= maxSessions {
		s.makeRoom()
	}
	s.open[sha256.Sum256([]byte(id))] = &opened
	return id
}

// makeRoom drops what is over, and at least one.
func (s *sessions) makeRoom() {
	var idlest [sha256.Size]byte
	var since time.Time
	before := len(s.open)
	for id, open := range s.open {
		if open.over(s.now()) {
			delete(s.open, id)
		} else if since.IsZero() || open.seen.Before(since) {
			idlest, since = id, open.seen
		}
	}
	if len(s.open) == before {
		delete(s.open, idlest)
	}
}

// find returns a session that is open, and notes that it is in use.
func (s *sessions) find(id string) (session, bool) {
	key := sha256.Sum256([]byte(id))
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.open[key]
	if !ok {
		return session{}, false
	}
	if found.over(s.now()) {
		delete(s.open, key)
		return session{}, false
	}
	found.seen = s.now()
	return *found, true
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, sha256.Sum256([]byte(id)))
}

// sessionOf is the session of a request, by its cookie.
func (p *page) sessionOf(r *http.Request) (session, bool) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return session{}, false
	}
	return p.sessions.find(cookie.Value)
}

// leave ends the session of a request, if there is one.
func (p *page) leave(w http.ResponseWriter, r *http.Request) {
	p.endSessionOf(r)
	p.setCookie(w, r, "", -1)
}

func (p *page) endSessionOf(r *http.Request) {
	if cookie, err := r.Cookie(cookieName); err == nil {
		p.sessions.end(cookie.Value)
	}
}

// setCookie gives the browser a session's id, until it is closed.
func (p *page) setCookie(w http.ResponseWriter, r *http.Request, id string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: id, Path: Path, MaxAge: age,
		HttpOnly: true, Secure: p.secure || r.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
}
