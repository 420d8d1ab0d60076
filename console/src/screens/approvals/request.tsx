import { Link } from "@tanstack/react-router";
import type { Approval } from "../../api/client";
import { Json, Text } from "../../ui/basics";
import { Change } from "../../ui/change";
import { Command } from "../../ui/command";
import { visible } from "../../ui/visible";
import { of } from "./subject";

type People = Approval["terms"]["eligible"];

const named = (people: People | undefined) =>
  visible([...(people?.roles ?? []).map((r) => `role ${r}`), ...(people?.names ?? [])].join(", "));
export const who = (a: Approval) => named(a.terms.eligible);

/** A further circle of approvers, by the term that asks for it. */
export const circle = (c: NonNullable<Approval["terms"]["also"]>[number]) =>
  visible(`${c.term}: ${c.required} of ${c.eligible ? named(c.eligible) : "those who may decide"}`);

/** The files and hosts of a call, and every other facet that has values. */
export function facts(a: Approval): string {
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

export const escalation = (a: Approval) => named(a.escalates_to) || "others";

/** The source of the request: a rule of a policy, or the definition of a workflow. */
export function Why({ approval: a }: { approval: Approval }) {
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

/** Returns data without the text fields that have a view of their own; undefined if none remain. */
function without(data: Record<string, unknown> | undefined, shown: string[]) {
  const rest = Object.entries(data ?? {}).filter(([key, value]) => !shown.includes(key) || typeof value !== "string");
  return rest.length === 0 ? undefined : Object.fromEntries(rest);
}

/** The exact action: a command line, an edit, or the data as it was sent. */
export function What({ approval: a }: { approval: Approval }) {
  const data = (a.edited_data ?? a.data) as Record<string, unknown> | undefined;
  const text = (key: string) => (typeof data?.[key] === "string" ? (data[key] as string) : undefined);
  const command = a.kind === "tool_call" ? text("command") : undefined;
  const before = text("old_string");
  const after = text("new_string") ?? text("content");
  const edit = a.kind === "tool_call" && after !== undefined;
  const file = text("file_path") === undefined ? "path" : "file_path";
  const shown = [
    ...(command === undefined ? [] : ["command"]),
    ...(edit ? [file, "old_string", text("new_string") === undefined ? "content" : "new_string"] : []),
  ];
  const rest = shown.length === 0 ? data : without(data, shown);
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
      {edit && (
        <>
          <code>
            <Text>{text(file) ?? ""}</Text>
          </code>
          <Change before={before} after={after} />
        </>
      )}
      {data === undefined ? (
        <p className="dim">It carries no data.</p>
      ) : rest === undefined ? null : (
        <Json value={rest} label={shown.length === 0 ? "Data, as it would be used" : "The rest of the data"} />
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
