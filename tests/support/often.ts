// How often a property is tried: a share in every run of all tests, and `npm run soak -- properties` the rest.

const TIMES = Number(process.env["PROPERTY_TIMES"] ?? "1");

export function often(count: number): number {
  return count * TIMES;
}

/** So many of all cases, others in each run; whoever tries more often tries all of them. The test names each that fails. */
export function someOf<T>(all: readonly T[], count: number): readonly T[] {
  if (TIMES > 1 || all.length <= count) return all;
  const left = [...all];
  return Array.from({ length: count }, () => {
    const [one] = left.splice(Math.floor(Math.random() * left.length), 1);
    return one!;
  });
}
