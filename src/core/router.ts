// Finds the endpoint for a path: a tree of segments made from the declarations. Words win over
// parameters, a parameter over one that takes the rest. The cost is that of the path, not of the
// number of routes.

import { invariant } from "../base/invariant.ts";
import type { Method, Served } from "../endpoint/endpoint.ts";

export type Methods = ReadonlyMap<Method, Served>;

export interface Route {
  readonly methods: Methods;
  /** What stands where the pattern has parameters, in order. */
  readonly values: readonly string[];
}

interface Node {
  readonly words: Map<string, Node>;
  one: Node | null; // any one segment
  rest: Map<Method, Served> | null; // one or more segments
  readonly here: Map<Method, Served>;
}

const NONE: Methods = new Map();

export class Router {
  readonly #top: Node = emptyNode();
  readonly #all: Served[] = [];

  constructor(endpoints: readonly Served[]) {
    for (const endpoint of endpoints) this.#add(endpoint);
  }

  get endpoints(): readonly Served[] {
    return this.#all;
  }

  find(segments: readonly string[]): Route {
    const values: string[] = [];
    const methods = descend(this.#top, segments, 0, values);
    return methods === null ? { methods: NONE, values: [] } : { methods, values };
  }

  #add(endpoint: Served): void {
    let node = this.#top;
    for (const part of endpoint.path.slice(1).split("/")) {
      if (part.startsWith(":") && part.endsWith("+")) {
        node.rest ??= new Map();
        return this.#put(node.rest, endpoint);
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

function descend(
  node: Node,
  segments: readonly string[],
  at: number,
  values: string[],
): Methods | null {
  const segment = segments[at];
  if (segment === undefined) return node.here.size === 0 ? null : node.here;
  const word = node.words.get(segment);
  if (word !== undefined) {
    const found = descend(word, segments, at + 1, values);
    if (found !== null) return found;
  }
  if (node.one !== null) {
    values.push(segment);
    const found = descend(node.one, segments, at + 1, values);
    if (found !== null) return found;
    values.pop();
  }
  if (node.rest === null) return null;
  values.push(segments.slice(at).join("/"));
  return node.rest;
}

function emptyNode(): Node {
  return { words: new Map(), one: null, rest: null, here: new Map() };
}
