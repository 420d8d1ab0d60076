import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { type Approval, CallError, change, segment } from "../../api/client";
import { parse, pretty } from "../../api/json";
import { useSession } from "../../shell";
import { Failure, Text } from "../../ui/basics";
import { useSigning } from "../../ui/signing";
import { escaped } from "../../ui/visible";

/** Approve the shown request, with edits, or reject it. */
export function Decide({ approval: a }: { approval: Approval }) {
  const client = useQueryClient();
  const session = useSession();
  const [note, setNote] = useState("");
  const [edit, setEdit] = useState<string>();
  const [lease, setLease] = useState<Terms>();
  // The same key makes the same decision sent twice one vote.
  const key = useRef(crypto.randomUUID());
  const approve = useRef<HTMLButtonElement>(null);
  const rejectIt = useRef<HTMLButtonElement>(null);
  const signing = useSigning();
  const decide = useMutation({
    mutationFn: async (yes: boolean) => {
      const edited = edit === undefined ? undefined : parse(edit);
      const terms = lease && {
        ...(a.command ? { pattern: lease.covers } : { only: parse(lease.covers) }),
        ...(lease.calls ? { calls: Number(lease.calls) } : {}),
        ...(lease.minutes ? { minutes: Number(lease.minutes) } : {}),
      };
      const items = [{ approval_id: a.approval_id, digest: a.digest }];
      const vote = yes ? { edited_data: edited, lease: terms } : {};
      const signature = await signing.signed({ approve: yes, note, items, ...vote }, a.terms.presence ?? false);
      if (signature === null) return undefined;
      const body = yes ? { note, digest: a.digest, edited_data: edited, lease: terms, signature } : { note, signature };
      return change<Approval>(
        "POST",
        `/v1/approvals/${segment(a.approval_id)}/${yes ? "approve" : "reject"}`,
        body,
        key.current,
      );
    },
    onSuccess: (after) => after && client.setQueryData(["approval", a.approval_id], after),
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
          "This console is read-only: decide elsewhere."
        ) : (
          <>
            You cannot decide this. <Text>{a.you?.reason}</Text>
          </>
        )}
      </p>
    );
  return (
    <>
      <form className="stack decide" onSubmit={(e) => e.preventDefault()}>
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
        <div className="row decide-bar">
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
      {signing.dialog}
    </>
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
    <fieldset className="stack tight plain">
      <label className="check">
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
