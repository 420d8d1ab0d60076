package env

import "testing"

// A value is one word of each shell, for any contents.
func TestExport(t *testing.T) {
	t.Parallel()
	const value = `unix:/a b/it's\$x`
	for shell, want := range map[string]string{
		"sh":         `export V='unix:/a b/it'\''s\$x'`,
		"fish":       `set -gx V 'unix:/a b/it\'s\\$x'`,
		"powershell": `$env:V = 'unix:/a b/it''s\$x'`,
	} {
		if got := export(shell, "V", value); got != want {
			t.Errorf("%s: %s, want %s", shell, got, want)
		}
	}
}
