package breakglass

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Kinds of entries.
const (
	// Used: the call is made by the grant.
	Used = "use"
	// Refused: Interlock has denied the call, or has asked people about it.
	Refused = "refused"
)

// Bounds of spools.
const (
	maxSpool = 1 << 20
	maxInput = 16 << 10
	// MostLines is how many lines are handed in at once.
	MostLines = 4000
)

// Entry is a line of a spool: a use of the grant, or the result of a call.
type Entry struct {
	Grant       string          `json:"grant"`
	Spool       string          `json:"spool"`
	Sequence    int64           `json:"seq"`
	Time        time.Time       `json:"time"`
	Kind        string          `json:"kind"`
	Tool        string          `json:"tool"`
	Command     string          `json:"command,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	InputSHA256 string          `json:"input_sha256,omitempty"`
	Session     string          `json:"session,omitempty"`
	Run         string          `json:"run,omitempty"`
	Client      string          `json:"client,omitempty"`
}

var entryMembers = []string{"grant", "spool", "seq", "time", "kind", "tool", "command", "input", "input_sha256", "session", "run", "client"}

// line is one line: the hash covers the one before, and the entry.
type line struct {
	Previous string `json:"prev"`
	Hash     string `json:"hash"`
	Entry    string `json:"entry"`
}

// begin returns the hash that the first line of a spool follows.
func begin(grant string) string {
	sum := sha256.Sum256([]byte(grant))
	return hex.EncodeToString(sum[:])
}

func hashOf(previous, entry string) string {
	sum := sha256.Sum256([]byte(previous + "\n" + entry))
	return hex.EncodeToString(sum[:])
}

// write returns an entry as a line that follows another, with its hash.
func write(previous string, e *Entry) (text, hash string, err error) {
	entry, err := json.Marshal(e)
	if err != nil {
		return "", "", fmt.Errorf("encode the entry: %w", err)
	}
	hash = hashOf(previous, string(entry))
	whole, err := json.Marshal(line{previous, hash, string(entry)})
	if err != nil {
		return "", "", fmt.Errorf("encode the line: %w", err)
	}
	return string(whole), hash, nil
}

// readLine reads a line. For a line that it cannot read, the entry is nil and why says the reason.
func readLine(text string) (l line, e *Entry, why string) {
	if strictly([]byte(text), &l, "prev", "hash", "entry") != nil {
		return l, nil, "cannot be read"
	}
	e = &Entry{}
	switch {
	case strictly([]byte(l.Entry), e, entryMembers...) != nil || e.Tool == "" || e.Kind != Used && e.Kind != Refused:
		return l, nil, "cannot be read"
	case l.Hash != hashOf(l.Previous, l.Entry):
		return l, e, "was changed"
	}
	return l, e, ""
}

// Spool is one that was read.
type Spool struct {
	// Entries are those that can be read.
	Entries []Entry
	// Altered says why it does not hold; empty for one that does.
	Altered string
	// Head is the hash of the last line.
	Head string
	// hashes are those of the lines.
	hashes []string
}

// ReadSpool reads the lines of a spool of a grant, as far as they can be read.
func ReadSpool(grant string, lines []string) *Spool {
	s := &Spool{Head: begin(grant)}
	for i, text := range lines {
		n := i + 1
		l, e, why := readLine(text)
		switch {
		case why != "":
		case e.Grant != grant:
			why = "is of another grant"
		case l.Previous != s.Head || e.Sequence != int64(n):
			why = "does not follow the line before it"
		case len(s.Entries) > 0 && e.Spool != s.Entries[0].Spool:
			why = "is of another spool"
		}
		if why != "" && s.Altered == "" {
			s.Altered = fmt.Sprintf("line %d %s", n, why)
		}
		s.Head = l.Hash
		s.hashes = append(s.hashes, l.Hash)
		if e != nil && e.Grant == grant {
			s.Entries = append(s.Entries, *e)
		}
	}
	return s
}

// Continues reports whether the first lines of a spool are those of which the last had a hash.
func (s *Spool) Continues(lines int, head string) bool {
	return lines == 0 || lines <= len(s.hashes) && s.hashes[lines-1] == head
}

// Lines returns how many lines it has.
func (s *Spool) Lines() int { return len(s.hashes) }

// split returns the lines of a file. whole is false where the last one has no end.
func split(file string) (lines []string, whole bool) {
	if file == "" {
		return nil, true
	}
	text, whole := strings.CutSuffix(file, "\n")
	return strings.Split(text, "\n"), whole
}
