package client

import "testing"

// S23.19: a passphrase goes to the server of the data folder, over TLS, or to a loopback address that the person has named.
func TestWhereAPassphraseGoes(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		at    Destination
		takes bool
	}{
		"the server of the data folder":        {Destination{Address: "/data", Local: true}, true},
		"TLS":                                  {Destination{Address: "prod.example:7421", TLS: true}, true},
		"TLS, of a context":                    {Destination{Address: "prod.example:7421", TLS: true, Context: "prod"}, true},
		"a loopback address":                   {Destination{Address: "127.0.0.1:7421"}, true},
		"localhost":                            {Destination{Address: "localhost:7421"}, true},
		"a loopback address of a context":      {Destination{Address: "127.0.0.1:7421", Context: "prod"}, false},
		"another machine without TLS":          {Destination{Address: "10.0.0.7:7421"}, false},
		"a name without TLS":                   {Destination{Address: "dns:///prod.example:7421"}, false},
		"another machine of a context":         {Destination{Address: "10.0.0.7:7421", Context: "prod"}, false},
		"a name that begins as loopback does":  {Destination{Address: "127.0.0.1.example:7421"}, false},
		"several addresses, the first of here": {Destination{Address: "127.0.0.1:7421,10.0.0.7:7421"}, false},
	} {
		if err := row.at.TakesPassphrase(); (err == nil) != row.takes {
			t.Errorf("%s: %v", name, err)
		}
	}
}
