// Package first is initialised before packages that import more than the standard library: a process that
// is a jail's stage initialises no more than that.
package first

import "github.com/interlock-run/interlock/services/internal/jailer/stage"

func init() { stage.Main() }
