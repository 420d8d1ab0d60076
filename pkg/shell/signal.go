package shell

import (
	"strings"
	"sync"
)

const signalsOthers = "sends a signal to processes that the line has not started"

// signallers are programs that signal processes by their names or numbers.
var signallers = sync.OnceValue(func() map[string]bool {
	return wordSet(`kill killall killall5 pkill skill snice xkill tkill fkill kill-port killport fuser
shutdown reboot halt poweroff init telinit`)
})

// tellingSignals are options by which they only list something.
var tellingSignals = wordSet(`-l -L --list --table --help --version -V -h`)

// signals finds a program that reaches processes which the line did not start. Jobs of the line
// (%1), and processes that it started ($!), are its own.
func (p flowReader) signals(file, name string, c, at int) {
	if sub, ok := strings.CutPrefix(file, "g"); ok && sub == "kill" {
		file = sub
	}
	words := p.plan.Commands[c].Words
	args := words[at+1:]
	switch {
	case file == "kill":
		p.kill(c, at)
	case file == "fuser":
		for i, w := range args {
			if !w.Static || strings.HasPrefix(w.Text, "--k") || strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, "k") {
				p.builtinPart().note(Signals, c, at+1+i, signalsOthers)
				return
			}
		}
	case signallers()[file] && !onlyTells(args):
		p.builtinPart().note(Signals, c, at, signalsOthers)
	case name == "prlimit":
		for i, w := range args {
			if strings.HasPrefix(w.Text, "-p") || strings.HasPrefix(w.Text, "--p") {
				p.builtinPart().note(Signals, c, at+1+i, "changes limits of processes that the line has not started")
			}
		}
	case manages()[name] != nil:
		for i, w := range args {
			if !w.Static || manages()[name][w.Text] || name == "screen" && (w.Text == "-X" || strings.HasPrefix(w.Text, "-X")) {
				p.builtinPart().note(Signals, c, at+1+i, signalsOthers)
				return
			}
		}
	}
}

// onlyTells reports options by which a program lists signals or describes itself.
func onlyTells(args []Word) bool {
	return len(args) > 0 && args[0].Static && tellingSignals[args[0].Text]
}

// manages are programs that end processes by a subcommand.
var manages = sync.OnceValue(func() map[string]map[string]bool {
	return map[string]map[string]bool{
		"systemctl": wordSet(`stop kill restart try-restart reload-or-restart try-reload-or-restart isolate rescue emergency halt poweroff reboot kexec soft-reboot
suspend hibernate exit freeze daemon-reexec condrestart condstop force-reload`),
		"service":       wordSet(`stop restart reload force-reload try-restart condrestart force-stop`),
		"loginctl":      wordSet(`terminate-session terminate-user terminate-seat kill-session kill-user`),
		"machinectl":    wordSet(`terminate poweroff reboot kill stop`),
		"launchctl":     wordSet(`kill stop remove unload bootout kickstart`),
		"rc-service":    wordSet(`stop restart`),
		"initctl":       wordSet(`stop restart`),
		"tmux":          wordSet(`kill-pane kill-server kill-session kill-window killp killw kill-p kill-se respawn-pane respawn-window send-keys send respawnp respawnw`),
		"screen":        wordSet(`-X`),
		"supervisorctl": wordSet(`stop restart signal shutdown`),
		"pm2":           wordSet(`stop kill delete del restart reload sendSignal`),
	}
})

// kill judges the operands of kill.
func (p flowReader) kill(c, at int) {
	words := p.plan.Commands[c].Words
	if onlyTells(words[at+1:]) {
		return
	}
	i := at + 1
	for ; i < len(words); i++ {
		w := words[i]
		switch {
		case w.Static && (w.Text == "-s" || w.Text == "-n" || w.Text == "--signal"):
			i++
			continue
		case w.Static && w.Text == "--":
			i++
		case w.Static && len(w.Text) > 1 && w.Text[0] == '-' && i == at+1:
			if w.Text == "-0" || strings.EqualFold(w.Text, "-exit") {
				return // asks whether they are there
			}
			continue
		}
		break
	}
	if i > at+2 && words[i-2].Text == "-s" && words[i-1].Static && words[i-1].Text == "0" {
		return
	}
	for ; i < len(words); i++ {
		if !p.ownProcess(words[i], p.builtinPart().finding(Signals, c, at, signalsOthers)) {
			p.builtinPart().note(Signals, c, at, signalsOthers)
		}
	}
}

// ownProcess reports an operand of kill that is a job or a process of the line. Where variables
// decide, the plan relies on them, and f is found when they do not hold.
func (p flowReader) ownProcess(w Word, f Finding) bool {
	switch {
	case w.Static:
		return strings.HasPrefix(w.Text, "%")
	case w.child:
		return true
	case w.Text == string(Unknown) && !w.opaque && len(w.deps) == 1 && w.deps[0][0] != '!':
		p.variablePart().rely(duty{name: w.deps[0], needs: aChild, finding: f})
		return true
	default:
		return strings.HasPrefix(w.Text, "%")
	}
}
