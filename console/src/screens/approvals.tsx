import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { type Approval, CallError, change, get, type Schemas, segment } from "../api/client";
import { differences, parse, pretty } from "../api/json";
import { useSession } from "../shell";
import { Chip, CopyId, Facts, Failure, Json, Loaded, Names, Text, Time, useNow, useTitle } from "../ui/basics";
import { Change } from "../ui/change";
import { Command } from "../ui/command";
import { Confirm } from "../ui/dialog";
import { List, usePages } from "../ui/list";
import { escaped, visible } from "../ui/visible";

type Subject = Record<string, unknown>;
const of = (a: Approval, key: string) => {
  const value = (a.subject as Subject)[key];
  return typeof value === "string" ? value : "";
};

/** The request, in a few words. */
export function titleOf(a: Approval): string {
  switch (a.kind) {
    case "transition":
      return visible(`${of(a, "workflow")}: ${of(a, "event")} to ${of(a, "to")}`);
    case "tool_call":
      return visible(`call ${of(a, "tool")}`);
    default:
      return visible(`${of(a, "process") || of(a, "workflow")}: ${of(a, "question") || of(a, "step") || "a step"}`);
  }
}

const statuses = ["PENDING", "GRANTED", "REJECTED", "EXPIRED", "CANCELLED", "USED", "STALE"];

/** The inbox: waiting approvals at the left, one of them at the right. By keyboard: j, k, a, r, e, ?. */
export function Approvals() {
  useTitle("Approvals");
  const { id } = useParams({ strict: false }) as { id?: string };
  const search = useSearch({ strict: false }) as { status?: string };
  const wanted = search.status ?? "PENDING";
  const status = wanted === "ALL" ? "" : wanted;
  const navigate = useNavigate();
  const [help, setHelp] = useState(false);
  const pages = usePages<Schemas["ApprovalList"]>(["approvals", status], "/v1/approvals", {
    status: status || undefined,
  });
  const all = pages.data?.pages.flatMap((p) => p.approvals) ?? [];
  const chosen = id ?? all[0]?.approval_id;
  const at = all.findIndex((a) => a.approval_id === chosen);
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      const typing = e.target instanceof HTMLElement && e.target.closest("input, textarea, select, dialog");
      if (typing || e.ctrlKey || e.metaKey || e.altKey) return;
      const next = e.key === "j" ? all[at + 1] : e.key === "k" ? all[at - 1] : undefined;
      if (next) navigate({ to: "/approvals/$id", params: { id: next.approval_id }, search: { status: wanted } });
      if (e.key === "?") setHelp((h) => !h);
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [all, at, navigate, wanted]);
  return (
    <>
      <div className="head">
        <h1>Approvals</h1>
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
        <button type="button" className="quiet" aria-expanded={help} onClick={() => setHelp(!help)}>
          Keys <kbd>?</kbd>
        </button>
      </div>
      {help && (
        <p className="notice">
          <kbd>j</kbd> next, <kbd>k</kbd> previous, <kbd>a</kbd> approve, <kbd>r</kbd> reject, <kbd>e</kbd> edit,{" "}
          <kbd>?</kbd> this help.
        </p>
      )}
      <div className={chosen ? "split inbox" : "stack"}>
        {chosen && (
          <div className="stack card">
            <Card key={chosen} id={chosen} />
            <Alike all={all} chosen={chosen} />
          </div>
        )}
        <List
          pages={pages}
          label="Approvals"
          items={(p) => p.approvals}
          empty={status === "PENDING" ? "Nothing waits for a human." : "There are none with this status."}
          row={(a, style) => (
            <Link
              key={a.approval_id}
              className={`list-row cols-approvals${status === "" ? " cols-status" : ""}`}
              style={style}
              to="/approvals/$id"
              params={{ id: a.approval_id }}
              search={{ status: wanted }}
              aria-current={a.approval_id === chosen}
            >
              {status === "" && <Chip>{a.status}</Chip>}
              <span className="stack tight">
                <span>{titleOf(a)}</span>
                <span className="dim small clip">{detailOf(a)}</span>
              </span>
              <span className="wide dim">
                <Time at={a.created_at} />
              </span>
            </Link>
          )}
        />
      </div>
    </>
  );
}

