import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { type Credentials, currentSession, invitedBy, login } from "../api/client";
import { create } from "../api/passkey";
import { Failure, Text, useTitle } from "../ui/basics";
import { visible } from "../ui/visible";
import { Passkeys } from "./login";

/** Registers a person's first key by a code that counts once. */
export function Register({ code, done }: { code: string; done: () => void }) {
  useTitle("Register");
  const session = currentSession();
  const [error, setError] = useState<unknown>();
  const [person, setPerson] = useState("");
  const [passphrase, setPassphrase] = useState("");
  const [again, setAgain] = useState("");
  const invited = useQuery({ queryKey: ["invited", code], queryFn: () => invitedBy(code), retry: false }).data;
  const name = invited || person;
  const register = (key: Promise<Record<string, string>>) => {
    setError(undefined);
    key
      .then(
        (made): Credentials => ({
          register: { code, person: name, label: "console", ...made },
          replace: session.authenticated,
        }),
      )
      .then(login)
      .then(done)
      .catch(setError);
  };
  const send = (e: FormEvent) => {
    e.preventDefault();
    if (passphrase === again) register(Promise.resolve({ passphrase }));
    else setError(new Error("The passphrases differ. Type the same one twice."));
  };
  return (
    <main className="login">
      <div className="brand">
        <img src="/ui/icon.svg" alt="" />
        <h1>Register</h1>
      </div>
      {session.authenticated && (
        <p className="notice warn">
          You are logged in as <Text>{session.name || "a person of this server"}</Text>. Registering ends that.{" "}
          <button type="button" onClick={done}>
            Stay as I am
          </button>
        </p>
      )}
      {error ? <Failure error={error} /> : null}
      {session.login.people || session.authenticated ? (
        <form className="panel stack" onSubmit={send} aria-label="Register">
          <p>Your code counts once. Choose the key that you will log in with.</p>
          {invited ? (
            <p>
              It is for <strong>{visible(invited)}</strong>. Use it only if that is you.
            </p>
          ) : (
            <label className="field">
              Name
              <input autoComplete="username" value={person} onChange={(e) => setPerson(e.target.value)} />
            </label>
          )}
          <Passkeys hash={`#register=${encodeURIComponent(code)}`}>
            <div className="row">
              <button type="button" className="primary" onClick={() => register(create(name))}>
                Make a passkey
              </button>
            </div>
          </Passkeys>
          <label className="field">
            Or a passphrase, of 12 or more characters
            <input
              type="password"
              autoComplete="new-password"
              required
              minLength={12}
              value={passphrase}
              onChange={(e) => setPassphrase(e.target.value)}
            />
          </label>
          <label className="field">
            The passphrase again
            <input
              type="password"
              autoComplete="new-password"
              required
              value={again}
              onChange={(e) => setAgain(e.target.value)}
            />
          </label>
          <div className="row">
            <button type="submit">Use a passphrase</button>
          </div>
        </form>
      ) : (
        <p className="notice warn">People do not log in at this server. Its operator gives you a token.</p>
      )}
    </main>
  );
}
