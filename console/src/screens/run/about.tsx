import { Link } from "@tanstack/react-router";
import type { Run } from "../../api/client";
import { Facts, Names, Text, Time } from "../../ui/basics";
import { visible } from "../../ui/visible";

/** Shows the session, the times, the policies and the family of the run. */
export function About({ run }: { run: Run }) {
  return (
    <section className="panel">
      <Facts
        facts={[
          [
            "Session",
            run.session_id && (
              <Link to="/decisions" search={{ session_id: run.session_id }}>
                <Text>{run.session_id}</Text>
              </Link>
            ),
          ],
          [
            "Schedule",
            run.schedule && (
              <Link to="/schedules/$name" params={{ name: run.schedule }}>
                <Text>{run.schedule}</Text>
              </Link>
            ),
          ],
          ["Started", <Time key="s" at={run.created_at} />],
          ["Changed", <Time key="u" at={run.updated_at} />],
          ["Last activity", run.last_activity && <Time key="l" at={run.last_activity} />],
          ["Transitions", String(run.transition_count)],
          ["Policies", run.policies?.length ? <Names key="p" names={run.policies} none="" /> : ""],
          [
            "Invoked by",
            run.parent_run_id && (
              <Link to="/runs/$id" params={{ id: run.parent_run_id }}>
                {run.parent_run_id}
              </Link>
            ),
          ],
          [
            "Waits for",
            run.child && (
              <Link to="/runs/$id" params={{ id: run.child.run_id }}>
                <Text>{run.child.workflow}</Text>
              </Link>
            ),
          ],
          ["Interrupt", run.interrupt && visible(`${run.interrupt.name}, then back to ${run.interrupt.return_to}`)],
          [
            "Branches",
            run.fork?.branches.map((b) => visible(`${b.name}: ${b.state} (${b.status.toLowerCase()})`)).join("; "),
          ],
        ]}
      />
    </section>
  );
}
