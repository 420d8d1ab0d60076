package jsonobject

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/internal/puretest"
)

func TestPure(t *testing.T) {
	t.Parallel()
	puretest.Check(t)
}
