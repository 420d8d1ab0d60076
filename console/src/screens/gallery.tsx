// Shows each component in each of its states, for its authors and for e2e/gallery.test.mjs. No menu leads here.
import { type ReactNode, useState } from "react";
import { CallError } from "../api/client";
import { Chip, CopyId, Empty, Facts, Failure, Json, Names, Tabs, Text, Time, useTitle } from "../ui/basics";
import { Change } from "../ui/change";
import { Command } from "../ui/command";
import { FilterField } from "../ui/filter";
import { Icon, type IconName } from "../ui/icons";
import { Menu } from "../ui/menu";
import { moment } from "../ui/sort";
import { type Column, type Source, Table } from "../ui/table";
import type { Grammar, Search } from "../ui/tokens";
import { Cause, Verdict } from "./verdict";

/** The time of the samples. */
const noon = Date.parse("2026-01-01T12:00:00Z");
const at = (minutes: number) => new Date(noon - minutes * 60_000).toISOString();

const hostile = `<b>\u202egnp.exe\u200b ${"w".repeat(120)}`;

interface Sample {
  id: string;
  status: string;
  name: string;
  note: string;
  time: string;
}
const samples: Sample[] = [
  { id: "1", status: "RUNNING", name: "bugfix", note: "work", time: at(1) },
  {
    id: "2",
    status: "AWAITING_APPROVAL",
    name: "a name that is longer than its column can ever be",
    note: "gate",
    time: at(90),
  },
  { id: "3", status: "FAILED", name: "deploy", note: hostile, time: at(3000) },
  { id: "4", status: "NOT_ENFORCED", name: "release", note: "", time: at(-5) },
];
const columns: Column<Sample>[] = [
  {
    id: "status",
    name: "Status",
    width: "9.3rem",
    phone: 1,
    by: (s) => s.status,
    cell: (s) => <Chip>{s.status}</Chip>,
  },
  {
    id: "name",
    name: "Name",
    opens: true,
    width: "minmax(5.8rem, 1fr)",
    phone: 1,
    by: (s) => s.name,
    cell: (s) => <Text>{s.name}</Text>,
  },
  { id: "note", name: "Note", width: "minmax(5.8rem, 1fr)", phone: 2, cell: (s) => <Text>{s.note}</Text> },
  {
    id: "time",
    name: "Time",
    width: "6.5rem",
    phone: 2,
    end: true,
    by: (s) => moment(s.time),
    cell: (s) => <Time at={s.time} />,
  },
];
const source = (more: Partial<Source>): Source =>
  ({ isPending: false, error: null, refetch: async () => undefined, ...more }) as Source;
const refused = new CallError(403, "PERMISSION_DENIED", "the role observer may not do this\nask an operator");

const grammar: Grammar = {
  keys: [
    { name: "status", param: "status", not: "not_status", about: "its status", values: ["running", "failed"] },
    { name: "name", param: "name", about: "its name" },
  ],
  word: () => undefined,
};

/** One component in one state. */
function Piece({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="stack tight" data-piece={name}>
      <span className="small dim">{name}</span>
      <div>{children}</div>
    </div>
  );
}

function Part({ name, children }: { name: string; children: ReactNode }) {
  return (
    <section className="panel stack" aria-label={name}>
      <h2>{name}</h2>
      {children}
    </section>
  );
}

const kinds = ["ALLOW", "ASK", "DENY", "RUNNING", "NOT_ENFORCED", "CANCELLED"];
const icons: IconName[] = ["now", "approvals", "runs", "decisions", "workflows", "schedules", "sessions", "states"];
const moreIcons: IconName[] = ["components", "people", "health", "playground", "menu", "close"];

