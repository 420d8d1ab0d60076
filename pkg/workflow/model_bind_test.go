package workflow_test

import (
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// bind reports whether a branch, by its path, changes hands.
func (m *model) bind(branch, session string) bool {
	var way []*twig
	p := &m.main
	for name := range strings.SplitSeq(m.path(branch), "/") {
		t := p.split.twig(name)
		if t == nil || t.status != workflow.BranchActive {
			return false
		}
		way, p = append(way, t), &t.place
	}
	if !m.moving() {
		return false
	}
	before := fmt.Sprint(m.lanes())
	own := -1 // the branch on the way that the session is bound to
	driver := session == m.session || session == ""
	for i, t := range way[:len(way)-1] {
		if t.session == session && !driver {
			own = i
		}
	}
	if driver || own >= 0 {
		for _, t := range way[own+1:] {
			t.session = ""
			t.outer.split.current = t.name
		}
	} else {
		m.release(&m.main, session)
		way[len(way)-1].session = session
		p.outer.split.sort()
	}
	return fmt.Sprint(m.lanes()) != before
}

func (m *model) release(p *place, session string) {
	if p.split == nil {
		return
	}
	for _, t := range p.split.twigs {
		if t.status == workflow.BranchActive {
			if t.session == session {
				t.session = ""
			}
			m.release(&t.place, session)
		}
	}
	p.split.sort()
}
