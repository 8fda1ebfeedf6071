// Finds the endpoint for a path: a tree of segments made from the declarations. Words win over
// parameters, a parameter over one that takes the rest, and there the most words at the end. The cost is
// that of the path, not of the number of routes. What a declaration says of the case of a parameter is
// done here, so that a path has its one form before anybody looks at it.

import { fold } from "../text/fold.ts";
import { invariant } from "../invariant.ts";
import type { Method, Served } from "./endpoint.ts";
import type { NamespaceRef } from "./request.ts";

export type Methods = ReadonlyMap<Method, Served>;

export interface Route {
  readonly methods: Methods;
  /** The path in its one form; as it was given where no parameter folds. */
  readonly segments: readonly string[];
  /** What stands where the pattern has parameters, in order. */
  readonly values: readonly string[];
}

/** Reads a path of this server that stands inside another one. */
export type ReadPlace = (
  segments: readonly string[],
  namespace: NamespaceRef | null,
) => readonly string[];

interface Node {
  readonly words: Map<string, Node>;
  one: Node | null; // any one segment
  rest: Rest[]; // one or more segments, then words; the most words first
  readonly here: Leaf;
}

interface Leaf {
  readonly methods: Map<Method, Served>;
  /** Of the parameters on the way, in order; null where none folds, which is nearly everywhere. */
  folds: Served["folds"] | null;
}

interface Rest {
  readonly words: readonly string[];
  readonly leaf: Leaf;
}

const NONE: Methods = new Map();
const NO_VALUES: readonly string[] = [];
const AS_SENT: ReadPlace = (segments) => segments;

export class Router {
  readonly #top: Node = emptyNode();
  readonly #all: Served[] = [];

  constructor(endpoints: readonly Served[]) {
    for (const endpoint of endpoints) this.#add(endpoint);
  }

  get endpoints(): readonly Served[] {
    return this.#all;
  }

  find(
    segments: readonly string[],
    place: ReadPlace = AS_SENT,
    namespace: NamespaceRef | null = null,
  ): Route {
    const spans: Spans = [];
    const leaf = descend(this.#top, segments, 0, spans);
    if (leaf === null) return { methods: NONE, segments, values: NO_VALUES };
    const { methods, folds } = leaf;
    if (folds !== null) {
      const folded = foldedBy(folds, segments, spans, (part) => place(part, namespace));
      // Folded it may be a word, or another route: that is what is judged, so that is what runs.
      if (folded !== segments) return this.find(folded, place, namespace);
    }
    return { methods, segments, values: valuesOf(segments, spans) };
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

  #put(leaf: Leaf, endpoint: Served): void {
    const { method, path, folds } = endpoint;
    const { methods } = leaf;
    invariant(!methods.has(method), `two declarations of ${method} ${path}`);
    const [other] = methods.values();
    invariant(
      other === undefined || other.folds.every((how, i) => how === folds[i]),
      `${method} ${path}: its parameters fold otherwise than those of ${other?.method ?? ""}`,
    );
    methods.set(method, endpoint);
    if (folds.some((how) => how !== undefined)) leaf.folds = folds;
    this.#all.push(endpoint);
  }
}

/** The values of a route's parameters by name. */
export function namedValues(endpoint: Served, route: Route): Readonly<Record<string, string>> {
  const { parameters } = endpoint;
  const named: Record<string, string> = {};
  for (let i = 0; i < parameters.length; i++) named[parameters[i]!] = route.values[i] ?? "";
  return named;
}

/** Where parameters stand, two numbers for each: its first segment, and the one behind it. */
type Spans = number[];

function valuesOf(segments: readonly string[], spans: Spans): readonly string[] {
  if (spans.length === 0) return NO_VALUES;
  const values: string[] = [];
  for (let i = 0; i < spans.length; i += 2) {
    const from = spans[i]!;
    const to = spans[i + 1]!;
    values.push(to === from + 1 ? segments[from]! : segments.slice(from, to).join("/"));
  }
  return values;
}

/** The same array where nothing changes, which is nearly every request. */
function foldedBy(
  folds: Served["folds"],
  segments: readonly string[],
  spans: Spans,
  place: (segments: readonly string[]) => readonly string[],
): readonly string[] {
  let folded = segments;
  for (let i = 0; i < folds.length; i++) {
    const how = folds[i];
    if (how === undefined) continue;
    const from = spans[2 * i]!;
    const to = spans[2 * i + 1]!;
    if (how === "case" && areFolded(segments, from, to)) continue;
    const before = segments.slice(from, to);
    const after = how === "case" ? before.map(fold) : place(before);
    if (after.every((part, at) => part === before[at])) continue;
    folded = [...folded.slice(0, from), ...after, ...folded.slice(to)];
  }
  return folded;
}

function areFolded(segments: readonly string[], from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    if (fold(segments[at]!) !== segments[at]) return false;
  }
  return true;
}

function descend(node: Node, segments: readonly string[], at: number, spans: Spans): Leaf | null {
  const segment = segments[at];
  if (segment === undefined) return node.here.methods.size === 0 ? null : node.here;
  const word = node.words.get(segment);
  if (word !== undefined) {
    const found = descend(word, segments, at + 1, spans);
    if (found !== null) return found;
  }
  if (node.one !== null) {
    spans.push(at, at + 1);
    const found = descend(node.one, segments, at + 1, spans);
    if (found !== null) return found;
    spans.length -= 2;
  }
  for (const { words, leaf } of node.rest) {
    const end = segments.length - words.length;
    if (end <= at || !endsWith(segments, words)) continue;
    spans.push(at, end);
    return leaf;
  }
  return null;
}

function endsWith(segments: readonly string[], words: readonly string[]): boolean {
  const start = segments.length - words.length;
  for (let i = 0; i < words.length; i++) {
    if (segments[start + i] !== words[i]) return false;
  }
  return true;
}

function restOf(node: Node, words: readonly string[]): Leaf {
  const text = words.join("/");
  const known = node.rest.find((rest) => rest.words.join("/") === text);
  if (known !== undefined) return known.leaf;
  const leaf = emptyLeaf();
  node.rest = [...node.rest, { words, leaf }].toSorted((a, b) => b.words.length - a.words.length);
  return leaf;
}

function emptyNode(): Node {
  return { words: new Map(), one: null, rest: [], here: emptyLeaf() };
}

function emptyLeaf(): Leaf {
  return { methods: new Map(), folds: null };
}
