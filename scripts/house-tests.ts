// The rules of the house that are told from the files alone, without running the server: `npm run check` looks after
// them, and a run of all tests leaves them to it.

export const HOUSE_TESTS: readonly string[] = [
  "house",
  ...["browser", "packages", "request-target", "rooms", "source", "texts"].map(
    (name) => `house/${name}`,
  ),
]
  .map((name) => `tests/${name}.test.ts`)
  .concat("src/config/manual.test.ts");
