// Package early is initialised before the rest of the program. It answers
// `interlock hook` and ends the process, and puts the collection of garbage off for
// commands that are over soon.
//
// The whole program takes ten times as long to initialise as a hook takes to be
// answered: compiled schemas, expression environments, metrics and servers that
// a hook never uses. Go initialises packages in the order of their import paths
// as soon as what they import is initialised (the language specification,
// "Program initialization"), so this package, which imports little, comes before
// those. Only the program's main may import it.
package early

import (
	"os"
	"runtime/debug"
	"time"
)

// Most commands are over before they have allocated what this percentage allows, and
// collecting garbage would be a quarter of their work. Commands that last, such as
// mcp, soon go back to Go's default. `up` tunes its memory itself.
const (
	gcPercent        = 400
	defaultGCPercent = 100
	soon             = time.Second
)

func init() {
	if os.Getenv("GOGC") != "" || len(os.Args) > 1 && os.Args[1] == "up" {
		return
	}
	debug.SetGCPercent(gcPercent)
	time.AfterFunc(soon, func() { debug.SetGCPercent(defaultGCPercent) })
}
