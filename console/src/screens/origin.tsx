import { useQuery } from "@tanstack/react-query";
import { get, type Schemas } from "../api/client";
import { Text } from "../ui/basics";

/** The set that has made a version live, where its files are from, and who has applied it; undefined when no set has. */
export function useOrigin(kind: "workflow" | "process" | "policy", name: string, version: number) {
  const query = useQuery({
    queryKey: ["origin", kind, name, version],
    queryFn: ({ signal }) => get<Schemas["SetList"]>("/v1/sets", { kind, name, version: String(version) }, signal),
    enabled: version > 0,
  });
  const set = query.data?.sets[0];
  if (!set) return undefined;
  const source = [set.repo, set.commit].filter(Boolean).join("@");
  return [`set ${set.name}`, source, `applied by ${set.applied_by}`].filter(Boolean).join(", ");
}

/** Says where a version is from; nothing when no set has made it live. */
export function Origin(props: { kind: "workflow" | "process" | "policy"; name: string; version: number }) {
  const origin = useOrigin(props.kind, props.name, props.version);
  if (!origin) return null;
  return (
    <span className="dim small">
      <Text>{origin}</Text>
    </span>
  );
}
