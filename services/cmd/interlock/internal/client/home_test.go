package client

import "testing"

// S23.16: the token of a person who has logged in goes to the server that has given it, and to no other that a file or a flag names.
func TestTokensOfPeopleStayHome(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		server, want string
		refused      bool
	}{
		"no server is named":        {"", "127.0.0.1:7421", false},
		"the same one":              {"localhost:7421", "localhost:7421", false},
		"another port":              {"127.0.0.1:7422", "", true},
		"another host":              {"evil.example:7421", "", true},
		"a socket that a file says": {"unix:/tmp/x.sock", "", true},
	} {
		c := &Connection{Server: row.server, home: "127.0.0.1:7421", Data: t.TempDir()}
		target, _, err := c.atHome(row.server, false)
		if (err != nil) != row.refused || target != row.want {
			t.Errorf("%s: %q, %v", name, target, err)
		}
	}
}
