import assert from "node:assert/strict";
import test from "node:test";
import { InvariantError } from "../invariant.ts";
import { contextIn } from "../../tests/support/made/made-namespaces.ts";
import { access } from "./access.ts";
import {
  type Belonging,
  type Declaration,
  endpointsOf,
  type Method,
  parametersOf,
  serve,
} from "./endpoint.ts";
import { out, type Output } from "./output.ts";
import type { Fields } from "./field.ts";
import type { RequestContext } from "./request.ts";
import { wire } from "./wire.ts";

class Shelf {
  readonly books = new Map([["a", 1]]);
}

const endpoint = endpointsOf<Shelf>();
const name = wire.path("name").string("Name.");

function declared(path: string, input: Fields = {}, method: Method = "GET") {
  return endpoint({
    name: "x",
    method,
    path,
    summary: "X.",
    access: access.token,
    belongs: "local",
    input,
    output: out.nothing,
    handler: () => undefined,
  });
}

test("an endpoint runs where its kind allows, unless it says where", () => {
  const runs = (more: Partial<Declaration<Shelf, Fields, Output<unknown>>>) =>
    endpoint({
      name: "placed",
      method: "GET",
      path: "/placed",
      summary: "Is somewhere.",
      access: access.open,
      belongs: "local",
      input: {},
      output: out.nothing,
      handler: () => undefined,
      ...more,
    }).runs;
  assert.equal(runs({}), "anywhere");
  assert.equal(runs({ method: "LIST" }), "anywhere");
  assert.equal(runs({ method: "POST" }), "active");
  assert.equal(runs({ answers: "always", method: "POST" }), "here");
  for (const traits of [{ issues: true }, { login: true }, { unwraps: true }]) {
    assert.equal(runs(traits), "active");
    assert.throws(() => runs({ ...traits, runs: "anywhere" }), /written down/);
  }
  assert.equal(runs({ method: "POST", runs: "anywhere" }), "anywhere");
});

test("what a declaration leaves out is the careful choice", () => {
  const read = declared("/a");
  assert.deepEqual(
    {
      rootOnly: read.rootOnly,
      answers: read.answers,
      onDrSecondary: read.onDrSecondary,
      family: read.family,
      audited: read.audited,
      rateLimited: read.rateLimited,
      head: read.head,
      exists: read.exists,
      description: read.description,
    },
    {
      rootOnly: false,
      answers: "unsealed",
      onDrSecondary: false,
      family: "enveloped",
      audited: true,
      rateLimited: true,
      head: false,
      exists: null,
      description: "",
    },
  );
});

test("reads run anywhere and everything else on the active node", () => {
  for (const method of ["GET", "LIST"] as const) {
    assert.equal(declared("/a", {}, method).runs, "anywhere");
  }
  for (const method of ["POST", "PATCH", "DELETE"] as const) {
    assert.equal(declared("/a", {}, method).runs, "active");
  }
});

test("what a declaration says is kept", () => {
  const made = endpoint({
    name: "y",
    method: "POST",
    path: "/a",
    summary: "Y.",
    description: "More.",
    access: access.ceremony,
    belongs: "local",
    rootOnly: true,
    answers: "always",
    runs: "here",
    family: "bare",
    audited: false,
    input: {},
    output: out.nothing,
    handler: () => undefined,
  });
  assert.deepEqual(
    [made.rootOnly, made.answers, made.runs, made.family, made.audited],
    [true, "always", "here", "bare", false],
  );
  assert.deepEqual([made.access, made.description], [access.ceremony, "More."]);
});

test("what writes says where that belongs, and a plain read need not", () => {
  const made = { path: "/a", summary: "X.", access: access.token, input: {}, output: out.nothing };
  const rest = { ...made, handler: () => undefined };
  assert.equal(endpoint({ ...rest, name: "reads", method: "GET" }).belongs, null);
  // @ts-expect-error -- a write without it
  assert.throws(() => endpoint({ ...rest, name: "writes", method: "POST" }), /writes: where/);
  // @ts-expect-error -- what it issues is written down
  assert.throws(() => endpoint({ ...rest, name: "i", method: "GET", issues: true }), /i: where/);
  assert.equal(endpoint({ ...rest, name: "w", method: "POST", belongs: "local" }).belongs, "local");
});

