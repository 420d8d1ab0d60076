package wire

import "net/http"

// Unknown answers for a session of another caller as for one that does not exist. The SDK tells them apart.
type Unknown struct {
	http.ResponseWriter
	refused bool // the rest is the SDK's text
}

// Unwrap lets http.ResponseController find the writer.
func (u *Unknown) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// Flush implements http.Flusher, which the SDK looks for.
func (u *Unknown) Flush() {
	if !u.refused {
		_ = http.NewResponseController(u.ResponseWriter).Flush() // not every writer can
	}
}

// WriteHeader implements http.ResponseWriter.
func (u *Unknown) WriteHeader(status int) {
	if status != http.StatusForbidden {
		u.ResponseWriter.WriteHeader(status)
		return
	}
	u.refused = true
	http.Error(u.ResponseWriter, "session not found", http.StatusNotFound)
}

// Write implements http.ResponseWriter.
func (u *Unknown) Write(data []byte) (int, error) {
	if u.refused {
		return len(data), nil
	}
	return u.ResponseWriter.Write(data) //nolint:wrapcheck // as it is
}
