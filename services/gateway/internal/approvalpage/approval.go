package approvalpage

import (
	"crypto/rand"
	"net/http"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/visible"
)

// draft is what somebody has written into the forms, so that a refusal loses
// nothing.
type draft struct {
	Note string
	// Data is the edited data; the approval's own when nothing was edited.
	Data string
	// Edits is true when the form for edits is open.
	Edits bool
}

// approval serves one approval.
func (p *page) approval(v *visit) error {
	return p.show(v, http.StatusOK, "", draft{})
}

// show responds with the approval that the path names, as it stands now.
func (p *page) show(v *visit, status int, notice string, written draft) error {
	resp, err := p.Approvals.GetApproval(v.ctx, &approvalv1.GetApprovalRequest{ApprovalId: v.r.PathValue("id")})
	if err != nil {
		return err
	}
	view := viewOf(resp.GetApproval(), p.now())
	view.frame = v.frame("Approval " + line(resp.GetApproval().GetApprovalId()))
	view.Notice, view.Draft, view.Key = visible.Text(notice, false), written, rand.Text()
	if view.Draft.Data = visible.JSON(withoutReturns(written.Data)); written.Data == "" {
		view.Draft.Data = view.Bound
	}
	view.Changes, view.NoChanges = p.recent(v, resp.GetApproval().GetRunId())
	p.render(v.w, status, "approval", view)
	return nil
}

// approve agrees to exactly what was shown, or with edited data.
func (p *page) approve(v *visit) error {
	form := v.r.PostForm
	vote := &approvalv1.DecideApprovalRequest{Approve: true}
	if form.Has("edited_data") {
		vote.EditedData = []byte(form.Get("edited_data"))
		if len(vote.EditedData) == 0 {
			return p.show(v, http.StatusBadRequest, "The edited data is empty, and nothing was decided. Write the whole JSON object, or approve it as it is.",
				draft{Note: form.Get("note"), Edits: true})
		}
	}
	return p.decide(v, vote)
}

func (p *page) reject(v *visit) error { return p.decide(v, &approvalv1.DecideApprovalRequest{}) }

// decide casts the vote. A refusal is shown on the approval's page, with how that
// stands by now.
func (p *page) decide(v *visit, vote *approvalv1.DecideApprovalRequest) error {
	form := v.r.PostForm
	vote.ApprovalId, vote.Note, vote.IdempotencyKey = v.r.PathValue("id"), withoutReturns(form.Get("note")), form.Get("key")
	written := draft{Note: vote.Note, Data: string(vote.EditedData), Edits: len(vote.EditedData) > 0}
	if vote.Digest = form.Get("digest"); vote.Digest == "" {
		return p.show(v, http.StatusBadRequest, "The form does not contain what was shown, and nothing was decided. Look at the approval again.", written)
	}
	_, err := p.Approvals.DecideApproval(v.ctx, vote)
	if err == nil {
		http.Redirect(v.w, v.r, pathOf(vote.ApprovalId), http.StatusSeeOther)
		return nil
	}
	f := fault.From(err)
	if f.Reason == fault.Unauthenticated || f.HTTPStatus() >= http.StatusInternalServerError {
		return err
	}
	return p.show(v, f.HTTPStatus(), f.Message, written)
}
