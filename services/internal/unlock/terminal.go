package unlock

import (
	"errors"
	"net"
	"os"
	"time"
)

// process is the known part of one.
type process struct {
	pid, parent, group, session int
	// tty is the controlling terminal, 0 for none, and foreground the group in its foreground.
	tty, foreground int
	// start is when it started, in ticks since the machine did; age is how long ago.
	start uint64
	age   time.Duration
	// same reports that it runs this program.
	same bool
}

// terminal is a shell at a terminal: which one, whose session it is, and the process that starts commands.
// Numbers of processes are used again, and so their starts count too.
type terminal struct {
	tty, session, shell     int
	sessionStart, shellTime uint64
}

// freshFor is how long after its start a command may ask for a token, so that an older program cannot
// become one by exec. A child that such a program gives to the shell (CLONE_PARENT) passes.
const freshFor = 10 * time.Second

// terminalOf returns the terminal of the process that asks: a command that a shell there has started itself, in
// the foreground. A fresh one runs this program and was started a moment ago.
func (s *Server) terminalOf(conn net.Conn, fresh bool) (terminal, error) {
	pid, uid, err := s.cfg.peer(conn)
	if err != nil {
		return terminal{}, err
	}
	if uid != os.Geteuid() {
		return terminal{}, errors.New("it is a process of another user")
	}
	at, err := s.terminalOfProcess(pid, fresh)
	if err != nil {
		return terminal{}, err
	}
	return at, s.cfg.lives(conn)
}

// terminalOfProcess returns the terminal of a process of this user.
func (s *Server) terminalOfProcess(pid int, fresh bool) (terminal, error) {
	p, err := s.cfg.look(pid)
	if err != nil {
		return terminal{}, errGone
	}
	shell, err := s.cfg.look(p.parent)
	if err != nil {
		return terminal{}, errGone
	}
	leader, err := s.cfg.look(p.session)
	if err != nil {
		return terminal{}, errGone
	}
	return judge(p, shell, leader, fresh)
}

var errGone = errors.New("the process, its shell or the leader of its session is gone")

// judge returns the terminal of a command, or why it is none.
func judge(p, shell, leader process, fresh bool) (terminal, error) {
	switch {
	case fresh && !p.same: // of a command that asks for a passphrase, no other process can look at the program
		return terminal{}, errors.New("it is another program than this server's `interlock`, or that was built anew since: restart `interlock up` with this one")
	case p.tty == 0:
		return terminal{}, errors.New("it has no terminal")
	case p.foreground != p.group:
		return terminal{}, errors.New("it is not in the foreground of its terminal")
	case p.session == p.pid:
		return terminal{}, errors.New("it leads a session of its own: start it from a shell")
	case shell.same:
		return terminal{}, errors.New("it was started by `interlock` and not by a shell")
	case p.parent <= 1 || shell.session != p.session || shell.tty != p.tty:
		return terminal{}, errors.New("it was not started by a shell of its terminal")
	case leader.pid != p.session || leader.tty != p.tty:
		return terminal{}, errors.New("its session has no leader at its terminal")
	case fresh && p.age > freshFor:
		return terminal{}, errors.New("it was started too long ago")
	}
	return terminal{tty: p.tty, session: leader.pid, shell: shell.pid, sessionStart: leader.start, shellTime: shell.start}, nil
}
