package jail

import "testing"

// TestOfHome: a shell expands the ~ of an argument, and a profile has it.
func TestOfHome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ home, workspace, entry, want string }{
		{"/home/u", "/home/u/shop", "/home/u/.ssh/id", "~/.ssh/id"},
		{"/home/u", "/home/u/shop", "/home/u/shop/.envrc", "/home/u/shop/.envrc"},
		{"/home/u", "/home/u/shop", "/home/u/shop2/x", "~/shop2/x"},
		{"/home/u", "", "/home/u2/x", "/home/u2/x"},
		{"", "", "/x", "/x"},
		{"/home/u", "", "registry.npmjs.org", "registry.npmjs.org"},
	} {
		if got := ofHome(c.home, c.workspace, c.entry); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
