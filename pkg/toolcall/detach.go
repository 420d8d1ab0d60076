package toolcall

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/shell"
)

// detachers are programs that run others in the background, or by a service of the machine.
var detachers = []string{
	"nohup", "gnohup", "setsid", "disown", "at", "batch", "screen", "tmux", "daemon", "daemonize", "start-stop-daemon", "systemd-run",
	"dtach", "abduco", "zellij", "byobu", "pm2", "forever", "tsp", "crontab",
	"systemctl", "service", "rc-service", "initctl", "launchctl", "supervisorctl", "s6-svc", "svc", "sv", "monit", "machinectl",
	"pg_ctl", "pg_ctlcluster", "apachectl", "apache2ctl", "nginx", "mysqld_safe", "dockerd", "ssh-agent", "watchman",
	"open", "gopen", "xdg-open", "gtk-launch", "minikube", "k3d", "kind", "vagrant", "multipass", "limactl", "colima", "lxc", "incus", "virsh",
}

// detachOptions are options by which programs of any name say that they continue in the background.
var detachOptions = []string{
	"--detach", "--detached", "-detached", "--daemon", "--daemonize", "--daemonise", "--background", "--bg", "--fork",
}

// containers are clients of container engines: -d detaches, and so do some of their commands.
var containers = []string{"docker", "podman", "nerdctl", "finch", "docker-compose", "podman-compose", "ctr", "container"}

// starts are commands of programs that start something and return.
var starts = map[string][]string{
	"brew": {"services"}, "caddy": {"start"}, "celery": {"multi"}, "catalina.sh": {"start"},
}

// containersStart are the same of clients of container engines.
var containersStart = []string{"start", "restart", "unpause", "service", "stack", "swarm", "machine"}

// detaches reports a command that leaves a program at work after its own end, as far as its words show
// (S14.6): its exit status is not proof, and files may change afterwards. A variable may be the option.
func detaches(c shell.Command) bool {
	program := c.Program()
	if slices.Contains(detachers, program) {
		return true
	}
	contains := slices.Contains(containers, program)
	for _, w := range c.Words[min(len(c.Words), c.Assigns+1):] {
		switch option, value, given := strings.Cut(w.Text, "="); {
		case !w.Static:
			if contains && strings.HasPrefix(w.Text, string(shell.Unknown)) && !strings.Contains(w.Text, "/") {
				return true
			}
		case slices.Contains(detachOptions, option):
			if !given || !slices.Contains([]string{"false", "no", "0", "off"}, strings.ToLower(value)) {
				return true
			}
		case contains && shortOption(w.Text, 'd'), program == "ssh" && shortOption(w.Text, 'f'):
			return true
		case slices.Contains(starts[program], w.Text), contains && slices.Contains(containersStart, w.Text):
			return true
		}
	}
	return false
}

// shortOption reports a word of short options of which one is this letter.
func shortOption(word string, letter rune) bool {
	letters, is := strings.CutPrefix(word, "-")
	return is && strings.ContainsRune(letters, letter) && !strings.ContainsFunc(letters, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
