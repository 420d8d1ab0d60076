package authority_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/authority"
)

var (
	root  = &authority.Session{ID: "ses_1", Name: "lead", RootID: "ses_1"}
	child = &authority.Session{ID: "ses_2", Name: "lead/a", RootID: "ses_1"}
	alien = &authority.Session{ID: "ses_9", Name: "alien", RootID: "ses_9"}
	// agentOf has a token that is bound to a session, unless that is empty.
	agentOf = func(session string) authority.Who {
		return authority.Who{Role: authority.Agent, Name: "amir", Session: session}
	}
)

func ended(s *authority.Session, by authority.Author) *authority.Session {
	copied := *s
	copied.Ended = &by
	return &copied
}

// S11.1, S10.9: which sessions may act on which.
func TestSessionRights(t *testing.T) {
	t.Parallel()
	operator := authority.Author{Role: authority.Operator, Name: "olga"}
	for name, tt := range map[string]struct {
		scene authority.SessionScene
		ask   func(authority.SessionScene) *authority.Refusal
		may   bool
	}{
		"touch its own tree": {authority.SessionScene{Acting: child, Subject: root}, authority.SessionScene.MayTouch, true},
		"touch another tree": {authority.SessionScene{Acting: alien, Subject: root}, authority.SessionScene.MayTouch, false},
		"touch as nobody":    {authority.SessionScene{Subject: root}, authority.SessionScene.MayTouch, true},

		"stop itself":              {authority.SessionScene{Who: agentOf("lead"), Acting: root, Subject: root, Below: true}, stop, true},
		"stop one below":           {authority.SessionScene{Who: agentOf("lead"), Acting: root, Subject: child, Below: true}, stop, true},
		"stop one above":           {authority.SessionScene{Who: agentOf("lead/a"), Acting: child, Subject: root}, stop, false},
		"stop without a bound one": {authority.SessionScene{Who: agentOf(""), Acting: child, Subject: root}, stop, true},
		"end one above, unbound":   {authority.SessionScene{Who: agentOf(""), Acting: child, Subject: root}, end, false},
		"end with no session":      {authority.SessionScene{Who: agentOf(""), Subject: root}, end, true},

		"resume itself":          {authority.SessionScene{Who: agentOf("lead"), Acting: root, Subject: root, Below: true}, resume, true},
		"resume one above":       {authority.SessionScene{Who: agentOf("lead/a"), Acting: child, Subject: root}, resume, false},
		"resume an ended by own": {authority.SessionScene{Who: agentOf("lead"), Acting: root, Below: true, Subject: ended(root, authority.Author{Role: authority.Agent, Name: "amir", SessionID: "ses_1"})}, resume, true},
		"resume an operator's":   {authority.SessionScene{Who: agentOf("lead"), Acting: root, Subject: ended(root, operator), Below: true}, resume, false},
		"unbound, an operator's": {authority.SessionScene{Who: agentOf(""), Subject: ended(root, operator)}, resume, false},
		"unbound, an agent's":    {authority.SessionScene{Who: agentOf(""), Subject: ended(root, authority.Author{Role: authority.Agent, Name: "amir"})}, resume, true},
		"unbound, a stranger's":  {authority.SessionScene{Who: agentOf(""), Subject: ended(root, authority.Author{Role: authority.Agent, Name: "zoe"})}, resume, false},
		"bound, by its name":     {authority.SessionScene{Who: agentOf("lead"), Acting: root, Below: true, Subject: ended(root, authority.Author{Role: authority.Agent, Name: "amir"})}, resume, false},
		"ended by the parent":    {authority.SessionScene{Who: agentOf("lead/a"), Acting: child, Below: true, Subject: ended(child, authority.Author{Role: authority.Agent, Name: "amir", SessionID: "ses_1"})}, resume, false},
		"an ancestor lifts":      {authority.SessionScene{Who: agentOf("lead"), Acting: root, Below: true, Subject: ended(child, operator)}, resume, true},
		"an operator lifts":      {authority.SessionScene{Who: authority.Who{Role: authority.Operator}, Subject: ended(root, operator)}, resume, true},
	} {
		if refusal := tt.ask(tt.scene); (refusal == nil) != tt.may {
			t.Errorf("%s: %v", name, refusal)
		}
	}
}

func stop(s authority.SessionScene) *authority.Refusal   { return s.MayStop(false) }
func end(s authority.SessionScene) *authority.Refusal    { return s.MayStop(true) }
func resume(s authority.SessionScene) *authority.Refusal { return s.MayResume() }

// S11.1: a bound caller makes its own session, and those below it by names that no other
// token is bound to.
func TestMayCreate(t *testing.T) {
	t.Parallel()
	below := authority.SessionScene{Who: agentOf("lead"), Acting: root, Subject: child, Below: true}
	for name, tt := range map[string]struct {
		scene    authority.SessionScene
		id, name string
		may      bool
	}{
		"its own":                 {authority.SessionScene{Who: agentOf("lead")}, "", "lead", true},
		"its own with its id":     {authority.SessionScene{Who: agentOf("lead")}, "lead", "", true},
		"its own, another id":     {authority.SessionScene{Who: agentOf("lead")}, "x", "lead", false},
		"another root":            {authority.SessionScene{Who: agentOf("lead")}, "", "other", false},
		"one below":               {below, "", "lead/b", true},
		"one below, unnamed":      {below, "", "", true},
		"one below by its id":     {below, "", "ses_1/b", true},
		"one below, alien name":   {below, "", "other", false},
		"one below, alien id":     {below, "other", "lead/b", false},
		"below another":           {authority.SessionScene{Who: agentOf("lead"), Acting: root, Subject: alien}, "", "lead/b", false},
		"anything, with no bound": {authority.SessionScene{Who: agentOf("")}, "", "other", true},
	} {
		if refusal := tt.scene.MayCreate(tt.id, tt.name); (refusal == nil) != tt.may {
			t.Errorf("%s: %v", name, refusal)
		}
	}
}

// S7.5: whose usage an agent may ask about.
func TestAccounts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		who                authority.Who
		principal, session string
		want               [2]string
		may                bool
	}{
		"itself":            {agentOf("s"), "", "", [2]string{"amir", "s"}, true},
		"another session":   {agentOf("s"), "", "x", [2]string{"amir", "x"}, false},
		"unbound":           {agentOf(""), "", "x", [2]string{"amir", "x"}, true},
		"an operator, all":  {authority.Who{Role: authority.Operator, Name: "olga"}, "", "", [2]string{}, true},
		"an operator, some": {authority.Who{Role: authority.Operator, Name: "olga"}, "amir", "s", [2]string{"amir", "s"}, true},
	} {
		principal, session, refusal := tt.who.Accounts(tt.principal, tt.session)
		if [2]string{principal, session} != tt.want || (refusal == nil) != tt.may {
			t.Errorf("%s: %q, %q, %v", name, principal, session, refusal)
		}
	}
}
