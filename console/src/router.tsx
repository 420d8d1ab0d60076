import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { Shell } from "./shell";

/** Filters of a list, as they are in its address. */
export type Filters = Record<string, string | undefined>;

const texts = (search: Record<string, unknown>): Filters => {
  const filters: Filters = {};
  for (const [key, value] of Object.entries(search))
    if (typeof value === "string" || typeof value === "number") filters[key] = String(value);
  return filters;
};

const root = createRootRoute({ component: Shell, validateSearch: texts });
const page = <P extends string>(path: P, load: () => Promise<Record<string, unknown>>, name: string) =>
  createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(load as () => Promise<Record<string, React.ComponentType>>, name),
  });

const routes = [
  page("/", () => import("./screens/now"), "Now"),
  page("/approvals", () => import("./screens/approvals/inbox"), "Approvals"),
  page("/approvals/$id", () => import("./screens/approvals/inbox"), "Approvals"),
  page("/runs", () => import("./screens/runs"), "Runs"),
  page("/runs/$id", () => import("./screens/run/page"), "RunPage"),
  page("/decisions", () => import("./screens/decisions"), "Decisions"),
  page("/decisions/$run/$call", () => import("./screens/decision"), "DecisionPage"),
  page("/refusals", () => import("./screens/refusals"), "Refusals"),
  page("/workflows", () => import("./screens/definitions"), "Definitions"),
  page("/workflows/$name", () => import("./screens/workflow"), "WorkflowPage"),
  page("/processes/$name", () => import("./screens/process"), "ProcessPage"),
  page("/policies/$name", () => import("./screens/policy"), "PolicyPage"),
  page("/new/workflow", () => import("./screens/edit"), "NewWorkflow"),
  page("/schedules", () => import("./screens/schedules"), "Schedules"),
  page("/schedules/$name", () => import("./screens/schedule"), "SchedulePage"),
  page("/sessions", () => import("./screens/sessions"), "Sessions"),
  page("/sessions/$id", () => import("./screens/session"), "SessionPage"),
  page("/states", () => import("./screens/states"), "States"),
  page("/states/$id", () => import("./screens/state"), "StatePage"),
  page("/components", () => import("./screens/components"), "Components"),
  page("/components/$slug", () => import("./screens/components"), "ComponentPage"),
  page("/people", () => import("./screens/people"), "People"),
  page("/health", () => import("./screens/health"), "Health"),
  page("/playground", () => import("./screens/playground"), "Playground"),
  page("/gallery", () => import("./screens/gallery"), "Gallery"),
] as const;

export function makeRouter() {
  return createRouter({
    routeTree: root.addChildren([...routes]),
    basepath: "/ui",
    defaultPreload: "intent",
    defaultNotFoundComponent: () => <p className="empty">This page does not exist. The menu has those that do.</p>,
    // A filter that looks like a number stays text.
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search) => {
      const params = new URLSearchParams();
      for (const [key, value] of Object.entries(search))
        if (value !== undefined && value !== "") params.set(key, String(value));
      const written = params.toString();
      return written ? `?${written}` : "";
    },
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
