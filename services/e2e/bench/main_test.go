package main

import (
	"slices"
	"testing"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	n := numbers{5}
	if err := n.Set("1,64,256"); err != nil || !slices.Equal(n, numbers{1, 64, 256}) || n.String() != "1,64,256" {
		t.Errorf("read %v, %v", n, err)
	}
	if err := n.Set(""); err != nil || len(n) != 0 {
		t.Errorf("an empty flag is %v, %v", n, err)
	}
	for _, wrong := range []string{"x", "1,", "0", "-3"} {
		if err := n.Set(wrong); err == nil {
			t.Errorf("%q is read as %v", wrong, n)
		}
	}
}
