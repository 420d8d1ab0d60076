import { type ReactNode, useEffect, useRef, useState } from "react";

interface Props {
  title: string;
  danger?: boolean;
  /** Asks for a reason, which may have to be given. */
  reason?: boolean | "required";
  children?: ReactNode;
  onYes: (reason: string) => void;
  onClose: () => void;
}

/** Asks before something is done. */
export function Confirm({ title, danger, reason, children, onYes, onClose }: Props) {
  const box = useRef<HTMLDialogElement>(null);
  const [why, setWhy] = useState("");
  useEffect(() => box.current?.showModal(), []);
  return (
    <dialog ref={box} aria-label={title} onClose={onClose}>
      <form
        className="stack"
        method="dialog"
        onSubmit={() => {
          onYes(why);
        }}
      >
        <h2>{title}</h2>
        {children}
        {reason && (
          <label className="field">
            Reason
            <input
              value={why}
              required={reason === "required"}
              maxLength={1000}
              onChange={(e) => setWhy(e.target.value)}
            />
          </label>
        )}
        <div className="row">
          <button type="submit" className={danger ? "danger" : "primary"}>
            Yes
          </button>
          <button type="button" onClick={() => box.current?.close()}>
            No
          </button>
        </div>
      </form>
    </dialog>
  );
}
