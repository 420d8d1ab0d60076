package diagram

// Graph is a diagram with a place for everything, for programs that draw it themselves.
// Lengths are in pixels from the upper left corner. It has the parts of the picture of SVG. Each state has a line of
// room below its texts, for a note of the program.
type Graph struct {
	Width  int          `json:"width"`
	Height int          `json:"height"`
	Nodes  []GraphNode  `json:"nodes" doc:"What holds others comes before them."`
	Edges  []GraphEdge  `json:"edges"`
	Labels []GraphLabel `json:"labels"`
}

// GraphNode is a box.
type GraphNode struct {
	ID   string `json:"id" doc:"Of this graph alone."`
	Name string `json:"name" doc:"Of a state, a fork's branch or an invoked workflow; empty for others."`
	Kind string `json:"kind" enum:"start,state,success,failure,choice,fork,join,invoke,any,return,branch"`
	// Details are secondary text, a line each.
	Details []string `json:"details" doc:"Secondary text, a line each."`
	// Tip has the texts that do not fit, a line each.
	Tip    []string `json:"tip" doc:"What does not fit, a line each."`
	X      int      `json:"x"`
	Y      int      `json:"y"`
	Width  int      `json:"width"`
	Height int      `json:"height"`
	Change Change   `json:"change,omitzero" enum:"added,removed,changed,same" doc:"In the picture of two versions; absent in others."`
}

// GraphEdge is a part of a line between two nodes.
type GraphEdge struct {
	From   string   `json:"from" doc:"Id of the node that it leads from."`
	To     string   `json:"to" doc:"Id of the node that it leads to."`
	Path   string   `json:"path" doc:"The line, as the attribute d of a path of SVG."`
	Head   string   `json:"head,omitzero" doc:"Its tip, likewise; absent for parts without one."`
	Dashed bool     `json:"dashed,omitzero" doc:"True when no event that the state defines takes it."`
	Tip    []string `json:"tip" doc:"What does not fit, a line each."`
	Change Change   `json:"change,omitzero" enum:"added,removed,changed,same" doc:"In the picture of two versions; absent in others."`
}

// GraphLabel is text around a point, or to the right of it when Aside is set.
type GraphLabel struct {
	From  string      `json:"from"`
	To    string      `json:"to"`
	X     int         `json:"x"`
	Y     int         `json:"y"`
	Aside bool        `json:"aside,omitzero" doc:"True for text to the right of the point."`
	Lines []GraphText `json:"lines"`
}

// GraphText is one line of a label.
type GraphText struct {
	Text     string `json:"text"`
	Approval bool   `json:"approval,omitzero" doc:"True when a human must approve it."`
	Change   Change `json:"change,omitzero" enum:"added,removed,changed,same" doc:"In the picture of two versions; absent in others."`
}

// kinds are the names of kinds.
var kinds = [...]string{"start", "state", "success", "failure", "choice", "fork", "join", "invoke", "any", "return", "branch"}

// Graph lays the diagram out.
func (d *Diagram) Graph() Graph {
	noted := *d
	noted.notes = true
	drawn := noted.layout()
	g := Graph{
		Width: drawn.width, Height: drawn.height,
		Nodes: make([]GraphNode, 0, len(drawn.boxes)), Edges: make([]GraphEdge, 0, len(drawn.lines)), Labels: make([]GraphLabel, 0, len(drawn.labels)),
	}
	for _, b := range drawn.boxes {
		n := &d.nodes[b.node]
		g.Nodes = append(g.Nodes, GraphNode{
			ID: n.id, Name: n.name, Kind: kinds[n.kind], Details: clipLines(n.detail, mostDetails, widestDetail),
			Tip: clipLines(n.tip, mostTips, widestTip), X: b.x, Y: b.y, Width: b.w, Height: b.h, Change: n.change,
		})
	}
	for i := range drawn.lines {
		l := &drawn.lines[i]
		g.Edges = append(g.Edges, GraphEdge{
			From: d.nodes[l.from].id, To: d.nodes[l.to].id, Path: l.path(), Head: l.head(), Dashed: l.dashed,
			Tip: clipLines(l.tip, mostTips, widestTip), Change: l.change,
		})
	}
	for i := range drawn.labels {
		l := &drawn.labels[i]
		texts := make([]GraphText, len(l.lines))
		for k, c := range l.lines {
			texts[k] = GraphText{Text: c.text, Approval: c.approval, Change: c.change}
		}
		g.Labels = append(g.Labels, GraphLabel{From: d.nodes[l.from].id, To: d.nodes[l.to].id, X: l.at.x, Y: l.at.y, Aside: l.loop, Lines: texts})
	}
	return g
}
