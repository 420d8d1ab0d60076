import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { ask, change, get, type Schemas, segment } from "../api/client";
import { parse, pretty } from "../api/json";
import { useSession } from "../shell";
import { Chip, Failure, Loaded, Text, useTitle } from "../ui/basics";
import { GraphView } from "../ui/graph";

const Editor = lazy(() => import("../ui/editor"));

const first = {
  id: "my-workflow",
  initial: "plan",
  states: {
    plan: { allowed_tools: ["Read"], on: { READY: "work" } },
    work: { allowed_tools: ["Read", "Edit"], on: { DONE: "end" } },
    end: { type: "final" },
  },
};

/** Writes a version of a workflow: checked while it is typed, drawn beside, registered at the end. */
export function NewWorkflow() {
  useTitle("Edit a workflow");
  const { from, version, at } = useSearch({ strict: false }) as { from?: string; version?: string; at?: string };
  const start = useQuery({
    queryKey: ["workflow", from, Number(version)],
    queryFn: ({ signal }) =>
      get<Schemas["Workflow"]>(`/v1/workflows/${segment(from ?? "")}/versions/${version}`, {}, signal),
    enabled: from !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (from === undefined) return <Workbench initial={pretty(first)} />;
  return <Loaded query={start}>{(w) => <Workbench initial={pretty(w.definition)} at={at} />}</Loaded>;
}

/** A text, the validator's findings on it, and its graph, a moment after it was typed. */
export function useChecked(text: string) {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), 300);
    return () => clearTimeout(timer);
  }, [text]);
  const validation = useQuery({
    queryKey: ["validate", settled],
    queryFn: ({ signal }) => ask<Schemas["Validation"]>("/v1/workflows/validate", settled, signal),
    gcTime: 0,
    retry: false,
    placeholderData: (before) => before,
  });
  const graph = useQuery({
    queryKey: ["draw", settled],
    queryFn: ({ signal }) => ask<Schemas["Graph"]>("/v1/workflows/graph", settled, signal),
    enabled: validation.data?.ok === true,
    gcTime: 0,
    retry: false,
    placeholderData: (before) => before,
  });
  return { validation, graph };
}

function Workbench({ initial, at }: { initial: string; at?: string }) {
  const [text, setText] = useState(initial);
  const [selected, setSelected] = useState<string>();
  const { validation, graph } = useChecked(text);
  const navigate = useNavigate();
  const session = useSession();
  const register = useMutation({
    mutationFn: () => change<Schemas["Registration"]>("POST", "/v1/workflows", text),
    onSuccess: (w) =>
      navigate({ to: "/workflows/$name", params: { name: w.name }, search: { version: String(w.version) } }),
  });
  const problems = validation.data?.problems ?? [];
  const mayChange = !session.read_only && (session.roles?.includes("operator") ?? true);
  return (
    <>
      <div className="head">
        <h1>Edit a workflow</h1>
        {validation.data && (
          <Chip kind={validation.data.ok ? "ok" : "deny"}>{validation.data.ok ? "valid" : "not valid"}</Chip>
        )}
        <span className="grow" />
        <button
          type="button"
          className="primary"
          disabled={!mayChange || !validation.data?.ok || register.isPending || !isJSON(text)}
          title={mayChange ? "" : "Only operators register workflows"}
          onClick={() => register.mutate()}
        >
          Register this version
        </button>
      </div>
      {register.error ? <Failure error={register.error} /> : null}
      <div className="split">
        <div className="stack">
          {graph.data && <GraphView graph={graph.data} selected={selected} onSelect={setSelected} />}
          {validation.error ? <Failure error={validation.error} /> : null}
          <Problems problems={problems} />
        </div>
        <Suspense fallback={<div className="skeleton" />}>
          <Editor text={text} find={selected} at={at} problems={problems} label="Definition" onChange={setText} />
        </Suspense>
      </div>
    </>
  );
}

export function Problems({ problems }: { problems: Schemas["Finding"][] }) {
  return (
    <ul className="plain" aria-live="polite">
      {problems.map((p) => (
        <li key={`${p.pointer}${p.code}${p.message}`} className="item">
          <span className="row">
            <Chip>{p.severity}</Chip>
            <code>
              <Text>{p.pointer || "/"}</Text>
            </code>
          </span>
          <Text>{p.message}</Text>
        </li>
      ))}
    </ul>
  );
}

const isJSON = (text: string) => {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
};
