import { type ReactNode, useEffect, useRef, useState } from "react";

/** Shows a button with a box over the page; a click elsewhere or Escape closes the box. */
export function Menu({ name, children }: { name: ReactNode; children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  useEffect(() => {
    if (!open) return;
    const outside = (e: PointerEvent) => !box.current?.contains(e.target as Node) && setOpen(false);
    const leave = (e: KeyboardEvent) => {
      if (e.key !== "Escape") return;
      setOpen(false);
      button.current?.focus();
    };
    addEventListener("pointerdown", outside);
    addEventListener("keydown", leave);
    return () => {
      removeEventListener("pointerdown", outside);
      removeEventListener("keydown", leave);
    };
  }, [open]);
  return (
    <div className="menu" ref={box}>
      <button ref={button} type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        {name}
      </button>
      {open && <div className="menu-box">{children}</div>}
    </div>
  );
}
