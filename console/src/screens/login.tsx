import { type FormEvent, type ReactNode, useState } from "react";
import { type Credentials, currentSession, login } from "../api/client";
import { hasPasskeys, proof } from "../api/passkey";
import { Failure, useTitle } from "../ui/basics";

/** Asks for a passkey, a passphrase or a token. A link of `interlock up` or `interlock console` needs none. */
export function Login({ problem }: { problem: unknown }) {
  useTitle("Log in");
  const [error, setError] = useState<unknown>(problem);
  const [token, setToken] = useState("");
  const [namespace, setNamespace] = useState("");
  const ways = currentSession().login;
  const send = (e: FormEvent, anonymous: boolean) => {
    e.preventDefault();
    setError(undefined);
    login(anonymous ? { anonymous, namespace } : { token, namespace }).catch(setError);
  };
  const enter = (credentials: Promise<Credentials>) => {
    setError(undefined);
    credentials.then(login).catch(setError);
  };
  return (
    <main className="login">
      <div className="brand">
        <img src="/ui/icon.svg" alt="" />
        <h1>Interlock</h1>
      </div>
      {error ? <Failure error={error} /> : null}
      {ways.people && <Person enter={enter} />}
      <form className="panel stack" onSubmit={(e) => send(e, false)}>
        <p>
          On the machine of the server, <code>interlock console</code> prints a link that logs you in. Elsewhere, give a
          token.
        </p>
        <label className="field">
          Token
          <input
            type="password"
            autoComplete="current-password"
            required
            value={token}
            onChange={(e) => setToken(e.target.value)}
          />
        </label>
        <label className="field">
          Namespace
          <input value={namespace} placeholder="default" onChange={(e) => setNamespace(e.target.value)} />
        </label>
        <div className="row">
          <button type="submit" className="primary">
            Log in
          </button>
          {ways.issuer && (
            <a className="button" href={`/ui/oidc/login?${new URLSearchParams({ to: here(), namespace })}`}>
              With your identity provider
            </a>
          )}
          {ways.anonymous && (
            <button type="button" onClick={(e) => send(e, true)}>
              Without a token
            </button>
          )}
        </div>
      </form>
    </main>
  );
}

/** Logs a person in by a key of their own. */
function Person({ enter }: { enter: (credentials: Promise<Credentials>) => void }) {
  const [person, setPerson] = useState("");
  const [passphrase, setPassphrase] = useState("");
  const send = (e: FormEvent) => {
    e.preventDefault();
    enter(Promise.resolve({ person, passphrase }));
  };
  return (
    <form className="panel stack" onSubmit={send} aria-label="Log in as a person">
      <Passkeys hash="">
        <div className="row">
          <button type="button" className="primary" onClick={() => enter(proof().then((passkey) => ({ passkey })))}>
            Use a passkey
          </button>
        </div>
      </Passkeys>
      <label className="field">
        Name
        <input autoComplete="username" required value={person} onChange={(e) => setPerson(e.target.value)} />
      </label>
      <label className="field">
        Passphrase
        <input
          type="password"
          autoComplete="current-password"
          required
          value={passphrase}
          onChange={(e) => setPassphrase(e.target.value)}
        />
      </label>
      <div className="row">
        <button type="submit">Use the passphrase</button>
      </div>
    </form>
  );
}

/** Shows what needs passkeys, or where they can be had. hash is kept in the link to that page. */
export function Passkeys({ hash, children }: { hash: string; children: ReactNode }) {
  const [origin] = currentSession().login.origins ?? [];
  if (!origin)
    return (
      <p className="small dim">
        This server has no passkeys: it is not known by a host name with HTTPS. An operator starts it with{" "}
        <code>--public-url</code>.
      </p>
    );
  if (origin !== location.origin)
    return (
      <p className="notice warn">
        Passkeys do not work at this address.{" "}
        <a href={`${origin}${location.pathname}${location.search}${hash}`}>Open {origin}</a> for them.
      </p>
    );
  if (!hasPasskeys()) return <p className="small dim">This browser has no passkeys.</p>;
  return children;
}

/** This page's path below /ui, to come back to. */
const here = () => location.pathname.replace(/^\/ui/, "") + location.search;
