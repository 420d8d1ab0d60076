/** Equal items: the first stands for all. */
export interface Group<T> {
  first: T;
  all: T[];
}

/** Groups the items of each key, at the place of the first. */
export function groupBy<T>(items: readonly T[], key: (item: T) => string): Group<T>[] {
  const groups = new Map<string, Group<T>>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group) group.all.push(item);
    else groups.set(key(item), { first: item, all: [item] });
  }
  return [...groups.values()];
}