/** The data of an action, as it would be used. */
const content = (a: Approval) => a.edited_data ?? a.data;

/** The requester and the kind of action. */
const question = (a: Approval) =>
  JSON.stringify([
    a.kind,
    ...[
      "workflow",
      "workflow_version",
      "state",
      "event",
      "to",
      "tool",
      "capability",
      "policy",
      "policy_version",
      "rule",
    ].map((key) => (a.subject as Subject)[key]),
  ]);

/** The values that make approvals identical, so that one decision can be meant for all: the server compares it again. */
const sameness = (a: Approval) => JSON.stringify([question(a), content(a)]);

/** The subject of an approval, in one line: the file or the command, and the session. */
function detailOf(a: Approval): string {
  const data = content(a);
  const fields = data && typeof data === "object" ? (data as Record<string, unknown>) : {};
  const about = ["command", "file_path", "path", "notebook_path", "url", "to"]
    .map((key) => fields[key])
    .find((value) => typeof value === "string" && value !== "");
  const what = typeof about === "string" ? about : data === undefined ? "" : (JSON.stringify(data) ?? "");
  const short = what.length > longest ? `${what.slice(0, longest)}…` : what;
  return visible([short, a.asker.session_id && `session ${a.asker.session_id}`].filter(Boolean).join(" · "));
}

/** The longest detail of a row, in characters. */
const longest = 120;

