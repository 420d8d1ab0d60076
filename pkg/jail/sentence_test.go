package jail_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/jail"
)

func TestSentence(t *testing.T) {
	t.Parallel()
	for level, words := range map[jail.Level]string{
		jail.None: "without a jail (this kernel has no Landlock): programs are judged by their names alone.", jail.Files: "level 1", jail.Scoped: "level 2", jail.Full: "level 3",
	} {
		got := jail.Sentence(level, "this kernel has no Landlock.")
		if !strings.Contains(got, words) || strings.Contains(got, "no Landlock") == (level == jail.Full) || strings.Contains(got, ".)") {
			t.Errorf("level %d: %s", level, got)
		}
	}
}
