// Finds the endpoint for a path: a tree of segments made from the declarations. Words win over
// parameters, a parameter over one that takes the rest, and there the most words at the end. The cost is
// that of the path, not of the number of routes. What a declaration says of the case of a parameter is
// done here, so that a path has its one form before anybody looks at it.

import { fold } from "../text/fold.ts";
import { invariant } from "../invariant.ts";
import type { Method, Served } from "./endpoint.ts";

export type Methods = ReadonlyMap<Method, Served>;

export interface Route {
  readonly methods: Methods;
  /** The path in its one form; as it was given where no parameter folds. */
  readonly segments: readonly string[];
  /** What stands where the pattern has parameters, in order. */
  readonly values: readonly string[];
}

/** Reads a path of this server that stands inside another one. */
export type ReadPlace = (segments: readonly string[]) => readonly string[];

interface Node {
  readonly words: Map<string, Node>;
  one: Node | null; // any one segment
  rest: Rest[]; // one or more segments, then words; the most words first
  readonly here: Map<Method, Served>;
}

interface Rest {
  readonly words: readonly string[];
  readonly methods: Map<Method, Served>;
}

const NONE: Methods = new Map();
const AS_GIVEN: ReadPlace = (segments) => segments;

export class Router {
  readonly #top: Node = emptyNode();
  readonly #all: Served[] = [];

  constructor(endpoints: readonly Served[]) {
    for (const endpoint of endpoints) this.#add(endpoint);
  }

  get endpoints(): readonly Served[] {
    return this.#all;
  }

  find(segments: readonly string[], place: ReadPlace = AS_GIVEN): Route {
    const spans: Span[] = [];
    const methods = descend(this.#top, segments, 0, spans);
    if (methods === null) return { methods: NONE, segments, values: [] };
    const folded = foldedBy(methods, segments, spans, place);
    // Folded it may be a word, or another route: that is what is judged, so that is what runs.
    if (folded !== segments) return this.find(folded, place);
    return { methods, segments, values: spans.map((span) => textOf(segments, span)) };
  }

  #add(endpoint: Served): void {
    let node = this.#top;
    const parts = endpoint.path === "/" ? [] : endpoint.path.slice(1).split("/");
    for (const [at, part] of parts.entries()) {
      if (part.startsWith(":") && part.endsWith("+")) {
        return this.#put(restOf(node, parts.slice(at + 1)), endpoint);
      }
      if (part.startsWith(":")) {
        node.one ??= emptyNode();
        node = node.one;
        continue;
      }
      let next = node.words.get(part);
      if (next === undefined) node.words.set(part, (next = emptyNode()));
      node = next;
    }
    this.#put(node.here, endpoint);
  }

  #put(methods: Map<Method, Served>, endpoint: Served): void {
    const { method, path } = endpoint;
    invariant(!methods.has(method), `two declarations of ${method} ${path}`);
    const [other] = methods.values();
    invariant(
      other === undefined || other.folds.every((how, i) => how === endpoint.folds[i]),
      `${method} ${path}: its parameters fold otherwise than those of ${other?.method ?? ""}`,
    );
    methods.set(method, endpoint);
    this.#all.push(endpoint);
  }
}

/** The values of a route's parameters by name. */
export function namedValues(endpoint: Served, route: Route): Readonly<Record<string, string>> {
  const named: Record<string, string> = {};
  for (const [i, name] of endpoint.parameters.entries()) named[name] = route.values[i] ?? "";
  return named;
}

/** From the first to before the second segment. */
type Span = readonly [from: number, to: number];

function textOf(segments: readonly string[], [from, to]: Span): string {
  return to === from + 1 ? segments[from]! : segments.slice(from, to).join("/");
}

/** The same array where nothing changes, which is nearly every request. */
function foldedBy(
  methods: Methods,
  segments: readonly string[],
  spans: readonly Span[],
  place: ReadPlace,
): readonly string[] {
  const [one] = methods.values();
  let folded = segments;
  for (const [i, [from, to]] of spans.entries()) {
    const how = one?.folds[i];
    if (how === undefined) continue;
    const before = segments.slice(from, to);
    const after = how === "case" ? before.map(fold) : place(before);
    if (after.every((part, at) => part === before[at])) continue;
    folded = [...folded.slice(0, from), ...after, ...folded.slice(to)];
  }
  return folded;
}

function descend(
  node: Node,
  segments: readonly string[],
  at: number,
  values: Span[],
): Methods | null {
  const segment = segments[at];
  if (segment === undefined) return node.here.size === 0 ? null : node.here;
  const word = node.words.get(segment);
  if (word !== undefined) {
    const found = descend(word, segments, at + 1, values);
    if (found !== null) return found;
  }
  if (node.one !== null) {
    values.push([at, at + 1]);
    const found = descend(node.one, segments, at + 1, values);
    if (found !== null) return found;
    values.pop();
  }
  for (const { words, methods } of node.rest) {
    const end = segments.length - words.length;
    if (end <= at || words.some((one, i) => one !== segments[end + i])) continue;
    values.push([at, end]);
    return methods;
  }
  return null;
}

function restOf(node: Node, words: readonly string[]): Map<Method, Served> {
  const text = words.join("/");
  const known = node.rest.find((rest) => rest.words.join("/") === text);
  if (known !== undefined) return known.methods;
  const methods = new Map<Method, Served>();
  node.rest = [...node.rest, { words, methods }].toSorted(
    (a, b) => b.words.length - a.words.length,
  );
  return methods;
}

function emptyNode(): Node {
  return { words: new Map(), one: null, rest: [], here: new Map() };
}
