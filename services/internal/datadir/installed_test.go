package datadir

import (
	"fmt"
	"sync"
	"testing"
)

// Several `interlock init` at the same time lose nothing of each other's.
func TestInitsAtTheSameTime(t *testing.T) {
	t.Parallel()
	d := Dir(t.TempDir())
	const inits = 16
	var all sync.WaitGroup
	for i := range inits {
		all.Go(func() {
			path := fmt.Sprintf("/w%d/settings.json", i)
			if err := d.SetReplaced(path, []byte("before"), "after", nil); err != nil {
				t.Error(err)
			}
			if _, _, err := d.Replaced(path, "after"); err != nil {
				t.Error(err)
			}
			if err := d.SetInstalled(path, "digest"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i := range inits {
		path := fmt.Sprintf("/w%d/settings.json", i)
		before, known, err := d.Replaced(path, "after")
		if err != nil || !known || before == nil || *before != "before" {
			t.Errorf("%s: %v, %t, %v", path, before, known, err)
		}
		if digest, err := d.Installed(path); digest != "digest" || err != nil {
			t.Errorf("%s: %q, %v", path, digest, err)
		}
	}
}
