package diagram

import (
	"slices"
	"testing"
)

func TestShorten(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text          string
		most          int
		middle, start string
	}{
		{"", 5, "", ""},
		{"short", 5, "short", "short"},
		{"longer", 5, "lon…r", "long…"},
		{"implementing_feature_12", 12, "implemen…_12", "implementin…"},
		{"状態状態", 8, "状態状態", "状態状態"},
		{"状態状態", 6, "状態…態", "状態…"},
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301", "e\u0301e\u0301e\u0301"},
	}
	for _, tt := range tests {
		if got := shorten(tt.text, tt.most); got != tt.middle {
			t.Errorf("shorten(%q, %d) = %q, want %q", tt.text, tt.most, got, tt.middle)
		}
		if got := clip(tt.text, tt.most); got != tt.start {
			t.Errorf("clip(%q, %d) = %q, want %q", tt.text, tt.most, got, tt.start)
		}
	}
	if got, want := clipLines([]string{"a", "b\nc", "d", "e"}, 3, 9), []string{"a", "b c", "and 2 more"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	if got, want := shown("a\tb\r\nc\x00d\u202ee\u2028f状"), "a b  c\ufffdd\ufffde f状"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
