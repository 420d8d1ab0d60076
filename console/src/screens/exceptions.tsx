import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { change, get, type Schemas, segment } from "../api/client";
import { pretty } from "../api/json";
import { useSession } from "../shell";
import { Chip, Empty, Failure, Loaded, Text, Time } from "../ui/basics";
import { Confirm } from "../ui/dialog";
import { InScope } from "./halts";

type Exception = Schemas["Exception"];

/** Whom an exception is for. */
const whom = (e: Exception) =>
  [
    e.human && `human ${e.human}`,
    e.group && `group ${e.group}`,
    e.principal && `principal ${e.principal}`,
    e.session_id && `session ${e.session_id}`,
  ]
    .filter(Boolean)
    .join(", ") || "every caller";

/** The exceptions from rules of a policy that have not ended: operators confirm and withdraw them. */
export function Exceptions({ policy }: { policy: string }) {
  const query = useQuery({
    queryKey: ["policy", policy, "exceptions"],
    queryFn: ({ signal }) => get<Schemas["ExceptionList"]>("/v1/exceptions", { policy }, signal),
    refetchInterval: 15_000,
  });
  return (
    <section className="panel stack" aria-label="Exceptions">
      <div className="row">
        <h2>Exceptions</h2>
        <span className="grow" />
        <GrantException policy={policy} />
      </div>
      <Loaded query={query}>
        {({ exceptions }) =>
          exceptions.length === 0 ? (
            <Empty>No exception is in force.</Empty>
          ) : (
            <ul className="plain">
              {exceptions.map((e) => (
                <One key={e.exception_id} policy={policy} exception={e} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}

function One({ policy, exception: e }: { policy: string; exception: Exception }) {
  const client = useQueryClient();
  const session = useSession();
  const [asked, setAsked] = useState(false);
  const path = `/v1/exceptions/${segment(e.exception_id)}`;
  const act = useMutation({
    mutationFn: (confirm: boolean) => (confirm ? change("POST", `${path}/confirm`) : change("DELETE", path)),
    onSettled: () => client.invalidateQueries({ queryKey: ["policy", policy, "exceptions"] }),
  });
  const mayChange = !session.read_only && (session.roles?.includes("operator") ?? true);
  return (
    <li className="item stack tight">
      <span className="row">
        <code>
          <Text>{e.rule}</Text>
        </code>
        <span>
          does not hold for <Text>{whom(e)}</Text>
        </span>
        {e.pending && <Chip kind="ask">waits for a second operator</Chip>}
        <span className="grow" />
        {mayChange && e.pending && (
          <button type="button" disabled={act.isPending} onClick={() => act.mutate(true)}>
            Confirm<span className="hidden-text"> the exception from {e.rule}</span>
          </button>
        )}
        {mayChange && (
          <button type="button" className="danger" disabled={act.isPending} onClick={() => setAsked(true)}>
            Withdraw<span className="hidden-text"> the exception from {e.rule}</span>
          </button>
        )}
      </span>
      {e.when !== undefined && e.when !== null && (
        <span className="small">
          only if <code>{pretty(e.when)}</code>
        </span>
      )}
      <span className="small">
        <Text>{e.reason}</Text>
      </span>
      <span className="small dim">
        by <Text>{e.created_by}</Text>
        {e.confirmed_by && (
          <>
            , confirmed by <Text>{e.confirmed_by}</Text>
          </>
        )}
        , ends <Time at={e.until} />
      </span>
      {act.error ? <Failure error={act.error} /> : null}
      {asked && (
        <Confirm
          title={`Withdraw the exception from ${e.rule}?`}
          danger
          onClose={() => setAsked(false)}
          onYes={() => act.mutate(false)}
        >
          <p>The rule holds again from the answer on.</p>
        </Confirm>
      )}
    </li>
  );
}

/** The rules of a policy, by pointer, that operators may grant exceptions from. */
export function exceptable(definition: unknown): string[] {
  if (!definition || typeof definition !== "object") return [];
  return ["deny", "ask", "allow"].flatMap((list) => {
    const rules = (definition as Record<string, unknown>)[list];
    if (!Array.isArray(rules)) return [];
    return rules.flatMap((rule, i) =>
      (rule as { exceptable?: unknown })?.exceptable === true ? [`/${list}/${i}`] : [],
    );
  });
}

interface GrantProps {
  policy: string;
  /** The rule, and whom it is for, to begin with. */
  rule?: string;
  session?: string;
  principal?: string;
}

/** Opens the form of an exception, for operators. */
export function GrantException(props: GrantProps) {
  const session = useSession();
  const [open, setOpen] = useState(false);
  if (session.read_only || (session.roles && !session.roles.includes("operator"))) return null;
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Grant an exception…
      </button>
      {open && <GrantDialog {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

function GrantDialog({ policy, rule, session, principal, onClose }: GrantProps & { onClose: () => void }) {
  const client = useQueryClient();
  const box = useRef<HTMLDialogElement>(null);
  const [chosen, setChosen] = useState(rule ?? "");
  const [whose, setWhose] = useState(session ? "session" : principal ? "principal" : "all");
  const [name, setName] = useState(session || principal || "");
  const [until, setUntil] = useState("6h");
  const [reason, setReason] = useState("");
  useEffect(() => box.current?.showModal(), []);
  const query = useQuery({
    queryKey: ["policy", policy],
    queryFn: ({ signal }) => get<Schemas["Policy"]>(`/v1/policies/${segment(policy)}`, {}, signal),
  });
  const rules = exceptable(query.data?.definition);
  const at = rules.includes(chosen) ? chosen : (rules[0] ?? "");
  const grant = useMutation({
    mutationFn: () =>
      change<Exception>("POST", "/v1/exceptions", {
        policy,
        rule: at,
        until,
        reason: reason.trim(),
        ...(whose === "session"
          ? { session_id: name.trim() }
          : whose === "principal"
            ? { principal: name.trim() }
            : {}),
      }),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ["policy", policy, "exceptions"] });
      box.current?.close();
    },
  });
  return (
    <dialog ref={box} aria-label="Grant an exception" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(e) => {
          e.preventDefault();
          grant.mutate();
        }}
      >
        <h2>
          An exception from policy <Text>{policy}</Text>
        </h2>
        {query.error ? <Failure error={query.error} /> : null}
        {query.data && rules.length === 0 ? (
          <p className="notice warn">
            No rule of it allows exceptions: one that does has <code>"exceptable": true</code>.
          </p>
        ) : (
          <label className="field">
            Rule
            <select value={at} onChange={(e) => setChosen(e.target.value)}>
              {rules.map((r) => (
                <option key={r}>{r}</option>
              ))}
            </select>
          </label>
        )}
        {rule && query.data && rules.length > 0 && !rules.includes(rule) && (
          <p className="notice warn">
            The rule that decided, <code>{rule}</code>, allows no exceptions.
          </p>
        )}
        <label className="field">
          For
          <select value={whose} onChange={(e) => setWhose(e.target.value)}>
            <option value="session">one session and all below it</option>
            <option value="principal">one principal</option>
            <option value="all">every caller</option>
          </select>
        </label>
        {whose !== "all" && (
          <label className="field">
            {whose === "session" ? "Session" : "Principal"}
            <input required spellCheck={false} value={name} onChange={(e) => setName(e.target.value)} />
          </label>
        )}
        <label className="field">
          Ends in
          <select value={until} onChange={(e) => setUntil(e.target.value)}>
            <option value="1h">1 hour</option>
            <option value="6h">6 hours</option>
            <option value="24h">1 day</option>
            <option value="168h">7 days</option>
          </select>
        </label>
        <label className="field">
          Reason
          <input required maxLength={1000} value={reason} onChange={(e) => setReason(e.target.value)} />
        </label>
        <p>The rule does not hold for these calls until then. Every other rule does.</p>
        {whose !== "all" && <InScope kind={whose} name={name.trim()} />}
        {grant.error ? <Failure error={grant.error} /> : null}
        <div className="row">
          <button type="submit" className="primary" disabled={grant.isPending || rules.length === 0}>
            Grant
          </button>
          <button type="button" onClick={() => box.current?.close()}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}
