import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { challenge, change, get, type Schemas, segment } from "../api/client";
import { create, hasPasskeys } from "../api/passkey";
import { useSession } from "../shell";
import { Chip, CopyId, Empty, Facts, Failure, Loaded, Scroll, Text, Time, useTitle } from "../ui/basics";
import { Confirm } from "../ui/dialog";
import { usePages } from "../ui/table";
import { visible } from "../ui/visible";

type Person = Schemas["RegisteredPerson"];
type Key = Person["keys"][number];

const kinds: Record<string, string> = { passkey: "passkey", ssh_key: "SSH key", passphrase: "passphrase" };

const nameOf = (k: Key) => visible(k.label || kinds[k.kind] || k.kind);

/** The person's own keys, and for operators all people. */
export function People() {
  useTitle("People");
  const session = useSession();
  const operates = !session.read_only && (session.roles?.includes("operator") ?? true);
  return (
    <>
      <div className="head">
        <h1>People</h1>
      </div>
      <Self />
      {session.renews && session.name && <You name={session.name} />}
      {session.roles?.every((r) => r === "observer") ? null : <All operates={operates} self={session.name ?? ""} />}
    </>
  );
}

/** The role that a change of a person needs: only root changes people of the role root. */
const roleFor = (changed: string[], own: string[] | undefined) =>
  changed.includes("root") && own?.includes("root") ? "root" : undefined;

/** A change of a person, after which people are read again. */
function useChange<T>(act: (input: T) => Promise<unknown>) {
  const client = useQueryClient();
  return useMutation({ mutationFn: act, onSettled: () => client.invalidateQueries({ queryKey: ["people"] }) });
}

/** The caller as the server knows them: the person, the rights, and how they have shown presence. */
function Self() {
  const session = useSession();
  const query = useQuery({
    queryKey: ["whoami", session.name],
    queryFn: ({ signal }) => get<Schemas["Caller"]>("/v1/whoami", {}, signal),
  });
  return (
    <section className="panel stack" aria-label="You">
      <h2>You</h2>
      <Loaded query={query}>
        {(me) => (
          <Facts
            facts={[
              ["Name", <Text key="n">{me.person || me.principal}</Text>],
              ["Registered person", me.person ? "yes" : "no: your votes count as those of a token"],
              ["Roles", (session.roles ?? [me.role]).join(", ")],
              ["Namespaces", <Text key="s">{me.namespaces.map((n) => (n === "*" ? "all" : n)).join(", ")}</Text>],
              ["Presence", me.presence && `shown by ${me.presence}`],
              ["On behalf of", me.human && me.human.name !== me.person && <Text key="h">{me.human.name}</Text>],
            ]}
          />
        )}
      </Loaded>
    </section>
  );
}

function You({ name }: { name: string }) {
  const session = useSession();
  const query = useQuery({
    queryKey: ["people", "you", name],
    queryFn: ({ signal }) => get<Person>(`/v1/people/${segment(name)}`, {}, signal),
  });
  return (
    <section className="panel stack" aria-label="Your keys">
      <h2>Your keys</h2>
      <Loaded query={query}>
        {(p) => (
          <>
            <Keys person={p} own mayChange={!session.read_only} />
            {!session.read_only && <AddKey person={p} />}
          </>
        )}
      </Loaded>
    </section>
  );
}

