package configfile

import (
	"fmt"
	"reflect"
	"time"

	"github.com/alecthomas/kong"

	"github.com/interlock-run/interlock/pkg/document"
)

// Durations makes the flags of a parser read durations in the grammar of definitions, with days.
func Durations() kong.Option {
	return kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		token, err := ctx.Scan.PopValue("duration")
		if err != nil {
			return err
		}
		d, err := document.ParseDuration(token.String())
		if err != nil {
			return fmt.Errorf("%q: %w", token, err)
		}
		target.SetInt(int64(d))
		return nil
	}))
}
