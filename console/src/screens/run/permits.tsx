import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { change, type Run, segment } from "../../api/client";
import { useSession } from "../../shell";
import { Chip, Failure, Text, Time } from "../../ui/basics";

/** The leases that approvers gave. */
export function Leases({ run, leases }: { run: Run; leases: NonNullable<Run["leases"]> }) {
  const client = useQueryClient();
  const session = useSession();
  const revoke = useMutation({
    mutationFn: (id: string) => change("DELETE", `/v1/leases/${segment(id)}`),
    onSettled: () => client.invalidateQueries({ queryKey: ["run", run.run_id] }),
  });
  return (
    <section className="panel stack tight" aria-label="Leases">
      <h2>Let pass without a question</h2>
      <p className="small dim">To revoke one makes such calls of this run ask again. No other run changes.</p>
      {revoke.error ? <Failure error={revoke.error} /> : null}
      <ul className="plain">
        {leases.map((l) => (
          <li key={l.lease_id} className="item">
            <span className="row">
              <code>
                <Text>{[l.pattern, l.only && JSON.stringify(l.only)].filter(Boolean).join(" ")}</Text>
              </code>
              <span className="grow" />
              <span className="small dim">
                {l.calls_left} calls, until <Time at={l.expires_at} />
              </span>
            </span>
            <span className="row small dim">
              granted by <Text>{l.granted_by}</Text>
              <Link to="/approvals/$id" params={{ id: l.approval_id }}>
                the approval
              </Link>
              <span className="grow" />
              {!session.read_only && (
                <button type="button" disabled={revoke.isPending} onClick={() => revoke.mutate(l.lease_id)}>
                  Revoke
                </button>
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The evidence that the workflow asks for, and the missing part. */
export function Evidence({ evidence }: { evidence: NonNullable<Run["evidence"]> }) {
  return (
    <section className="panel stack tight" aria-label="Evidence">
      <h2>Evidence</h2>
      <ul className="plain">
        {evidence.map((e) => (
          <li key={e.name} className="item">
            <span className="row">
              <Chip kind={e.held ? "ok" : "ask"}>{e.held ? "held" : "missing"}</Chip>
              <strong>
                <Text>{e.name}</Text>
              </strong>
              <span className="grow" />
              {e.since && (
                <span className="dim small">
                  <Time at={e.since} />
                </span>
              )}
            </span>
            <span className="small">
              <Text>{e.held ? e.needs : e.missing || e.needs}</Text>
            </span>
            {e.tree && (
              <span className="small dim mono" title={e.tree}>
                on tree <Text>{e.tree.replace(/^tree:sha256:/, "").slice(0, 12)}</Text>
              </span>
            )}
            {e.voided_by && (
              <span className="small dim">
                voided by <Text>{e.voided_by}</Text>
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
