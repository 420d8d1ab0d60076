package approvalpage

import (
	"net/http"
	"net/url"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
)

// listPage is how many approvals one page lists.
const listPage = 100

// listView is the page of what waits for a decision.
type listView struct {
	frame
	Rows []rowView
	// Next is the path of the next page; empty at the end.
	Next string
}

// rowView is one approval of the list.
type rowView struct {
	Path, What, Message, Run, Asker, Created, Expires string
}

// list serves what waits, newest first.
func (p *page) list(v *visit) error {
	resp, err := p.Approvals.ListApprovals(v.ctx, &approvalv1.ListApprovalsRequest{
		PageSize: listPage, PageToken: v.r.URL.Query().Get("page_token"), Filter: "status=PENDING",
	})
	if err != nil {
		return err
	}
	view := listView{frame: v.frame("Approvals")}
	view.Listing = true
	now := p.now()
	for _, a := range resp.GetApprovals() {
		view.Rows = append(view.Rows, rowView{
			Path: pathOf(a.GetApprovalId()), What: what(a), Message: line(clip(a.GetMessage(), maxRowMessage)), Run: line(a.GetRunId()),
			Asker: line(a.GetAsker().GetPrincipal()), Created: moment(a.GetCreatedAt(), now), Expires: moment(a.GetExpiresAt(), now),
		})
	}
	if next := resp.GetNextPageToken(); next != "" {
		view.Next = Path + "?page_token=" + url.QueryEscape(next)
	}
	p.render(v.w, http.StatusOK, "list", view)
	return nil
}
