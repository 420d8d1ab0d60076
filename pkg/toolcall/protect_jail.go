package toolcall

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
)

// showing are programs that show, copy or delete the files which their operands name.
var showing = sync.OnceValue(func() map[string]bool {
	return words(`cat bat head tail less more ls stat file wc du tree cp mv rm rmdir ln tar zip base64 xxd od hexdump strings md5sum sha1sum sha256sum
touch truncate shred chmod chown tee source . readlink realpath diff cmp cd pushd`)
})

// jailedLine judges a line by S13 where a jail of level Full holds it: Interlock's own files are not
// there, and hooks are not writable. Only an act that is certain is refused (S20.5).
func (p Places) jailedLine(line string) (Code, string) {
	if isToken(squeezed(line)) {
		return CodeSelfProtected, holdsToken
	}
	plan, err := shell.Parse(line)
	if err != nil {
		return "", ""
	}
	for _, f := range plan.Findings {
		if f.Process() {
			return CodeSelfProtected, ownProcess
		}
		for _, file := range targets(plan, f) {
			switch {
			case p.isData(file, true):
				return CodeSelfProtected, ownFolder
			case p.isSetting(file, true):
				return CodeSelfProtected, fmt.Sprintf(ownSettings, document.Quote(file))
			}
		}
	}
	for _, c := range plan.Commands {
		if c.Assigns >= len(c.Words) {
			continue
		}
		name, args := baseOf(c.Words[c.Assigns]), c.Words[c.Assigns+1:]
		if showing()[name] && slices.ContainsFunc(args, func(w shell.Word) bool {
			file := w.Path()
			return file != "" && !strings.HasPrefix(file, "-") && p.isData(file, true)
		}) {
			return CodeSelfProtected, ownFolder
		}
		if signallers[name] && slices.ContainsFunc(args, func(w shell.Word) bool { return namesProgram(w) || meansServer(w) }) {
			return CodeSelfProtected, fmt.Sprintf(ownSignal, document.Quote(c.String()))
		}
		if slices.Contains(attachers, name) && slices.ContainsFunc(args, attaches) {
			return CodeSelfProtected, ownProcess
		}
		if why := judgeOwn(c); why != "" {
			return CodeSelfProtected, why
		}
	}
	return "", ""
}
