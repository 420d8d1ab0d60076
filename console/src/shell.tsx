import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useLocation } from "@tanstack/react-router";
import { useEffect, useState, useSyncExternalStore } from "react";
import {
  type Approval,
  CallError,
  currentSession,
  get,
  loadSession,
  login,
  logout,
  onSession,
  type Schemas,
  signedIn,
} from "./api/client";
import { follow, useLive } from "./api/live";
import { FreezeBanner, FreezeButton } from "./screens/freezes";
import { HaltBanner, HaltButton } from "./screens/halts";
import { Login } from "./screens/login";
import { Register } from "./screens/register";
import { Failure, Text } from "./ui/basics";
import { Icon, type IconName } from "./ui/icons";
import "./shell.css";

const menu = [
  ["/", "Now", "now"],
  ["/approvals", "Approvals", "approvals"],
  ["/runs", "Runs", "runs"],
  ["/decisions", "Decisions", "decisions"],
  ["/workflows", "Workflows and policies", "workflows"],
  ["/schedules", "Schedules", "schedules"],
  ["/sessions", "Sessions", "sessions"],
  ["/states", "Shared state", "states"],
  ["/components", "Components", "components"],
  ["/people", "People", "people"],
  ["/health", "Audit and health", "health"],
  ["/playground", "Playground", "playground"],
] as const satisfies readonly (readonly [string, string, IconName])[];

/** The part of the address for this page alone: a code that logs in or registers, or why the log-in failed. It leaves the address at once. */
function takeFragment(): { code?: string; problem?: string; register?: string } {
  const given = new URLSearchParams(location.hash.slice(1));
  const code = given.get("code") ?? undefined;
  const problem = given.get("problem") ?? undefined;
  const register = given.get("register") ?? undefined;
  if (code || problem || register) history.replaceState(null, "", location.pathname + location.search);
  return { code, problem, register };
}

/** Why the log-in failed, by the code in the address. A text of the address could be forged. */
const problems: Record<string, string> = {
  namespace: "That is not a valid namespace: write 1 to 63 lower-case letters, digits and hyphens.",
  unreachable: "The identity provider cannot be reached. Try again.",
  broken: "Signing in does not work here. An operator finds the reason in the server's log.",
  "not-begun": "Signing in was not begun in this browser, or took too long. Try again.",
  "too-late": "Signing in took too long. Try again.",
  refused: "The identity provider refused. An operator finds its reason in the server's log.",
  "not-allowed": "You may not log in here. An operator finds the reason in the server's log.",
  "not-for-here": "You may not log in here: your token is not for this installation.",
};

/** A link that would take the place of the session that goes on. */
class Replaces extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Logs in by the address, and returns the code of a person who is to register. */
async function begin(): Promise<string | undefined> {
  const { code, problem, register } = takeFragment();
  if (code)
    await login({ code }).catch((e) => {
      throw e instanceof CallError && e.code === signedIn ? new Replaces(code, e.message) : e;
    });
  if (code) return undefined;
  await loadSession();
  if (problem)
    throw new CallError(
      401,
      "",
      Object.hasOwn(problems, problem) ? (problems[problem] ?? "") : "You are not logged in.",
    );
  return register;
}

/** How often an open page asks for a person's session to go on. */
const renewEvery = 60_000;

let entering: Promise<string | undefined> | undefined;
const enter = () => {
  entering ??= begin();
  return entering;
};

export const useSession = () => useSyncExternalStore(onSession, currentSession);

