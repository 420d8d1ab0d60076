package toolcall_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/toolcall"
)

// TestPatternsOfDataFolder: S13.2: a pattern that could be the data folder or be in it is that folder,
// and the folder of a line follows its cd.
func TestPatternsOfDataFolder(t *testing.T) {
	t.Parallel()
	code := func(line string) toolcall.Code {
		call := lineCall(line)
		call.Places = toolcall.Places{Folder: "/home/me/.local/w", Data: []string{"/home/me/.local/state/interlock/w1-0123456789ab"}}
		code, _ := toolcall.SelfProtected(nil, nil, call)
		return code
	}
	for _, line := range []string{
		"cat ~/.local/state/i*/*/[t]*", "cat ../state/i*/*/{tokens.json,x}", "cd ../state/i*/* && cat tokens.json", "head -c 9 ../state/i*/*/*",
		"cat ../state/i?terlock/*/*", "cat ../state/@(interlock)/*/*", "cd ../state; cd interlock; cd w1*; cat *", "for d in ../state/i*/*; do cat \"$d\"/*; done",
		"cat $(ls -d ../state/*/*/*)", "cat ../state/i*/*/t*", "cat ../st{a,b}te/i*/*/t*", "cat ../state/i[n]*/x", "cat \"$HOME\"/.local/s*/*/*/*",
		"cat < ../state/i*/*/tok*", "cat ../s[t]ate/$x/*/*", "cat ../*/*/*/*", "cd ..; cd *; cat */*", "cat {../state/interlock,x}/*/*",
		"cd ~; cd .local/state; cat */*/*", "cd; cat .local/st*/*/*/*", "shopt -s globstar; cat ../**/x", "env -C ../state cat interlock/w1/x",
		"cat $PWD/../state/i*/*/*", "x=~/.local/state; cat $x/*/*/*", "cat $(ls -d ../*)/*", "cat ../STATE/I*/*/*", "pushd ../state; cat i*/*/*",
		"cd ../state\ncat i*/*/*", "(cd ../state && cat i*/*/*)", "cat /home/*/.local/state/i*/*/*", "cat /h*/m*/.l*/s*/i*/w*/t*", "git -C ../state/interlock/w1-0123456789ab log",
		"bash -c 'cat ../state/*/*/*'", "cat '../sta'te/i*/*/*",
	} {
		if got := code(line); got != toolcall.CodeSelfProtected {
			t.Errorf("%s: %q", line, got)
		}
	}
	for _, line := range []string{
		"cat src/*/*.go", "for i in 1 2; do cat $i/*; done", "ls ~/.local/bin/*", "cat ~/*/*/*/*", "cat *", "cat */*/*/*", "ls ..", "cd ../other && cat */*",
		"cat {a,b}/{c,d}.go", "cat ../other/*/*", "cd src && cat state/*", "x=src; cat $x/*", "cat src/state/*", "cat \"$f\"", "ls /home/me/w/*/*",
	} {
		if got := code(line); got != "" {
			t.Errorf("passes %s: %q", line, got)
		}
	}
}
