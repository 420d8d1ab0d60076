// The part of a large drawing that is seen.

/** A rectangle from its upper left corner. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The middle of what is seen, and how many pixels a unit of the drawing takes. */
export interface View {
  x: number;
  y: number;
  scale: number;
}

/** The room that a drawing has, in pixels. */
export interface Room {
  width: number;
  height: number;
}

/** Below this scale texts cannot be read, and are not drawn. */
export const readable = 0.25;
/** The scale at which a drawing is shown that is too large to be read as a whole. */
const comfortable = 0.8;
const margin = 10;

/** The whole of a drawing. */
export const whole = (drawing: Room, room: Room): View => ({
  x: drawing.width / 2,
  y: drawing.height / 2,
  scale: Math.min(1.25, room.width / (drawing.width + 2 * margin), room.height / (drawing.height + 2 * margin)),
});

/** The view that a drawing begins with: the whole, or, where that is too small to read, the surroundings of a place. */
export function firstView(drawing: Room, room: Room, place: Box | undefined): View {
  const all = whole(drawing, room);
  if (all.scale > 0.5 || !place) return all;
  return { ...middleOf(place), scale: comfortable };
}

export const middleOf = (box: Box) => ({ x: box.x + box.width / 2, y: box.y + box.height / 2 });

/** The part of the drawing that a view shows. */
export const seenBy = (view: View, room: Room): Box => ({
  x: view.x - room.width / view.scale / 2,
  y: view.y - room.height / view.scale / 2,
  width: room.width / view.scale,
  height: room.height / view.scale,
});

/** Zooms around a place that stays where it is. */
export function zoomed(
  view: View,
  by: number,
  limits: [least: number, most: number],
  at = { x: view.x, y: view.y },
): View {
  const scale = Math.min(Math.max(view.scale * by, limits[0]), limits[1]);
  const factor = view.scale / scale;
  return { x: at.x - (at.x - view.x) * factor, y: at.y - (at.y - view.y) * factor, scale };
}

export const meets = (a: Box, b: Box) =>
  a.x <= b.x + b.width && b.x <= a.x + a.width && a.y <= b.y + b.height && b.y <= a.y + a.height;

export const holds = (outer: Box, inner: Box) =>
  inner.x >= outer.x &&
  inner.y >= outer.y &&
  inner.x + inner.width <= outer.x + outer.width &&
  inner.y + inner.height <= outer.y + outer.height;

/** The box around a path of the server: it moves by M, draws by V and C, and all its numbers are places. */
export function boxOfPath(path: string): Box {
  const xs: number[] = [];
  const ys: number[] = [];
  for (const [, command, text] of path.matchAll(/([MVC])([^MVC]*)/g)) {
    const numbers = (text?.match(/-?\d+(?:\.\d+)?/g) ?? []).map(Number);
    numbers.forEach((n, i) => {
      (command === "V" || i % 2 === 1 ? ys : xs).push(n);
    });
  }
  const x = Math.min(...xs);
  const y = Math.min(...ys);
  return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}

/** The size of an overview in a corner. A drawing that is far longer than wide is not drawn to scale, or it would be a line. */
export function overview(drawing: Room, most: Room, least: number): Room {
  const scale = Math.min(most.width / drawing.width, most.height / drawing.height);
  return {
    width: Math.max(least, drawing.width * scale),
    height: Math.max(least, drawing.height * scale),
  };
}

/** The names that a search finds: those that are it, begin with it, or have it, in this order. */
export function found(names: string[], search: string): string[] {
  const word = search.trim().toLowerCase();
  if (word === "") return [];
  const rank = (name: string) => {
    const lower = name.toLowerCase();
    return lower === word ? 0 : lower.startsWith(word) ? 1 : lower.includes(word) ? 2 : 3;
  };
  return names
    .map((name) => [rank(name), name] as const)
    .filter(([r]) => r < 3)
    .sort((a, b) => a[0] - b[0])
    .map(([, name]) => name);
}
