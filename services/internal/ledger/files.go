package ledger

import (
	"encoding/json"
	"fmt"

	"github.com/interlock-run/interlock/pkg/toolcall"
)

// Files has the files that a run's calls have changed in the present entry of each
// branch, where the state limits that (S3.6). The files of an entry that was left are
// overwritten by the next one of its branch.
type Files struct {
	Branches map[string]FilesOfEntry `json:"branches"`
}

// FilesOfEntry is the files of one entry.
type FilesOfEntry struct {
	Entry int64          `json:"entry"`
	Files toolcall.Files `json:"files"`
	// Unknown is true when a command has changed others that no one knows.
	Unknown bool `json:"unknown,omitempty"`
}

// Of returns the files of an entry of a branch; none when another entry's are
// kept.
func (f *Files) Of(branch string, entry int64) FilesOfEntry {
	if kept := f.Branches[branch]; kept.Entry == entry {
		return kept
	}
	return FilesOfEntry{Entry: entry, Files: toolcall.Files{}}
}

// With returns the record with the files of one entry replaced.
func (f *Files) With(branch string, of FilesOfEntry) *Files {
	next := &Files{Branches: map[string]FilesOfEntry{branch: of}}
	for name, kept := range f.Branches {
		if name != branch {
			next.Branches[name] = kept
		}
	}
	return next
}

// Encode writes the record.
func (f *Files) Encode() ([]byte, error) {
	data, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode changed files: %w", err)
	}
	return data, nil
}

// DecodeFiles reads the output of Encode; empty data is an empty record.
func DecodeFiles(data []byte) (*Files, error) {
	f := &Files{}
	if len(data) == 0 {
		return f, nil
	}
	if err := json.Unmarshal(data, f); err != nil {
		return nil, fmt.Errorf("decode changed files: %w", err)
	}
	return f, nil
}