/** Decides all that ask for the same, at once or not at all. */
function Alike({ all, chosen }: { all: Approval[]; chosen: string | undefined }) {
  const client = useQueryClient();
  const session = useSession();
  const [asked, setAsked] = useState<"approve" | "reject">();
  const one = all.find((a) => a.approval_id === chosen && a.status === "PENDING");
  const alike = one
    ? all.filter((a) => a.status === "PENDING" && a.you?.may_decide && sameness(a) === sameness(one)).slice(0, 100)
    : [];
  const others = one
    ? all.filter((a) => a.status === "PENDING" && question(a) === question(one) && sameness(a) !== sameness(one))
    : [];
  const decide = useMutation({
    mutationFn: (what: { approve: boolean; note: string; items: { approval_id: string; digest: string }[] }) =>
      change("POST", "/v1/approvals/decide", what, crypto.randomUUID()),
    onSettled: () => {
      client.invalidateQueries({ queryKey: ["approvals"] });
      client.invalidateQueries({ queryKey: ["approval"] });
    },
  });
  const differing = one && others.length > 0 ? <Differing from={one} others={others} /> : null;
  if (session.read_only || (alike.length < 2 && !decide.error)) return differing;
  return (
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
      <div className="row">
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
    </section>
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

/** One approval, and the decision. */
function Card({ id }: { id: string }) {
  const query = useQuery({
    queryKey: ["approval", id],
    queryFn: ({ signal }) => get<Approval>(`/v1/approvals/${segment(id)}`, {}, signal),
  });
  return <Loaded query={query}>{(a) => <Shown approval={a} />}</Loaded>;
}

function Shown({ approval: a }: { approval: Approval }) {
  const now = useNow();
  const run = useQuery({
    queryKey: ["run", a.run_id],
    queryFn: ({ signal }) => get<Schemas["Run"]>(`/v1/runs/${segment(a.run_id ?? "")}`, {}, signal),
    enabled: Boolean(a.run_id),
  });
  const changed = a.edited_data === undefined ? [] : differences(a.data, a.edited_data);
  const left = a.expires_at ? new Date(a.expires_at).getTime() - now : 1;
  return (
    <article className="panel stack" aria-label={`Approval ${a.approval_id}`}>
      <div className="head">
        <h2>{titleOf(a)}</h2>
        <Chip>{a.status}</Chip>
        <span className="grow" />
        <CopyId id={a.approval_id} />
      </div>
      {a.message && (
        <p>
          <Text lines>{a.message}</Text>
        </p>
      )}
      <What approval={a} />
      {changed.length > 0 && (
        <section className="stack tight">
          <h3>
            Changed by <Text>{a.edited_by}</Text>
          </h3>
          {changed.map((d) => (
            <div key={d.pointer}>
              <code>
                <Text>{d.pointer || "the whole"}</Text>
              </code>
              <Change before={d.before} after={d.after} />
            </div>
          ))}
        </section>
      )}
      <Facts
        facts={[
          [
            "Asked by",
            <>
              <Text>{a.asker.principal}</Text>
              {a.asker.session_id && (
                <span className="dim">
                  {" "}
                  in session <Text>{a.asker.session_id}</Text>
                </span>
              )}
            </>,
          ],
          ["Asked", <Time key="t" at={a.created_at} />],
          [
            "Run",
            a.run_id && (
              <Link to="/runs/$id" params={{ id: a.run_id }}>
                {visible(run.data ? `${run.data.workflow} in ${run.data.state}` : a.run_id)}
              </Link>
            ),
          ],
          ["Why it is asked", <Why key="w" approval={a} />],
          [
            "Approving lets the run",
            a.kind === "transition" ? (
              <>
                go on to <Text>{of(a, "to")}</Text>
                {a.unlocks?.allowed_tools ? (
                  <>
                    , where it may use <Names names={a.unlocks.allowed_tools} none="no tool" />
                  </>
                ) : a.unlocks ? (
                  ", where it may use any tool that no rule forbids"
                ) : (
                  ""
                )}
              </>
            ) : a.kind === "tool_call" ? (
              "make exactly this call, once"
            ) : (
              "take this step"
            ),
          ],
          ["What it does", facts(a)],
          ["Who may decide", who(a)],
          ["Votes needed", a.terms.required > 1 ? `${a.terms.required}; ${a.votes.length} so far` : ""],
          ["By a term", (a.terms.also ?? []).map(circle).join("; ")],
          [
            "If nobody decides",
            a.status === "PENDING" && a.expires_at ? (
              <>
                {a.escalates_at && (
                  <>
                    it is put to {visible(escalation(a))} <Time at={a.escalates_at} />, and{" "}
                  </>
                )}
                it is refused <Time at={a.expires_at} />
              </>
            ) : (
              ""
            ),
          ],
          ["Escalated", a.escalated ? "yes" : ""],
          ["Decided", a.decided_at && <Time at={a.decided_at} />],
          ["Used", a.used_at && <Time at={a.used_at} />],
          ["Outcome", a.status !== "PENDING" && a.outcome ? <Text key="o">{a.outcome}</Text> : ""],
        ]}
      />
      <Previous approval={a} />
      {a.run_id && <Steps run={a.run_id} />}
      {a.votes.length > 0 && (
        <ul className="plain" aria-label="Votes">
          {a.votes.map((v) => (
            <li key={`${v.by}${v.time}`} className="item">
              <span className="row">
                <Chip kind={v.approve ? "ok" : "deny"}>{v.approve ? "approved" : "rejected"}</Chip>
                <strong>
                  <Text>{v.by}</Text>
                </strong>
                <span className="dim small">
                  <Time at={v.time} />
                </span>
              </span>
              {v.note && (
                <pre>
                  <Text lines>{v.note}</Text>
                </pre>
              )}
            </li>
          ))}
        </ul>
      )}
      {a.status === "PENDING" && left > 0 ? <Decide approval={a} /> : null}
      {a.status === "PENDING" && left <= 0 ? <p className="notice warn">Its time is over.</p> : null}
    </article>
  );
}

/** The earlier steps of the run: the newest of its history. */
function Steps({ run }: { run: string }) {
  const history = useQuery({
    queryKey: ["history", run, "latest"],
    queryFn: async ({ signal }) => {
      let entries: Schemas["HistoryEntry"][] = [];
      let after: { after_version?: number; after_result?: number } | undefined = {};
      while (after) {
        const page: Schemas["History"] = await get(
          `/v1/runs/${segment(run)}/history`,
          { page_size: 500, ...after },
          signal,
        );
        entries = [...entries, ...page.entries].slice(-10);
        after = page.next_after_version
          ? { after_version: page.next_after_version, after_result: page.next_after_result }
          : undefined;
      }
      return entries.reverse();
    },
  });
  if (!history.data?.length) return null;
  return (
    <details>
      <summary>What the run did before</summary>
      <ul className="plain">
        {history.data.map((e) => (
          <li key={`${e.run_version}.${e.tool_result?.number ?? ""}.${e.type}`} className="item">
            <span className="row">
              <strong>{e.type}</strong>
              {e.event && <Text>{e.event}</Text>}
              {e.to && (
                <span>
                  to <Text>{e.to}</Text>
                </span>
              )}
              {e.tool_result && <Text>{e.tool_result.tool}</Text>}
              <span className="grow" />
              <span className="dim small">
                <Text>{e.actor}</Text> <Time at={e.time} />
              </span>
            </span>
            {(e.rationale || e.reason) && (
              <span className="small">
                <Text lines>{e.rationale || e.reason}</Text>
              </span>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

type People = Approval["terms"]["eligible"];

const named = (people: People | undefined) =>
  visible([...(people?.roles ?? []).map((r) => `role ${r}`), ...(people?.names ?? [])].join(", "));
const who = (a: Approval) => named(a.terms.eligible);

/** A further circle of approvers, by the term that asks for it. */
const circle = (c: NonNullable<Approval["terms"]["also"]>[number]) =>
  visible(`${c.term}: ${c.required} of ${c.eligible ? named(c.eligible) : "those who may decide"}`);

/** The files and hosts of a call, and every other facet that has values. */
function facts(a: Approval): string {
  const all = Object.entries((a.facts ?? {}) as Record<string, { known: boolean; values?: unknown[] }>);
  const value = (v: unknown) => {
    const of = v as { value?: unknown; below?: boolean } | undefined;
    return of?.value === undefined ? String(v) : `${of.value}${of.below ? " and all below" : ""}`;
  };
  return visible(
    all
      .filter(
        ([name, f]) =>
          ["reads", "writes", "host"].includes(name) ||
          (f.values?.length && !/^(caller|session|state|workflow|files)\b/.test(name)),
      )
      .map(([name, f]) => {
        const values = (f.values ?? []).map(value);
        if (values.length === 0) return `${name}: ${f.known ? "-" : "not known"}`;
        return `${name}: ${values.join(", ")}${f.known ? "" : ", not all known"}`;
      })
      .join("; "),
  );
}

const escalation = (a: Approval) => named(a.escalates_to) || "others";

/** The source of the request: a rule of a policy, or the definition of a workflow. */
function Why({ approval: a }: { approval: Approval }) {
  const why = a.why;
  if (!why) return null;
  return (
    <>
      {why.policy ? (
        <>
          rule <code>{visible(why.rule ?? "")}</code> of policy{" "}
          <Link to="/policies/$name" params={{ name: why.policy }}>
            <Text>{why.policy}</Text>
          </Link>{" "}
          version {why.policy_version}
        </>
      ) : why.workflow ? (
        <>
          <Text>{why.workflow}</Text> version {why.workflow_version} asks a human here
        </>
      ) : null}
      {why.state && (
        <span className="dim">
          {" "}
          in state <Text>{why.state}</Text>
        </span>
      )}
    </>
  );
}

/** The differences from the last approval. */
function Previous({ approval: a }: { approval: Approval }) {
  const before = a.previous;
  if (!before) return null;
  const changed = differences(before.data, a.edited_data ?? a.data);
  return (
    <details open={changed.length > 0 && changed.length < 8}>
      <summary>
        {changed.length === 0 ? "The same was approved" : "What differs from the last that was approved"}
        {before.decided_by && (
          <>
            {" by "}
            <Text>{before.decided_by}</Text>
          </>
        )}{" "}
        <Time at={before.decided_at} />
      </summary>
      <Link className="small" to="/approvals/$id" params={{ id: before.approval_id }}>
        {before.approval_id}
      </Link>
      {changed.map((d) => (
        <div key={d.pointer}>
          <code>
            <Text>{d.pointer || "the whole"}</Text>
          </code>
          <Change before={d.before} after={d.after} />
        </div>
      ))}
    </details>
  );
}

/** The exact action: a command line, an edit, or the data as it was sent. */
function What({ approval: a }: { approval: Approval }) {
  const data = (a.edited_data ?? a.data) as Record<string, unknown> | undefined;
  const text = (key: string) => (typeof data?.[key] === "string" ? (data[key] as string) : undefined);
  const command = a.kind === "tool_call" ? text("command") : undefined;
  const before = text("old_string");
  const after = text("new_string") ?? text("content");
  return (
    <section className="stack tight">
      {a.kind === "tool_call" && (
        <p className="row">
          <strong>
            <Text>{of(a, "tool")}</Text>
          </strong>
          <code>
            <Text>{of(a, "capability")}</Text>
          </code>
          {of(a, "rule") && (
            <span className="dim">
              rule <Text>{of(a, "rule")}</Text>
            </span>
          )}
        </p>
      )}
      {a.command ? (
        <Command command={a.command} />
      ) : (
        command !== undefined && (
          <pre className="doc">
            <Text lines>{command}</Text>
          </pre>
        )
      )}
      {a.kind === "tool_call" && after !== undefined && (
        <>
          <code>
            <Text>{text("file_path") ?? text("path") ?? ""}</Text>
          </code>
          <Change before={before} after={after} />
        </>
      )}
      {data === undefined ? (
        <p className="dim">It carries no data.</p>
      ) : command !== undefined && Object.keys(data).length === 1 ? null : (
        <Json value={a.edited_data ?? a.data} label="Data, as it would be used" />
      )}
      <details>
        <summary className="small dim">All of it</summary>
        <Json value={a.subject} label="What is asked for" />
        <p className="small dim">
          digest <code>{a.digest}</code>
        </p>
      </details>
    </section>
  );
}

/** Approve the shown request, with edits, or reject it. */
function Decide({ approval: a }: { approval: Approval }) {
  const client = useQueryClient();
  const session = useSession();
  const [note, setNote] = useState("");
  const [edit, setEdit] = useState<string>();
  const [lease, setLease] = useState<Terms>();
  // The same key makes the same decision sent twice one vote.
  const key = useRef(crypto.randomUUID());
  const approve = useRef<HTMLButtonElement>(null);
  const rejectIt = useRef<HTMLButtonElement>(null);
  const decide = useMutation({
    mutationFn: async (yes: boolean) => {
      const edited = edit === undefined ? undefined : parse(edit);
      const terms = lease && {
        ...(a.command ? { pattern: lease.covers } : { only: parse(lease.covers) }),
        ...(lease.calls ? { calls: Number(lease.calls) } : {}),
        ...(lease.minutes ? { minutes: Number(lease.minutes) } : {}),
      };
      const body = yes ? { note, digest: a.digest, edited_data: edited, lease: terms } : { note };
      return change<Approval>(
        "POST",
        `/v1/approvals/${segment(a.approval_id)}/${yes ? "approve" : "reject"}`,
        body,
        key.current,
      );
    },
    onSuccess: (after) => client.setQueryData(["approval", a.approval_id], after),
    onError: (error) => {
      key.current = crypto.randomUUID();
      // Another person was faster, or the page is old: show the present status.
      if (error instanceof CallError && error.status === 409)
        client.invalidateQueries({ queryKey: ["approval", a.approval_id] });
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["approvals"] }),
  });
  const broken = edit !== undefined && !valid(edit);
  const mayVote = !session.read_only && (a.you?.may_decide ?? false);
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      const typing = e.target instanceof HTMLElement && e.target.closest("input, textarea, select, dialog");
      if (typing || e.ctrlKey || e.metaKey || e.altKey || e.repeat) return;
      // The buttons get the focus; Enter or Space decides. One key alone does not decide.
      if (e.key === "a") approve.current?.focus();
      if (e.key === "r") rejectIt.current?.focus();
      if (e.key === "e" && a.editable) setEdit((now) => now ?? escaped(pretty(a.edited_data ?? a.data ?? {})));
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [a]);
  if (!mayVote)
    return (
      <p className="notice warn">
        {session.read_only ? (
          "This console is read-only, so nobody decides with it."
        ) : (
          <>
            You cannot decide this. <Text>{a.you?.reason}</Text>
          </>
        )}
      </p>
    );
  return (
    <form className="stack" onSubmit={(e) => e.preventDefault()}>
      {edit !== undefined && (
        <label className="field">
          Data to approve instead
          <textarea
            rows={10}
            spellCheck={false}
            value={edit}
            aria-invalid={broken}
            onChange={(e) => setEdit(e.target.value)}
          />
          {broken && <span>That is not JSON yet.</span>}
        </label>
      )}
      {a.kind === "tool_call" && a.terms.required === 1 && (
        <LeaseTerms terms={lease} onChange={setLease} first={firstCovered(a)} byCommand={Boolean(a.command)} />
      )}
      <label className="field">
        Note
        <input value={note} maxLength={4000} onChange={(e) => setNote(e.target.value)} />
      </label>
      {decide.error ? <Failure error={decide.error} /> : null}
      <div className="row">
        <button
          ref={approve}
          type="button"
          className="primary"
          disabled={decide.isPending || broken}
          onClick={() => decide.mutate(true)}
        >
          {lease ? "Approve, and calls like it" : edit === undefined ? "Approve" : "Approve with these data"}
        </button>
        <button
          ref={rejectIt}
          type="button"
          className="danger"
          disabled={decide.isPending}
          onClick={() => decide.mutate(false)}
        >
          Reject
        </button>
        {a.editable && edit === undefined && (
          <button type="button" onClick={() => setEdit(escaped(pretty(a.edited_data ?? a.data ?? {})))}>
            Edit
          </button>
        )}
        {edit !== undefined && (
          <button type="button" onClick={() => setEdit(undefined)}>
            Without edits
          </button>
        )}
      </div>
    </form>
  );
}

/** Later calls that need no question of their own. */
interface Terms {
  /** A pattern of commands, or a condition as JSON. */
  covers: string;
  calls: string;
  minutes: string;
}

/** The command line, or else a condition that holds for this input alone. Lists and objects, which it does not name, stay as they are. */
function firstCovered(a: Approval): string {
  const data = (a.data ?? {}) as Record<string, unknown>;
  if (a.command) return data.command as string;
  const pointer = (name: string) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  const simple = (value: unknown) => value === null || typeof value !== "object" || !isPlain(value);
  return JSON.stringify(
    Object.fromEntries(
      Object.entries(data)
        .filter(([, value]) => simple(value))
        .map(([name, value]) => [pointer(name), value]),
    ),
  );
}

const isPlain = (value: object) => Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;

/** Lets calls like this one pass for a while: no wider than the rule that asked, and only in this state. */
function LeaseTerms({
  terms,
  onChange,
  first,
  byCommand,
}: {
  terms: Terms | undefined;
  onChange: (terms: Terms | undefined) => void;
  first: string;
  byCommand: boolean;
}) {
  return (
    <fieldset className="stack tight">
      <label className="row">
        <input
          type="checkbox"
          checked={terms !== undefined}
          onChange={(e) => onChange(e.target.checked ? { covers: first, calls: "5", minutes: "30" } : undefined)}
        />
        Let calls like it pass without a question, as long as the run stays in this state
      </label>
      {terms && (
        <div className="grid">
          <label className="field">
            {byCommand
              ? "Pattern, such as git push *"
              : 'Condition, such as {"/amount": {"lte": 100}}; what it does not name stays as it is'}
            <input
              required
              spellCheck={false}
              value={terms.covers}
              onChange={(e) => onChange({ ...terms, covers: e.target.value })}
            />
          </label>
          <label className="field">
            Calls, at most
            <input
              type="number"
              min={1}
              value={terms.calls}
              onChange={(e) => onChange({ ...terms, calls: e.target.value })}
            />
          </label>
          <label className="field">
            Minutes, at most
            <input
              type="number"
              min={1}
              value={terms.minutes}
              onChange={(e) => onChange({ ...terms, minutes: e.target.value })}
            />
          </label>
        </div>
      )}
    </fieldset>
  );
}

function valid(text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}
