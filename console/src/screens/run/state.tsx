import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { get, type Run, type Schemas, segment } from "../../api/client";
import { Chip, Facts, Json, Loaded, Names, Text, Time } from "../../ui/basics";
import { visible } from "../../ui/visible";
import { type Standing, standingOf, toolsOf } from "../standing";

type Version = Schemas["RunVersion"];

/** The state of the run: as it is, as it was at a version, or another one as its definition has it. */
export function StateOfRun({
  run,
  past,
  selected,
}: {
  run: Run;
  past: Version | undefined;
  selected: string | undefined;
}) {
  return (
    <section className="panel stack">
      <h2>
        {selected ? (
          <>
            State <Text>{selected}</Text>
          </>
        ) : past ? (
          <>
            It was in <Text>{past.state}</Text>
          </>
        ) : (
          <>
            In <Text>{run.state}</Text>
          </>
        )}
      </h2>
      {selected && selected !== run.state ? (
        <StateOf run={run} state={selected} />
      ) : past ? (
        <Past version={past} standing={standingOf(past, run.enforcement)} />
      ) : (
        <Facts
          facts={[
            ...toolFacts(run, standingOf(run, run.enforcement)),
            [
              "Legal events",
              <ul className="plain tight" key="e">
                {run.legal_events?.map((e) => (
                  <li key={e.event}>
                    <code>
                      <Text>{e.event}</Text>
                    </code>{" "}
                    <span className="dim">to {visible(e.targets.join(", "))}</span>{" "}
                    {e.requires_approval && <Chip kind="ask">needs approval</Chip>}{" "}
                    {e.frozen && <Chip kind="ask">frozen</Chip>}
                    {e.guards?.length ? <span className="small dim"> if {visible(e.guards.join(", "))}</span> : null}
                  </li>
                ))}
                {!run.legal_events?.length && <li className="dim">none</li>}
              </ul>,
            ],
            ["Calls in this entry", limit(run.iterations, run.max_iterations)],
            ["Files changed", run.max_files_per_state ? limit(run.files_changed, run.max_files_per_state) : ""],
            ["Context bytes", run.context_budget_bytes ? limit(run.context_bytes, run.context_budget_bytes) : ""],
            [
              "Instructions",
              run.instructions ? (
                <Text key="i" lines>
                  {run.instructions}
                </Text>
              ) : (
                ""
              ),
            ],
          ]}
        />
      )}
    </section>
  );
}

const limit = (used: number | undefined, most: number | undefined) =>
  most ? `${used ?? 0} of ${most}` : used ? String(used) : "";

type Lists = Pick<Run, "allowed_tools" | "allowed_commands" | "disallowed_tools" | "superseded_by">;

/** Which tools pass: the lists of the state only where they are enforced. */
function toolFacts(run: Lists, standing: Standing | undefined): [string, ReactNode][] {
  if (run.superseded_by || !standing) return [];
  if (standing !== "state") return [["Allowed tools", toolsOf[standing]]];
  return [
    [
      "Allowed tools",
      run.allowed_tools ? <Names key="a" names={run.allowed_tools} none="none" /> : "any that no rule forbids",
    ],
    ["Forbidden tools", run.disallowed_tools?.length ? <Names key="d" names={run.disallowed_tools} none="" /> : ""],
    ["Allowed commands", run.allowed_commands ? <Names key="c" names={run.allowed_commands} none="none" /> : ""],
  ];
}

/** The run at a version: the permissions of its state then. */
function Past({ version: v, standing }: { version: Version; standing: Standing | undefined }) {
  return (
    <Facts
      facts={[
        ["At", <Time key="t" at={v.at} />],
        ["Status", <Chip key="s">{v.status}</Chip>],
        ...toolFacts(v, standing),
        [
          "Limits",
          visible(
            Object.entries(v.limits ?? {})
              .filter(([, most]) => most)
              .map(([name, most]) => `${name.replaceAll("_", " ")} ${most}`)
              .join(", "),
          ),
        ],
        [
          "Legal events",
          <ul className="plain tight" key="e">
            {v.legal_events?.map((e) => (
              <li key={e.event}>
                <code>
                  <Text>{e.event}</Text>
                </code>{" "}
                <span className="dim">to {visible(e.targets.join(", "))}</span>
              </li>
            ))}
            {!v.legal_events?.length && <li className="dim">none</li>}
          </ul>,
        ],
        ["Branches", v.branches?.map((b) => visible(`${b.name}: ${b.state}`)).join("; ")],
      ]}
    />
  );
}

/** A state as its definition has it. */
function StateOf({ run, state }: { run: Run; state: string }) {
  const kind = run.process ? "processes" : "workflows";
  const query = useQuery({
    queryKey: [run.process ? "process" : "workflow", run.workflow, run.workflow_version],
    queryFn: ({ signal }) =>
      get<Schemas["Workflow"]>(`/v1/${kind}/${segment(run.workflow)}/versions/${run.workflow_version}`, {}, signal),
  });
  return (
    <Loaded query={query}>
      {(w) => (
        <Json
          value={(w.definition as { states?: Record<string, unknown> })?.states?.[state] ?? w.definition}
          label="Definition"
        />
      )}
    </Loaded>
  );
}
