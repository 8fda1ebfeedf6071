// How often a property is tried: a share in every run of all tests, and `npm run soak -- properties` the rest.

const TIMES = Number(process.env["PROPERTY_TIMES"] ?? "1");

export function often(count: number): number {
  return count * TIMES;
}
