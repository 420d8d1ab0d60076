package diagram

import "github.com/interlock-run/interlock/pkg/process"

// Process makes the graph of a process that Parse found valid: every question,
// and where its answers lead.
func Process(def *process.Definition) *Diagram {
	d := &Diagram{title: def.Name}
	places := make(map[string]int, len(def.States))
	begin := d.add(node{kind: start, parent: root})
	for i := range def.States {
		s := &def.States[i]
		n := node{kind: state, name: s.Name, parent: root}
		if len(s.Answers) == 0 {
			n.kind = success // S8.2
		}
		if s.Question != "" {
			n.detail, n.tip = []string{s.Question}, []string{s.Question}
		}
		places[s.Name] = d.add(n)
	}
	if first, ok := places[def.Initial]; ok {
		d.connect(edge{from: begin, to: first})
	}
	ends := make(map[kind]int)
	for i := range def.States {
		s := &def.States[i]
		for _, a := range s.Answers {
			e := answerEdge(a)
			e.from = places[s.Name]
			if a.Ends() {
				e.to = d.end(ends, a.Action)
			} else if to, ok := places[a.Next]; ok {
				e.to = to
			} else {
				continue
			}
			d.connect(e)
		}
	}
	return d
}

func answerEdge(a process.Answer) edge {
	e := edge{label: a.Key}
	switch a.Action {
	case process.Warn:
		e.label += ", with a warning"
	case process.NotifyHuman:
		e.label += ", after approval"
		e.approval = true
		e.tip = []string{"a human is asked; a rejection blocks the session"}
	}
	return e
}

// end returns the node for sessions that end by an answer: one for each outcome.
func (d *Diagram) end(ends map[kind]int, action process.Action) int {
	n := node{kind: success, name: "completed", parent: root}
	if action == process.Block {
		n = node{kind: failure, name: "blocked", parent: root}
	}
	at, ok := ends[n.kind]
	if !ok {
		at = d.add(n)
		ends[n.kind] = at
	}
	return at
}
