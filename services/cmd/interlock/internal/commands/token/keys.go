package token

import (
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// keyFlags say which key session tokens are signed with.
type keyFlags struct {
	Key  string `help:"Key of session tokens, as the server has it. That in the data folder by default." env:"INTERLOCK_TOKEN_KEY" type:"path" placeholder:"FILE"`
	Data string `name:"data-dir" help:"Data folder of the server on this machine; by default that of the nearest workspace, here or upwards." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
}

// file returns the key's file, and the folder that it is in by default; that is empty where it is
// not known, and a key was given.
func (f keyFlags) file() (string, datadir.Dir, error) {
	folder, err := client.DataFolder(f.Data)
	if f.Key != "" {
		return f.Key, folder, nil
	}
	return folder.TokenKey(), folder, err
}
