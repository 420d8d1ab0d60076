/** The drawings of the menu, on a field of 16 by 16. */
const paths = {
  now: "M1.5 8h3l2-4.5 3 9 2-4.5h3",
  approvals: "M2 9.5h3.5l1 2h3l1-2H14M2 9.5 4 3h8l2 6.5V13H2z",
  runs: "M4 2.5 13 8l-9 5.5z",
  decisions: "M8 1.5 13.5 4v4c0 3.5-2.5 5.5-5.5 6.5C5 13.5 2.5 11.5 2.5 8V4zM5.5 8l2 2 3-3.5",
  workflows: "M2 2.5h4v3H2zM10 10.5h4v3h-4zM4 5.5V12h6M10 2.5h4v3h-4zM6 4h4",
  schedules: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 4.5V8l2.5 2",
  sessions: "M2 3h12v8H8l-3 2.5V11H2z",
  states:
    "M2.5 4C2.5 2.600 5 1.800 8 1.800S13.5 2.600 13.5 4 11 6.200 8 6.200 2.5 5.400 2.5 4zM2.5 4v8c0 1.400 2.5 2.200 5.5 2.200s5.5-.8 5.5-2.200V4M2.5 8c0 1.400 2.5 2.200 5.5 2.200s5.5-.8 5.5-2.200",
  components: "M8 1.5 14 5v6l-6 3.5L2 11V5zM2 5l6 3.5L14 5M8 8.5v6",
  people:
    "M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5c0-3 2-4.5 4.5-4.5s4.5 1.5 4.5 4.5M10.5 2.800a2.5 2.5 0 0 1 0 4.5M12 9.300c1.600.6 2.5 2 2.5 4.200",
  health: "M3 2h7l3 3v9H3zM5.5 7h5M5.5 9.5h5M5.5 12h3",
  playground: "M6 2h4M7 2v4l-4 7c-.5.9 0 1.5.8 1.5h8.400c.8 0 1.300-.6.8-1.5L9 6V2",
  menu: "M2 4h12M2 8h12M2 12h12",
  close: "M3 3l10 10M13 3 3 13",
} as const;

export type IconName = keyof typeof paths;

/** Shows a drawing beside its word. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
