import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { type Approval, change } from "../../api/client";
import { differences } from "../../api/json";
import { useSession } from "../../shell";
import { Failure, Json, Text } from "../../ui/basics";
import { Change } from "../../ui/change";
import { Confirm } from "../../ui/dialog";
import { useSigning } from "../../ui/signing";
import { visible } from "../../ui/visible";
import { content, detailOf, question, sameness, titleOf } from "./subject";

/** The most approvals that one signature decides. */
const mostAlike = 50;

/** Decides all that ask for the same, at once or not at all. */
export function Alike({ all, chosen }: { all: Approval[]; chosen: string | undefined }) {
  const client = useQueryClient();
  const session = useSession();
  const signing = useSigning();
  const [asked, setAsked] = useState<"approve" | "reject">();
  const one = all.find((a) => a.approval_id === chosen && a.status === "PENDING");
  const alike = one
    ? all
        .filter((a) => a.status === "PENDING" && a.you?.may_decide && sameness(a) === sameness(one))
        .slice(0, mostAlike)
    : [];
  const others = one
    ? all.filter((a) => a.status === "PENDING" && question(a) === question(one) && sameness(a) !== sameness(one))
    : [];
  const decide = useMutation({
    mutationFn: async (vote: { approve: boolean; note: string; items: { approval_id: string; digest: string }[] }) => {
      const signature = await signing.signed(vote, one?.terms.presence ?? false);
      if (signature === null) return;
      await change("POST", "/v1/approvals/decide", { ...vote, signature }, crypto.randomUUID());
    },
    onSettled: () => {
      client.invalidateQueries({ queryKey: ["approvals"] });
      client.invalidateQueries({ queryKey: ["approval"] });
    },
  });
  const differing = one && others.length > 0 ? <Differing from={one} others={others} /> : null;
  if (session.read_only || (alike.length < 2 && !decide.error))
    return (
      <>
        {differing}
        {signing.dialog}
      </>
    );
  return (
    <>
      <section className="panel stack" aria-label="Identical approvals">
        <p>
          {alike.length} wait for exactly the same: <strong>{one ? titleOf(one) : ""}</strong>. One decision for all of
          them holds for all, or for none.
        </p>
        <details>
          <summary className="small">What each of them would do</summary>
          {one && <Json value={content(one)} label="Data of each of them" />}
          <ul className="plain">
            {alike.map((a) => (
              <li key={a.approval_id} className="small">
                <code>{a.approval_id}</code>{" "}
                <span className="dim">{visible(a.asker.session_id ?? a.asker.principal)}</span>
              </li>
            ))}
          </ul>
        </details>
        {decide.error ? <Failure error={decide.error} /> : null}
        <div className="row alike-bar">
          <button type="button" disabled={decide.isPending} onClick={() => setAsked("approve")}>
            Approve all {alike.length}
          </button>
          <button type="button" className="danger" disabled={decide.isPending} onClick={() => setAsked("reject")}>
            Reject all {alike.length}
          </button>
        </div>
        {asked && (
          <Confirm
            title={`${asked === "approve" ? "Approve" : "Reject"} ${alike.length} approvals?`}
            danger={asked === "reject"}
            reason
            onClose={() => setAsked(undefined)}
            onYes={(note) =>
              decide.mutate({
                approve: asked === "approve",
                note,
                items: alike.map((a) => ({ approval_id: a.approval_id, digest: a.digest })),
              })
            }
          />
        )}
        {signing.dialog}
      </section>
      {differing}
    </>
  );
}

/** The most approvals whose differences are shown. */
const mostOthers = 10;

/** Approvals of the same kind with other contents: each is decided by itself. */
function Differing({ from, others }: { from: Approval; others: Approval[] }) {
  return (
    <details className="panel stack" aria-label="Approvals that differ">
      <summary>
        {others.length} more {others.length === 1 ? "asks" : "ask"} for {titleOf(from)} with other contents. Decide each
        by itself.
      </summary>
      {others.slice(0, mostOthers).map((a) => (
        <section key={a.approval_id} className="stack tight">
          <p className="row">
            <Link to="/approvals/$id" params={{ id: a.approval_id }} search={{ status: "PENDING" }}>
              {detailOf(a) || a.approval_id}
            </Link>
          </p>
          {differences(content(from), content(a)).map((d) => (
            <div key={d.pointer}>
              <code>
                <Text>{d.pointer || "the whole"}</Text>
              </code>
              <Change before={d.before} after={d.after} />
            </div>
          ))}
        </section>
      ))}
      {others.length > mostOthers && <p className="dim small">{others.length - mostOthers} more are in the list.</p>}
    </details>
  );
}
