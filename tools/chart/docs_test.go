package chart

import (
	"os"
	"regexp"
	"testing"
)

// The values that docs/kubernetes.md shows work.
func TestDocumentedValues(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml values\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) < 3 {
		t.Fatalf("docs/kubernetes.md shows %d sets of values", len(blocks))
	}
	for _, block := range blocks {
		manifests, err := render(t, string(block[1]))
		if err != nil {
			t.Errorf("%v\n%s", err, block[1])
			continue
		}
		decode(t, manifests)
	}
}
