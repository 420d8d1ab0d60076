import { type FormEvent, useState } from "react";
import { currentSession, login } from "../api/client";
import { Failure, useTitle } from "../ui/basics";

/** Asks for a token. A link of `interlock up` or `interlock console` needs none. */
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
  return (
    <main className="login">
      <div className="brand">
        <img src="/ui/icon.svg" alt="" />
        <h1>Interlock</h1>
      </div>
      {error ? <Failure error={error} /> : null}
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

/** This page's path below /ui, to come back to. */
const here = () => location.pathname.replace(/^\/ui/, "") + location.search;