test("where a write belongs is told by constant, by mount, or by what is there", async () => {
  const made = {
    name: "w",
    method: "POST",
    path: "/w",
    summary: "W.",
    access: access.token,
  } as const;
  const rest = { ...made, output: out.nothing, handler: () => undefined };
  const book = wire.body("book").string("Book.");
  const by = (belongs: Belonging | ((shelf: Shelf, input: { book: string }) => Belonging)) =>
    serve(new Shelf(), [endpoint({ ...rest, input: { book }, belongs })])[0]?.belongs;
  const there = (shelf: Shelf, input: { book: string }) =>
    shelf.books.has(input.book) ? ("shared" as const) : ("local" as const);
  assert.equal(await by("shared")?.({}, contextIn()), "shared");
  assert.equal(await by(there)?.({ book: "a" }, contextIn()), "shared");
  assert.equal(await by(there)?.({ book: "b" }, contextIn()), "local");
  const through = (local: boolean) => ({ ...contextIn(), mount: { local } }) as RequestContext;
  assert.equal(await by("mount")?.({}, through(true)), "local");
  assert.equal(await by("mount")?.({}, through(false)), "shared");
  const reads = endpoint({ ...rest, input: {}, method: "GET" });
  assert.equal(serve(new Shelf(), [reads])[0]?.belongs, null);
});

test("the parameters of a path are found in order", () => {
  assert.deepEqual(parametersOf("/a/b"), { names: [], rest: false });
  assert.deepEqual(parametersOf("/a/:b/c/:d"), { names: ["b", "d"], rest: false });
  assert.deepEqual(parametersOf("/a/:b/:c+"), { names: ["b", "c"], rest: true });
});

test("a path whose parameters are not those of the declaration does not come to be", () => {
  assert.ok(declared("/a/:name", { name }));
  assert.ok(declared("/a/:name+", { name }));
  assert.ok(declared("/a/:name", { other: name }));
  const other = wire.path("other").string("Other.");
  const wrong: readonly [string, Fields][] = [
    ["a", {}],
    ["/a/", {}],
    ["/a/:name", {}],
    ["/a", { name }],
    ["/a/:name", { other }],
    ["/a/:name", { name, other }],
    ["/a/:name/:name", { name, other }],
    ["/a/:name+/:other", { name, other }],
  ];
  for (const [path, input] of wrong) {
    assert.throws(() => declared(path, input), InvariantError, path);
  }
});

test("served endpoints run against their room, with typed input", async () => {
  const book = endpoint({
    name: "book",
    method: "POST",
    path: "/books/:name",
    summary: "Book.",
    access: access.capability,
    belongs: "local",
    input: { name, count: wire.body("count").integer("Count.") },
    output: out.object({ before: out.integer("Before.") }),
    exists: (shelf, path) => shelf.books.has(path["name"] ?? ""),
    handler: (shelf, input) => {
      const before = shelf.books.get(input.name) ?? 0;
      shelf.books.set(input.name, input.count);
      return { before };
    },
  });
  const shelf = new Shelf();
  const [served] = serve(shelf, [book]);
  assert.ok(served?.exists);
  assert.equal(served.exists({ name: "b" }, contextIn()), false);
  assert.deepEqual(await served.run({ name: "b", count: 3 }, contextIn()), { before: 0 });
  assert.deepEqual(await served.run({ name: "a", count: 3 }, contextIn()), { before: 1 });
  assert.equal(shelf.books.get("b"), 3);
  assert.equal(served.exists({ name: "b" }, contextIn()), true);
  assert.equal(serve(shelf, [declared("/a")])[0]?.exists, null);
});
