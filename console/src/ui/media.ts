import { useSyncExternalStore } from "react";

const phone = "(max-width: 760px)";

/** Returns true if the page is as narrow as a phone. */
export const usePhone = () =>
  useSyncExternalStore(
    (changed) => {
      const query = matchMedia(phone);
      query.addEventListener("change", changed);
      return () => query.removeEventListener("change", changed);
    },
    () => matchMedia(phone).matches,
  );

/** Returns a length of tokens.css, in pixels. */
export const lengthOf = (token: string) =>
  Number.parseFloat(getComputedStyle(document.documentElement).getPropertyValue(token));
