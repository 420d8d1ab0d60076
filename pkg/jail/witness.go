package jail

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"time"
)

// Witness is the record that a jail makes of one command.
type Witness struct {
	CallID string `json:"call_id"`
	// Profile is the digest of the profile that was enforced, Level the level at which.
	Profile string `json:"profile"`
	Level   Level  `json:"level"`
	// Failed says why the command was not started; empty when it was.
	Failed string `json:"failed,omitempty"`
	// ExitStatus is the command's; -1 when Signal has ended it, or it was not started.
	ExitStatus int       `json:"exit_status"`
	Signal     string    `json:"signal,omitempty"`
	Started    time.Time `json:"started"`
	Ended      time.Time `json:"ended"`
	// Written are files that have changed, at most MostWritten, and Tried those whose change was discarded or put back, at
	// most MostFiles: relative to the workspace where they are in it, sorted.
	Written []string `json:"written,omitempty"`
	Tried   []string `json:"tried,omitempty"`
	// More is true when there were more files than are listed.
	More bool `json:"more,omitempty"`
	// Hosts are those that were asked for, at most MostFiles.
	Hosts []Asked `json:"hosts,omitempty"`
	// TreeBefore and TreeAfter are digests of the workspace's tree; empty when there is none.
	TreeBefore string `json:"tree_before,omitempty"`
	TreeAfter  string `json:"tree_after,omitempty"`
	// TreeChanged is the first file that differs between the two, or that was changed and changed back.
	TreeChanged string `json:"tree_changed,omitempty"`
	// TreeFailed says why Written does not have all files that have changed; empty when it has them.
	TreeFailed  string `json:"tree_failed,omitempty"`
	OutputBytes int64  `json:"output_bytes,omitempty"`
	// Left are the names of programs that the command left running, and that the jail ended.
	Left []string `json:"left,omitempty"`
	// Notes say what was held more strictly than the profile asks for, and why.
	Notes []string `json:"notes,omitempty"`
	// Stopped says which limit has ended the command; empty for none.
	Stopped string `json:"stopped,omitempty"`
}

// Asked is a host that a command has asked the proxy for.
type Asked struct {
	Host    string `json:"host"` // with its port
	Allowed bool   `json:"allowed"`
	Why     string `json:"why,omitempty"`
}

// MostFiles bounds each list of a Witness but Written, which MostWritten bounds: interrupts and limits rest on that.
const (
	MostFiles   = 256
	MostWritten = 4096
)

// OK reports that the command ran to its end with exit status 0.
func (w *Witness) OK() bool { return w.Failed == "" && w.Signal == "" && w.ExitStatus == 0 }

// Sign returns the witness's JSON, and its HMAC-SHA256 with the key of the call.
func (w *Witness) Sign(key []byte) (data, signature []byte) {
	data, err := json.Marshal(w)
	if err != nil {
		panic(err) // texts, numbers and times
	}
	return data, mac(key, data)
}

// Open returns the witness that was signed with key. False: it was not.
func Open(key, data, signature []byte) (*Witness, bool) {
	w := &Witness{}
	if !hmac.Equal(mac(key, data), signature) || json.Unmarshal(data, w) != nil {
		return nil, false
	}
	return w, true
}

func mac(key, data []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(data)
	return h.Sum(nil)
}
