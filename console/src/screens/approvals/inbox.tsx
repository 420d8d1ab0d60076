import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { type Approval, get, type Schemas } from "../../api/client";
import { Chip, Text, Time, useTitle } from "../../ui/basics";
import type { Group } from "../../ui/group";
import { usePhone } from "../../ui/media";
import { type Column, Table, useItems, usePages } from "../../ui/table";
import { Alike } from "./alike";
import { Card } from "./card";
import { askersOf, groupsOf } from "./groups";
import { about, titleOf } from "./subject";

const statuses = ["PENDING", "GRANTED", "REJECTED", "EXPIRED", "CANCELLED", "USED", "STALE"];

const columns: Column<Group<Approval>>[] = [
  {
    id: "request",
    name: "Request",
    opens: true,
    width: "1fr",
    phone: 1,
    cell: ({ first, all }) => (
      <>
        {titleOf(first)}{" "}
        {all.length > 1 && (
          <span className="count">
            ×{all.length}
            <span className="hidden-text"> the same</span>
          </span>
        )}
      </>
    ),
  },
  {
    id: "status",
    name: "Status",
    width: "6.5rem",
    phone: 1,
    end: true,
    cell: ({ first }) => <Chip>{first.status}</Chip>,
  },
  { id: "about", name: "About", width: "1fr", phone: 2, cell: ({ first }) => about(first) },
  { id: "session", name: "Session", width: "1fr", phone: 2, cell: askersOf },
  {
    id: "asked",
    name: "Asked",
    width: "6.5rem",
    phone: 2,
    end: true,
    cell: ({ first }) => <Time at={first.created_at} />,
  },
];

/** The inbox: waiting approvals at the left, one of them at the right. On a phone, one or the other. */
export function Approvals() {
  useTitle("Approvals");
  const { id } = useParams({ strict: false }) as { id?: string };
  const search = useSearch({ strict: false }) as { status?: string };
  const wanted = search.status ?? "PENDING";
  const status = wanted === "ALL" ? "" : wanted;
  const navigate = useNavigate();
  const phone = usePhone();
  const pages = usePages<Schemas["ApprovalList"]>(["approvals", status], "/v1/approvals", {
    status: status || undefined,
  });
  const all = useItems(pages, (p) => p.approvals);
  const groups = useMemo(() => groupsOf(all), [all]);
  const chosen = id ?? (phone ? undefined : all[0]?.approval_id);
  const at = groups.findIndex((g) => g.all.some((a) => a.approval_id === chosen));
  const place = (g: Group<Approval>) => ({
    to: "/approvals/$id" as const,
    params: { id: g.first.approval_id },
    search: { status: wanted },
  });
  const next = groups[at + 1];
  const card = chosen && (
    <div className="stack card">
      <Card key={chosen} id={chosen} />
      <Alike all={all} chosen={chosen} />
    </div>
  );
  if (phone && card)
    return (
      <>
        <div className="head">
          <h1 className="hidden-text">Approvals</h1>
          <Link to="/approvals" search={{ status: wanted }}>
            ‹ All approvals
          </Link>
          <span className="grow" />
          {next && <Link {...place(next)}>Next ›</Link>}
        </div>
        {card}
      </>
    );
  return (
    <>
      <div className="head">
        <h1>Approvals</h1>
      </div>
      <Tiring />
      <div className={card ? "split inbox" : "stack"}>
        {card}
        <Table
          name="approvals"
          label="Approvals"
          source={pages}
          items={groups}
          count={all.length}
          columns={status === "" ? columns : columns.filter((c) => c.id !== "status")}
          id={(g) => g.first.approval_id}
          place={place}
          tools={
            <>
              <select
                aria-label="Status"
                value={status}
                onChange={(e) => navigate({ to: "/approvals", search: { status: e.target.value || "ALL" } })}
              >
                <option value="">all</option>
                {statuses.map((s) => (
                  <option key={s} value={s}>
                    {s.toLowerCase()}
                  </option>
                ))}
              </select>
              <span className="grow" />
            </>
          }
          current={groups[at]?.first.approval_id ?? ""}
          onMove={(g) => navigate(place(g))}
          keys={[
            ["a", "approve"],
            ["r", "reject"],
            ["e", "edit"],
          ]}
          empty={
            status === "PENDING" ? (
              <>
                No pending approvals. Rules under <code>ask</code> and transitions with <code>requires_approval</code>{" "}
                make some.
              </>
            ) : (
              "There are none with this status. Choose another one above."
            )
          }
          twoLines
        />
      </div>
    </>
  );
}

/** Points at questions that people hardly ever reject: too many of them are approved unread. */
function Tiring() {
  const query = useQuery({
    queryKey: ["questions"],
    queryFn: ({ signal }) => get<Schemas["QuestionList"]>("/v1/approvals/stats", {}, signal),
    staleTime: 300_000,
  });
  const hints = (query.data?.questions ?? []).filter((q) => q.hint);
  if (hints.length === 0) return null;
  return (
    <details className="notice">
      <summary>
        {hints.length === 1 ? "1 question is" : `${hints.length} questions are`} hardly ever rejected. People who are
        asked too often approve without reading.
      </summary>
      <ul>
        {hints.map((q) => (
          <li key={`${q.what}${q.asked_by}`}>
            <strong>
              <Text>{q.what}</Text>
            </strong>
            , asked by <Text>{q.asked_by === "workflow" ? "its workflow" : `policy ${q.asked_by}`}</Text>: {q.hint}{" "}
            {q.quick > 0 && <span className="dim">{q.quick} were granted within three seconds.</span>}
          </li>
        ))}
      </ul>
      <p className="small">
        A lease, which you can give with an approval, answers a question for a while. A rule under <code>allow</code>{" "}
        answers it for good. Of the last 30 days.
      </p>
    </details>
  );
}
