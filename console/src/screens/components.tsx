import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { change, get, type Schemas, segment } from "../api/client";
import { parse, pretty } from "../api/json";
import { useSession } from "../shell";
import { Chip, Facts, Failure, Json, Loaded, Text, Time, useTitle } from "../ui/basics";
import { moment } from "../ui/sort";
import { type Column, Table, useItems, usePages } from "../ui/table";
import { escaped } from "../ui/visible";

type Component = Schemas["Component"];

const columns: Column<Component>[] = [
  {
    id: "name",
    name: "Name",
    opens: true,
    width: "minmax(8.6rem, 1fr)",
    phone: 1,
    by: (c) => c.name || c.slug,
    cell: (c) => <Text>{c.name || c.slug}</Text>,
  },
  {
    id: "kept",
    name: "Kept",
    width: "7.2rem",
    phone: 1,
    end: true,
    by: (c) => c.persistence,
    cell: (c) => <Chip>{c.persistence}</Chip>,
  },
  {
    id: "description",
    name: "Description",
    width: "minmax(0, 2fr)",
    phone: 2,
    by: (c) => c.description,
    cell: (c) => <Text>{c.description}</Text>,
  },
  {
    id: "changed",
    name: "Changed",
    width: "6.5rem",
    phone: 2,
    end: true,
    by: (c) => moment(c.updated_at),
    cell: (c) => <Time at={c.updated_at} />,
  },
];

/** The components of states: list, and a form for a new one. */
export function Components() {
  useTitle("Components");
  const [making, setMaking] = useState(false);
  const session = useSession();
  const pages = usePages<Schemas["ComponentList"]>(["components"], "/v1/components", {});
  const components = useItems(pages, (p) => p.components);
  const mayChange = !session.read_only && (session.roles?.includes("operator") ?? true);
  return (
    <>
      <div className="head">
        <h1>Components</h1>
        <span className="grow" />
        {mayChange && (
          <button type="button" className="primary" onClick={() => setMaking(!making)} aria-expanded={making}>
            New
          </button>
        )}
      </div>
      {making && <Form onDone={() => setMaking(false)} />}
      <Table
        name="components"
        label="Components"
        source={pages}
        items={components}
        columns={columns}
        id={(c) => c.slug}
        place={(c) => ({ to: "/components/$slug", params: { slug: c.slug } })}
        empty="There is none yet. A component is a part of a state that agents use by its name. “New” makes one."
      />
    </>
  );
}

/** One component. */
export function ComponentPage() {
  const { slug } = useParams({ strict: false }) as { slug: string };
  const session = useSession();
  const [editing, setEditing] = useState(false);
  const query = useQuery({
    queryKey: ["component", slug],
    queryFn: ({ signal }) => get<Component>(`/v1/components/${segment(slug)}`, {}, signal),
  });
  useTitle(query.data?.name || "Component");
  const mayChange = !session.read_only && (session.roles?.includes("operator") ?? true);
  return (
    <Loaded query={query}>
      {(c) => (
        <>
          <div className="head">
            <h1>
              <Text>{c.name || c.slug}</Text>
            </h1>
            <Chip>{c.persistence}</Chip>
            <span className="grow" />
            {mayChange && (
              <button type="button" onClick={() => setEditing(!editing)} aria-expanded={editing}>
                Edit
              </button>
            )}
          </div>
          {c.description && (
            <p>
              <Text lines>{c.description}</Text>
            </p>
          )}
          {editing ? (
            <Form component={c} onDone={() => setEditing(false)} />
          ) : (
            <div className="split">
              <section className="stack tight">
                <h2>Schema</h2>
                <Json value={c.schema_definition} label="Schema" />
              </section>
              <section className="stack">
                <h2>Initial values</h2>
                <Json value={c.initial_values} label="Initial values" />
                <div className="panel">
                  <Facts
                    facts={[
                      ["Slug", <code key="s">{c.slug}</code>],
                      ["Version", String(c.version)],
                      ["Tags", c.tags?.join(", ")],
                      ["Changed", <Time key="u" at={c.updated_at} />],
                    ]}
                  />
                </div>
              </section>
            </div>
          )}
        </>
      )}
    </Loaded>
  );
}

const keep = ["none", "session", "long_term"] as const;

function Form({ component: c, onDone }: { component?: Component; onDone: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [slug, setSlug] = useState(c?.slug ?? "");
  const [name, setName] = useState(c?.name ?? "");
  const [about, setAbout] = useState(c?.description ?? "");
  const [persistence, setPersistence] = useState<string>(c?.persistence ?? "session");
  const [tags, setTags] = useState(c?.tags?.join(", ") ?? "");
  const [schema, setSchema] = useState(escaped(pretty(c?.schema_definition ?? { type: "object", properties: {} })));
  const [values, setValues] = useState(escaped(pretty(c?.initial_values ?? {})));
  const save = useMutation({
    mutationFn: async () => {
      const body = {
        slug,
        name,
        description: about,
        persistence,
        tags: tags
          .split(",")
          .map((t) => t.trim())
          .filter(Boolean),
        schema_definition: parse(schema),
        initial_values: parse(values),
      };
      return c
        ? change<Component>("PUT", `/v1/components/${segment(c.slug)}`, body)
        : change<Component>("POST", "/v1/components", body);
    },
    onSuccess: (made) => {
      client.invalidateQueries({ queryKey: ["components"] });
      client.invalidateQueries({ queryKey: ["component", made.slug] });
      onDone();
      navigate({ to: "/components/$slug", params: { slug: made.slug } });
    },
  });
  return (
    <form
      className="panel stack"
      onSubmit={(e) => {
        e.preventDefault();
        save.mutate();
      }}
    >
      <div className="grid">
        <label className="field">
          Slug: small letters, digits and hyphens
          <input required disabled={c !== undefined} value={slug} onChange={(e) => setSlug(e.target.value)} />
        </label>
        <label className="field">
          Name
          <input required value={name} onChange={(e) => setName(e.target.value)} />
        </label>
        <label className="field">
          Kept
          <select value={persistence} onChange={(e) => setPersistence(e.target.value)}>
            {keep.map((k) => (
              <option key={k} value={k}>
                {k === "none"
                  ? "for one execution"
                  : k === "session"
                    ? "as long as the session"
                    : "for the subject, over sessions"}
              </option>
            ))}
          </select>
        </label>
        <label className="field">
          Tags, with commas between
          <input value={tags} onChange={(e) => setTags(e.target.value)} />
        </label>
      </div>
      <label className="field">
        Description
        <input value={about} onChange={(e) => setAbout(e.target.value)} />
      </label>
      <div className="grid">
        <label className="field">
          JSON Schema
          <textarea rows={10} spellCheck={false} value={schema} onChange={(e) => setSchema(e.target.value)} />
        </label>
        <label className="field">
          Initial values
          <textarea rows={10} spellCheck={false} value={values} onChange={(e) => setValues(e.target.value)} />
        </label>
      </div>
      {save.error ? <Failure error={save.error} /> : null}
      <div className="row">
        <button type="submit" className="primary" disabled={save.isPending}>
          {c ? "Save" : "Create"}
        </button>
        <button type="button" onClick={onDone}>
          Cancel
        </button>
      </div>
    </form>
  );
}