function Keys({ person: p, own, mayChange }: { person: Person; own?: boolean; mayChange: boolean }) {
  const [asked, setAsked] = useState<Key>();
  const role = roleFor(p.roles, useSession().roles);
  const remove = useChange((k: Key) =>
    change("DELETE", `/v1/people/${segment(p.name)}/keys/${segment(k.key_id)}`, undefined, undefined, role),
  );
  if (p.keys.length === 0) return <Empty>No key: an invitation registers the first one.</Empty>;
  // The last key of one's own is the only way in.
  const mayRemove = mayChange && !(own && p.keys.length === 1);
  return (
    <>
      <Scroll label={own ? "Your keys, as a table" : `Keys of ${visible(p.name)}`}>
        <table className="plain">
          <thead>
            <tr>
              <th>name</th>
              <th>kind</th>
              <th>shows presence</th>
              <th>added</th>
              <th>last used</th>
              {mayRemove && <th>change</th>}
            </tr>
          </thead>
          <tbody>
            {p.keys.map((k) => (
              <tr key={k.key_id}>
                <td>
                  <Text>{nameOf(k)}</Text> {k.kind !== "passphrase" && <CopyId id={k.key_id} />}
                </td>
                <td>{kinds[k.kind] ?? k.kind}</td>
                <td>{k.presence ? "yes" : "no"}</td>
                <td>
                  <Time at={k.created_at} />
                </td>
                <td>{k.last_used_at ? <Time at={k.last_used_at} /> : "never"}</td>
                {mayRemove && (
                  <td>
                    <button type="button" className="danger" disabled={remove.isPending} onClick={() => setAsked(k)}>
                      Remove<span className="hidden-text"> {nameOf(k)}</span>
                    </button>
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {own && p.keys.length === 1 && (
        <p className="small dim">This is your only key. Add another before you remove it.</p>
      )}
      {remove.error ? <Failure error={remove.error} /> : null}
      {asked && (
        <Confirm
          title={`Remove the key ${nameOf(asked)}${own ? "" : ` of ${visible(p.name)}`}?`}
          danger
          onClose={() => setAsked(undefined)}
          onYes={() => remove.mutate(asked)}
        >
          <p>
            It opens no session from now on, and those that it has opened end. Signatures that it has made stay valid.
          </p>
        </Confirm>
      )}
    </>
  );
}

/** Adds a key of one's own: a passkey, or a public key of SSH. */
function AddKey({ person: p }: { person: Person }) {
  const [label, setLabel] = useState("");
  const [line, setLine] = useState("");
  const add = useChange(async (kind: "passkey" | "ssh") => {
    const known = p.keys.filter((k) => k.kind === "passkey").map((k) => k.key_id);
    const key = kind === "passkey" ? { passkey: await create(p.name, known) } : { ssh_public_key: line.trim() };
    await change("POST", `/v1/people/${segment(p.name)}/keys`, { label: label.trim(), ...key });
    setLabel("");
    setLine("");
  });
  return (
    <form
      className="stack"
      aria-label="Add a key"
      onSubmit={(e: FormEvent) => {
        e.preventDefault();
        add.mutate("ssh");
      }}
    >
      <h3>Add a key</h3>
      <label className="field">
        Name of the key, such as laptop
        <input maxLength={128} value={label} onChange={(e) => setLabel(e.target.value)} />
      </label>
      <div className="row">
        <button
          type="button"
          className="primary"
          disabled={add.isPending || !hasPasskeys()}
          onClick={() => add.mutate("passkey")}
        >
          Add a passkey
        </button>
        {!hasPasskeys() && (
          <span className="small dim">This page has no passkeys: open the console by its host name.</span>
        )}
      </div>
      <details>
        <summary className="small">Add an SSH key</summary>
        <div className="stack">
          <label className="field">
            Public key, a line such as ssh-ed25519 AAAA…
            <textarea rows={2} required spellCheck={false} value={line} onChange={(e) => setLine(e.target.value)} />
          </label>
          <div className="row">
            <button type="submit" disabled={add.isPending}>
              Add the SSH key
            </button>
          </div>
        </div>
      </details>
      {add.error ? <Failure error={add.error} /> : null}
    </form>
  );
}

interface Invited {
  person: string;
  link: string;
  expires: string;
}

/** Invites a person, and returns the link that registers a key once. */
async function invite(name: string, role: string | undefined): Promise<Invited> {
  const path = `/v1/people/${segment(name)}/invitation`;
  const given = await change<Schemas["Invitation"]>("POST", path, undefined, undefined, role);
  // Passkeys are registered at the server's own address.
  const { origins } = await challenge();
  const link = `${origins?.[0] ?? location.origin}/ui/#register=${encodeURIComponent(given.code)}`;
  return { person: given.person, link, expires: given.expires_at };
}

function All({ operates, self }: { operates: boolean; self: string }) {
  const pages = usePages<Schemas["PersonList"]>(["people", "all"], "/v1/people", {});
  const [invited, setInvited] = useState<Invited>();
  return (
    <section className="stack" aria-label="All people">
      {operates && <Add onInvited={setInvited} />}
      {invited && <Link invited={invited} onClose={() => setInvited(undefined)} />}
      {pages.data?.pages
        .flatMap((page) => page.people)
        .map((p) => (
          <One key={p.name} person={p} operates={operates} self={p.name === self} onInvited={setInvited} />
        ))}
      {pages.error ? <Failure error={pages.error} retry={() => pages.refetch()} /> : null}
      {pages.data?.pages[0]?.people.length === 0 && <Empty>No people are registered.</Empty>}
      {pages.hasNextPage && (
        <button type="button" disabled={pages.isFetchingNextPage} onClick={() => pages.fetchNextPage()}>
          Show more
        </button>
      )}
    </section>
  );
}

function One({
  person: p,
  operates,
  self,
  onInvited,
}: {
  person: Person;
  operates: boolean;
  self: boolean;
  onInvited: (i: Invited) => void;
}) {
  const [asked, setAsked] = useState<"invite" | "remove">();
  const role = roleFor(p.roles, useSession().roles);
  const again = useChange(async () => onInvited(await invite(p.name, role)));
  const remove = useChange(() => change("DELETE", `/v1/people/${segment(p.name)}`, undefined, undefined, role));
  const recovers = p.keys.length > 0;
  return (
    <article className="panel stack tight" aria-label={`Person ${visible(p.name)}`}>
      <div className="row">
        <h2>
          <Text>{p.name}</Text>
        </h2>
        {p.roles.map((r) => (
          <Chip key={r}>{r}</Chip>
        ))}
        {p.invited_until && (
          <span className="small">
            invited, the link ends <Time at={p.invited_until} />
          </span>
        )}
        <span className="grow" />
        {operates && !self && (
          <>
            <button type="button" disabled={again.isPending} onClick={() => setAsked("invite")}>
              {recovers ? "Recover" : "Invite"}
              <span className="hidden-text"> {visible(p.name)}</span>
            </button>
            <button type="button" className="danger" disabled={remove.isPending} onClick={() => setAsked("remove")}>
              Remove<span className="hidden-text"> {visible(p.name)}</span>
            </button>
          </>
        )}
      </div>
      <p className="small dim">
        <Text>
          {[
            `in ${p.namespaces?.join(", ") || "default"}`,
            p.groups?.length && `groups ${p.groups.join(", ")}`,
            p.identities?.length && `known as ${p.identities.join(", ")}`,
            ...Object.entries(p.attributes ?? {}).map(([name, value]) => `${name}: ${value}`),
          ]
            .filter(Boolean)
            .join("; ")}
        </Text>
      </p>
      {!self && (
        <details>
          <summary className="small">{p.keys.length === 1 ? "1 key" : `${p.keys.length} keys`}</summary>
          <Keys person={p} mayChange={operates} />
        </details>
      )}
      {again.error || remove.error ? <Failure error={again.error ?? remove.error} /> : null}
      {asked === "invite" && (
        <Confirm
          title={`${recovers ? "Recover" : "Invite"} ${visible(p.name)}?`}
          onClose={() => setAsked(undefined)}
          onYes={() => again.mutate(undefined)}
        >
          <p>
            You get a link by which {visible(p.name)} registers one key. It replaces an earlier link, and it is recorded
            that you made it.
            {recovers && " Keys that are lost stay valid until you remove them."}
          </p>
        </Confirm>
      )}
      {asked === "remove" && (
        <Confirm
          title={`Remove ${visible(p.name)} with all keys?`}
          danger
          onClose={() => setAsked(undefined)}
          onYes={() => remove.mutate(undefined)}
        >
          <p>The person can no longer log in, and their sessions end. Their votes and signatures stay in the record.</p>
        </Confirm>
      )}
    </article>
  );
}

/** Shows a link once: the server does not keep it. */
function Link({ invited, onClose }: { invited: Invited; onClose: () => void }) {
  const box = useRef<HTMLDialogElement>(null);
  const [copied, setCopied] = useState(false);
  useEffect(() => box.current?.showModal(), []);
  return (
    <dialog ref={box} aria-label={`Link for ${visible(invited.person)}`} onClose={onClose}>
      <div className="stack">
        <h2>Link for {visible(invited.person)}</h2>
        <p>
          Give it to {visible(invited.person)} alone: whoever opens it registers a key of that person. It counts once
          and ends <Time at={invited.expires} />. It is not shown again.
        </p>
        <label className="field">
          Link
          <input readOnly value={invited.link} onFocus={(e) => e.target.select()} />
        </label>
        <div className="row">
          <button
            type="button"
            className="primary"
            onClick={() => navigator.clipboard?.writeText(invited.link).then(() => setCopied(true))}
          >
            {copied ? "Copied" : "Copy"}
          </button>
          <button type="button" onClick={() => box.current?.close()}>
            Close
          </button>
        </div>
      </div>
    </dialog>
  );
}

const roles = ["approver", "operator", "observer", "root"];

/** Adds a person, and invites them. */
function Add({ onInvited }: { onInvited: (i: Invited) => void }) {
  const [name, setName] = useState("");
  const own = useSession().roles;
  const [chosen, setChosen] = useState(["approver"]);
  const [identities, setIdentities] = useState("");
  const add = useChange(async () => {
    const spec = { name: name.trim(), roles: chosen, identities: identities.split(/[\s,]+/).filter(Boolean) };
    const role = roleFor(chosen, own);
    const made = await change<Person>("POST", "/v1/people", spec, undefined, role);
    setName("");
    setIdentities("");
    onInvited(await invite(made.name, role));
  });
  const send = (e: FormEvent) => {
    e.preventDefault();
    add.mutate(undefined);
  };
  return (
    <details className="panel">
      <summary>Add a person</summary>
      <form className="stack" onSubmit={send} aria-label="Add a person">
        <label className="field">
          Name
          <input required maxLength={128} value={name} onChange={(e) => setName(e.target.value)} />
        </label>
        <fieldset className="row">
          <legend className="small dim">Roles</legend>
          {roles.map((r) => (
            <label key={r} className="row">
              <input
                type="checkbox"
                checked={chosen.includes(r)}
                onChange={(e) => setChosen(e.target.checked ? [...chosen, r] : chosen.filter((c) => c !== r))}
              />
              {r}
            </label>
          ))}
        </fieldset>
        <label className="field">
          Names elsewhere, such as slack:T01/U02 or github:ann
          <input value={identities} spellCheck={false} onChange={(e) => setIdentities(e.target.value)} />
        </label>
        {add.error ? <Failure error={add.error} /> : null}
        <div className="row">
          <button type="submit" className="primary" disabled={add.isPending || chosen.length === 0}>
            Add and invite
          </button>
        </div>
      </form>
    </details>
  );
}
