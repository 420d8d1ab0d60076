package model

import (
	"strconv"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// AppendKey writes all of a global state that its future depends on.
func (w *GlobalState) AppendKey(dst []byte) []byte {
	dst = strconv.AppendBool(dst, w.Met)
	dst = append(dst, '|')
	return w.Root.appendKey(dst)
}

func (n *Node) appendKey(dst []byte) []byte {
	dst = AppendText(dst, n.Unit.Machine.Name())
	if n.Run.Status.Ended() { // otherwise it follows from the lanes
		dst = append(dst, string(n.Run.Status)...)
	}
	dst = n.appendLane(dst, &n.Run.Lane, n.Run.Status.Ended())
	for _, h := range n.Held {
		if h.Entry == 0 {
			dst = AppendText(append(dst, 'e'), h.Name)
		}
	}
	for _, name := range n.Late {
		dst = AppendText(append(dst, 'l'), name)
	}
	for _, kid := range n.Children {
		dst = AppendText(append(dst, '{'), kid.Run.ID)
		dst = append(kid.appendKey(dst), '}')
	}
	return dst
}

func (n *Node) appendLane(dst []byte, l *workflow.Lane, ended bool) []byte {
	dst = AppendText(append(dst, 's'), l.State)
	if ended {
		return dst
	}
	if l.Interrupt != nil {
		dst = AppendText(AppendText(append(dst, 'i'), l.Interrupt.Name), l.Interrupt.ReturnTo)
	}
	if l.Approval.Pending() {
		dst = AppendText(AppendText(append(dst, 'a'), l.Approval.Event), l.Approval.To)
		for _, key := range n.Unit.Words.Keys {
			if _, sets := l.Approval.Data.Get(key); sets && n.Unit.Words.Traced[key] { // the grant will overwrite it
				dst = AppendText(dst, key)
			}
		}
	}
	if l.Child != nil {
		dst = AppendText(AppendText(append(dst, 'c'), l.Child.RunID), l.Child.Event)
	}
	for _, h := range n.Held {
		if h.Entry == l.Entry {
			dst = AppendText(append(dst, 'h'), h.Name)
		}
	}
	for i := range n.Run.Approved {
		a := &n.Run.Approved[i]
		dst = AppendText(AppendText(append(dst, 'g'), a.State), a.Event)
		dst = strconv.AppendBool(dst, a.Entry == l.Entry)
	}
	dst = n.appendContext(dst, l)
	if l.Fork == nil {
		return dst
	}
	dst = AppendText(append(dst, 'f'), l.Fork.Event)
	for i := range l.Fork.Branches {
		b := &l.Fork.Branches[i]
		dst = append(append(dst, '['), string(b.Status)...)
		if b.Status == workflow.BranchActive {
			dst = n.appendLane(dst, &b.Lane, false)
		} else {
			dst = n.appendContext(dst, &b.Lane)
		}
		dst = append(dst, ']')
	}
	return dst
}

func (n *Node) appendContext(dst []byte, l *workflow.Lane) []byte {
	for _, key := range n.Unit.Words.Keys {
		v, ok := l.Context.Get(key)
		switch {
		case !ok:
			dst = append(dst, '-')
		case v.Str() == FreeByAgent.Str():
			dst = append(dst, '*')
		case IsFree(v):
			dst = append(dst, '+')
			dst = append(dst, v.Str()[len(v.Str())-3:]...)
		default:
			dst = AppendText(append(dst, '='), string(document.Canonical(v)))
		}
		if n.Unit.Words.Traced[key] {
			dst = append(dst, string(l.Sources[key])...)
		}
	}
	if n.Unit.Words.Traced[ResultsKey] {
		for _, name := range sortedKeys(l.Sources) {
			if name != "" && name[0] == '$' {
				dst = append(AppendText(dst, name), string(l.Sources[name])...)
			}
		}
	}
	return dst
}

// AppendText writes a text so that no other sequence of texts has the same bytes.
func AppendText(dst []byte, text string) []byte {
	dst = strconv.AppendInt(dst, int64(len(text)), 10)
	dst = append(dst, ':')
	return append(dst, text...)
}
