package auth

import "strings"

// May describes what the principal may do: a sentence.
func (p Principal) May() string {
	var what string
	switch p.Role {
	case Agent:
		what = "It drives runs and asks for tool calls; it decides no approval and changes no policy"
	case Runtime:
		what = "It runs agents: it drives runs and asks for tool calls, and its reports of calls count as observed"
	case Operator:
		what = "It changes policies, drives and repairs runs, and decides approvals"
	case Approver:
		what = "It reads, and decides approvals"
	case Observer:
		what = "It reads"
	case Service:
		what = "It acts for Interlock's own services"
	default:
		return "It may do nothing here: the role " + string(p.Role) + " is not known."
	}
	switch {
	case p.Branch != "":
		what += ", in the branch " + p.Branch + " of the session " + p.Session + " only"
	case p.Session != "":
		what += ", in the session " + p.Session + " only"
	}
	switch {
	case p.Namespace != "":
		what += ", in the namespace " + p.Namespace
	case p.Namespaces != "" && p.Namespaces != AllNamespaces:
		what += ", in the namespaces " + strings.Join(p.Namespaces.List(), ", ")
	}
	return what + "."
}

// NamespaceList returns the namespaces that the principal may call in; "*" is every one.
func (p Principal) NamespaceList() []string {
	switch {
	case p.Namespace != "":
		return []string{p.Namespace}
	case p.Namespaces != "":
		return p.Namespaces.List()
	default:
		return []string{string(AllNamespaces)}
	}
}