/** All components. */
export function Gallery() {
  useTitle("Gallery");
  return (
    <>
      <h1>Gallery</h1>
      <Part name="Buttons and fields">
        <Piece name="buttons">
          <div className="row">
            <button type="button">plain</button>
            <button type="button" className="primary">
              primary
            </button>
            <button type="button" className="danger">
              danger
            </button>
            <button type="button" className="stop">
              stop
            </button>
            <button type="button" className="quiet">
              quiet
            </button>
            <button type="button" className="link">
              link
            </button>
          </div>
        </Piece>
        <Piece name="buttons, disabled">
          <div className="row">
            <button type="button" disabled>
              plain
            </button>
            <button type="button" className="primary" disabled>
              primary
            </button>
            <button type="button" className="danger" disabled>
              danger
            </button>
          </div>
        </Piece>
        <Piece name="fields">
          <div className="row">
            <label className="field">
              Name
              <input defaultValue="ann" />
            </label>
            <label className="field">
              Status
              <select>
                <option>running</option>
              </select>
            </label>
            <label className="check">
              <input type="checkbox" defaultChecked /> a choice
            </label>
          </div>
        </Piece>
        <Piece name="menu">
          <Menu name="Columns">nothing</Menu>
        </Piece>
        <Piece name="icons">
          <div className="row">
            {[...icons, ...moreIcons].map((name) => (
              <Icon key={name} name={name} />
            ))}
          </div>
        </Piece>
      </Part>
      <Part name="Words">
        <Piece name="chips">
          <div className="row">
            {kinds.map((k) => (
              <Chip key={k}>{k}</Chip>
            ))}
            <span className="count">3</span>
          </div>
        </Piece>
        <Piece name="verdicts">
          <div className="row">
            <Verdict of={{ decision: "DENY", code: "RATE_LIMITED", message: "" }} />
            <Cause of={{ decision: "DENY", code: "RATE_LIMITED", message: "" }} />
            <Verdict of={{ decision: "ALLOW", code: "NOT_ENFORCED", message: "run paused by agent" }} />
            <Cause of={{ decision: "ALLOW", code: "NOT_ENFORCED", message: "run paused by agent" }} />
          </div>
        </Piece>
        <Piece name="facts">
          <Facts
            facts={[
              ["Run", <CopyId key="r" id="run_0123456789abcdef" />],
              ["Started", <Time key="t" at={at(3)} />],
              ["Tools", <Names key="n" names={["Read", "Bash"]} none="none" />],
              ["Left out", ""],
            ]}
          />
        </Piece>
        <Piece name="a hostile text">
          <p className="panel">
            <Text>{hostile}</Text>
          </p>
        </Piece>
        <Piece name="keys">
          <kbd>j</kbd> <kbd>Enter</kbd>
        </Piece>
      </Part>
      <Part name="What a page says">
        <Piece name="notice">
          <p className="notice">Something to know.</p>
        </Piece>
        <Piece name="warning">
          <p className="notice warn">Something to mind.</p>
        </Piece>
        <Piece name="refusal">
          <Failure error={refused} retry={() => undefined} />
        </Piece>
        <Piece name="nothing">
          <Empty>There is none yet.</Empty>
        </Piece>
        <Piece name="loading">
          <div className="skeleton" />
        </Piece>
        <Piece name="banner">
          <p className="banner">Earlier events are still being read.</p>
        </Piece>
      </Part>
      <Tables />
      <Part name="Documents">
        <Piece name="JSON">
          <Json value={{ version: "1.4", items: [1, 2] }} label="A document" />
        </Piece>
        <Piece name="change">
          <Change before={"one\ntwo\nthree"} after={"one\nthree\nfour"} />
        </Piece>
        <Piece name="command">
          <Command
            command={{
              line: "go test ./... && rm -rf /",
              parts: [
                { start: 0, end: 13, text: "go test ./...", words: ["go", "test", "./..."], verdict: "ok" },
                {
                  start: 17,
                  end: 25,
                  text: "rm -rf /",
                  words: ["rm", "-rf", "/"],
                  verdict: "refused",
                  code: "COMMAND_NOT_ALLOWED",
                  message: "rm is not allowed",
                },
              ],
            }}
          />
        </Piece>
        <Piece name="tabs">
          <Tabs names={["Text", "Versions", "Proof"]} at="Versions" onChange={() => undefined} />
        </Piece>
      </Part>
    </>
  );
}

/** The table and its filters in their states. */
function Tables() {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(["2"]));
  const [search, setSearch] = useState<Search>({ status: "running", not_status: "failed", name: "two words" });
  const common = {
    columns,
    id: (s: Sample) => s.id,
    place: () => ({ to: "/runs" }),
    empty: "No run fits these filters.",
  };
  return (
    <Part name="Tables">
      <Piece name="filters, none">
        <FilterField label="nothing" grammar={grammar} search={{}} onChange={() => undefined} />
      </Piece>
      <Piece name="table with filters and a choice">
        <Table
          {...common}
          name="gallery"
          label="Samples"
          source={source({})}
          items={samples}
          tools={<FilterField label="samples" grammar={grammar} search={search} onChange={setSearch} />}
          choice={{
            chosen,
            onChange: setChosen,
            bar: (ids) => (
              <>
                <strong>{ids.length} chosen</strong>
                <button type="button">pause</button>
              </>
            ),
          }}
        />
      </Piece>
      <Piece name="table, not all loaded">
        <Table
          {...common}
          name="gallery"
          label="Partial"
          source={source({ hasNextPage: true, isFetchingNextPage: true })}
          items={samples}
          small
        />
      </Piece>
      <Piece name="table of two lines, with a current row">
        <Table
          {...common}
          name="gallery"
          label="Two lines"
          source={source({})}
          items={samples}
          current="3"
          twoLines
          small
        />
      </Piece>
      <Piece name="table without rows">
        <Table {...common} name="gallery" label="None" source={source({})} items={[]} small />
      </Piece>
      <Piece name="table that failed">
        <Table {...common} name="gallery" label="Failed" source={source({ error: refused })} items={[]} small />
      </Piece>
    </Part>
  );
}
