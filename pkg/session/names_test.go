package session

import "testing"

// S7.9: names that a reader may take for the same are alike; a name that only begins the same is
// not below it.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, alike, above string }{
		{"alice", "alice", ""},
		{"alicex", "alicex", ""},
		{"alice/x", "alice/x", "alice"},
		{"alice/x/y", "alice/x/y", "alice/x"},
		{"alice/", "alice", "alice"},
		{"alice//x", "alice/x", "alice"},
		{"/alice", "alice", ""},
		{"/", "/", ""},
		{"", "", ""},
		{"Alice/X", "alice/x", "Alice"},
		{"alice\uff0fx", "alice/x", ""}, // a full-width slash is none in the name, and one in its folded form
		{"\uff21lice/x", "alice/x", "\uff21lice"},
		{"a\u0301/x", "\u00e1/x", "a\u0301"},
	} {
		if got := Alike(tt.name); got != tt.alike {
			t.Errorf("%q is alike %q, want %q", tt.name, got, tt.alike)
		}
		if got := Above(tt.name); got != tt.above {
			t.Errorf("%q is below %q, want %q", tt.name, got, tt.above)
		}
	}
}