export function Shell() {
  const session = useSession();
  const [entered, setEntered] = useState(false);
  const [error, setError] = useState<unknown>();
  const [register, setRegister] = useState<string>();
  useEffect(() => {
    enter()
      .then(setRegister)
      .catch(async (e) => {
        setError(e);
        await loadSession().catch(() => undefined);
      })
      .finally(() => setEntered(true));
    const again = () => /[#&](code|register)=/.test(location.hash) && location.reload(); // a link that is opened in this tab
    addEventListener("hashchange", again);
    return () => removeEventListener("hashchange", again);
  }, []);
  const renews = session.authenticated && session.renews;
  useEffect(() => {
    if (!renews) return;
    const timer = setInterval(() => loadSession().catch(() => undefined), renewEvery);
    return () => clearInterval(timer);
  }, [renews]);
  if (!entered) return <div className="skeleton" aria-busy="true" role="status" aria-label="Loading" />;
  if (register) return <Register code={register} done={() => setRegister(undefined)} />;
  if (!session.authenticated) return <Login problem={error} />;
  if (error instanceof Replaces) return <Replace link={error} done={() => setError(undefined)} />;
  return <Frame />;
}

/** Asks before a link logs another person in. */
function Replace({ link, done }: { link: Replaces; done: () => void }) {
  const [error, setError] = useState<unknown>();
  return (
    <main className="login">
      <section className="panel stack" aria-label="Log in by the link?">
        <h1>Log in by the link?</h1>
        <p className="notice warn">
          <Text>{link.message}</Text>
        </p>
        {error ? <Failure error={error} /> : null}
        <div className="row">
          <button type="button" className="primary" onClick={done}>
            Stay as I am
          </button>
          <button type="button" onClick={() => login({ code: link.code, replace: true }).then(done).catch(setError)}>
            Use the link
          </button>
        </div>
      </section>
    </main>
  );
}

function Frame() {
  const client = useQueryClient();
  const session = useSession();
  const live = useLive();
  const [error, setError] = useState<unknown>();
  const [open, setOpen] = useState(false);
  const path = useLocation({ select: (at) => at.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a page that was chosen closes the menu
  useEffect(() => setOpen(false), [path]);
  useEffect(() => follow(client), [client]);
  const waiting = useQuery({
    queryKey: ["approvals", "waiting"],
    queryFn: ({ signal }) =>
      get<Schemas["ApprovalList"]>("/v1/approvals", { status: "PENDING", page_size: 100 }, signal),
    refetchInterval: live ? false : 15_000,
  });
  const count = waiting.data?.approvals.length ?? 0;
  useMark(waiting.data?.approvals ?? []);
  const waits = count > 0 && (
    <span className="count">
      {count}
      {waiting.data?.next_page_token ? "+" : ""}
      <span className="hidden-text"> waiting</span>
    </span>
  );
  return (
    <div className="shell">
      <a className="skip" href="#main">
        To the content
      </a>
      <nav className={open ? "side open" : "side"} aria-label="Console">
        <div className="side-bar">
          <Link to="/" className="brand">
            <img src="/ui/icon.svg" alt="" />
            Interlock
          </Link>
          {!live && <span className="chip ask">not live</span>}
          <button type="button" className="menu-button" aria-expanded={open} onClick={() => setOpen(!open)}>
            <Icon name={open ? "close" : "menu"} />
            Menu
            {waits}
          </button>
        </div>
        <div className="side-body">
          <ul className="nav">
            {menu.map(([to, name, icon]) => (
              <li key={to}>
                <Link to={to} activeOptions={{ exact: to === "/" }} activeProps={{ "aria-current": "page" }}>
                  <Icon name={icon} />
                  {name}
                  {to === "/approvals" && waits}
                </Link>
              </li>
            ))}
          </ul>
          <div className="who">
            <span>{live ? "Live" : "Not live; trying again"}</span>
            <span>
              {session.name || "Logged in"}
              {session.roles?.join() !== session.name && <span className="dim"> as {session.roles?.join(", ")}</span>}
            </span>
            {session.namespace && <span>namespace {session.namespace}</span>}
            {session.read_only && <span>read-only console</span>}
            <HaltButton session={session} />
            <FreezeButton session={session} />
            <div className="row">
              <Theme />
              <button type="button" onClick={() => logout().catch(setError)}>
                Log out
              </button>
            </div>
            {error ? <Failure error={error} /> : null}
          </div>
        </div>
      </nav>
      <main id="main" tabIndex={-1}>
        <HaltBanner session={session} />
        <FreezeBanner session={session} />
        {session.notice && (
          <p className="notice warn" role="status">
            {session.notice}
          </p>
        )}
        <Outlet />
      </main>
    </div>
  );
}

function Theme() {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme ?? "system");
  const choose = (next: string) => {
    setTheme(next);
    if (next === "system") {
      delete document.documentElement.dataset.theme;
      localStorage.removeItem("theme");
    } else {
      document.documentElement.dataset.theme = next;
      localStorage.setItem("theme", next);
    }
  };
  return (
    <select aria-label="Colours" value={theme} onChange={(e) => choose(e.target.value)}>
      <option value="system">system</option>
      <option value="light">light</option>
      <option value="dark">dark</option>
    </select>
  );
}

/** Shows in the tab how many approvals wait. */
function useMark(waiting: Approval[]) {
  const count = waiting.length;
  useEffect(() => {
    const mark = () => {
      const title = document.title.replace(/^\(\d+\) /, "");
      const want = count > 0 ? `(${count}) ${title}` : title;
      if (document.title !== want) document.title = want;
    };
    mark();
    const watch = new MutationObserver(mark);
    const title = document.querySelector("title");
    if (title) watch.observe(title, { childList: true });
    const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
    if (icon) icon.href = count > 0 ? "/ui/icon-waiting.svg" : "/ui/icon.svg";
    return () => watch.disconnect();
  }, [count]);
}
