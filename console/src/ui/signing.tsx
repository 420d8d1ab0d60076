import { type ReactNode, useEffect, useRef, useState } from "react";
import { hasPasskeys } from "../api/passkey";
import { passkeysOf, type Signature, type Statement, sign, statementOf, type Vote } from "../api/sign";
import { Failure, Text } from "./basics";

interface Asked {
  statement: Statement;
  approve: boolean;
  answer: (signature: Signature | undefined | null) => void;
}

/**
 * Signs votes by the person's passkey. signed returns the signature, undefined for a vote that is cast without one,
 * and null when the person has decided nothing; dialog asks the person.
 */
export function useSigning(): {
  signed: (vote: Vote, demanded: boolean) => Promise<Signature | undefined | null>;
  dialog: ReactNode;
} {
  const [asked, setAsked] = useState<Asked>();
  const signed = async (vote: Vote, demanded: boolean) => {
    const statement = await statementOf(vote, demanded);
    if (!statement) return undefined;
    return new Promise<Signature | undefined | null>((answer) =>
      setAsked({ statement, approve: vote.approve === true, answer }),
    );
  };
  const done = (signature: Signature | undefined | null) => {
    asked?.answer(signature);
    setAsked(undefined);
  };
  return { signed, dialog: asked && <Sign {...asked} done={done} /> };
}

/** Whether this page's address is one that the passkeys are for. */
const isAt = (host: string | undefined) =>
  Boolean(host) && (location.hostname === host || location.hostname.endsWith(`.${host}`));

/** Shows the text that is signed, as the server has made it, and has the passkey sign it. */
function Sign({
  statement: s,
  approve,
  done,
}: {
  statement: Statement;
  approve: boolean;
  done: (signature: Signature | undefined | null) => void;
}) {
  const box = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  useEffect(() => box.current?.showModal(), []);
  const title = approve ? "Sign the approval" : "Sign the rejection";
  const here = passkeysOf(s).length > 0 && isAt(s.rp_id) && hasPasskeys();
  const bySign = () => {
    setBusy(true);
    setError(undefined);
    sign(s)
      .then(done)
      .catch(setError)
      .finally(() => setBusy(false));
  };
  return (
    <dialog ref={box} aria-label={title} onClose={() => done(null)}>
      <div className="stack">
        <h2>{title}</h2>
        <p>Your passkey signs exactly this text. Anyone can check the signature in the receipt of the run.</p>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
        <section className="doc" tabIndex={0} aria-label="The text that you sign">
          <pre>
            <Text lines>{s.shown}</Text>
          </pre>
        </section>
        {!here && (
          <p className="notice warn">
            {passkeysOf(s).length === 0
              ? "A signature by a passkey or a security key is required, and you have no passkey here. Add one under People, or sign with interlock approval approve --sign ssh."
              : isAt(s.rp_id)
                ? "This browser has no passkeys."
                : `Your passkeys are for ${s.rp_id}. Open the console there to sign.`}
          </p>
        )}
        {error ? <Failure error={error} /> : null}
        <div className="row">
          {here && (
            <button type="button" className={approve ? "primary" : "danger"} disabled={busy} onClick={bySign}>
              Sign with a passkey
            </button>
          )}
          {!s.presence && (
            <button type="button" disabled={busy} onClick={() => done(undefined)}>
              {approve ? "Approve" : "Reject"} without a signature
            </button>
          )}
          <button type="button" onClick={() => box.current?.close()}>
            Cancel
          </button>
        </div>
      </div>
    </dialog>
  );
}
