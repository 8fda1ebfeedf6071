// The fields of a token that a filter may name, their types, and the way from a selector to one of
// them. Names are looked up in these tables alone, never in an object (T-C12).

import { invariant } from "@holdfast/shared/invariant";
import { isOver } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import { notFound, quoted, quoteShort } from "./failures.ts";
import type { Element, Role, Scene } from "./filtered-token.ts";
import type { Selector } from "./syntax.ts";

type Read<T> = (scene: Scene) => T;

export interface ListValue {
  readonly type: "list";
  readonly of: "string" | "role";
  readonly read: Read<readonly Element[]>;
  readonly isNil: Read<boolean>;
}

export type Value =
  | { readonly type: "string"; readonly read: Read<string> }
  | { readonly type: "bool"; readonly read: Read<boolean> }
  | { readonly type: "uint64" | "int64"; readonly read: Read<bigint> }
  | { readonly type: "time"; readonly read: Read<Instant | null> }
  | ListValue
  | { readonly type: "role"; readonly read: Read<Role> }
  | { readonly type: "token" };

/** Names that quantifiers have given, innermost first; they hide fields of the same name. */
export interface Scope {
  readonly name: string;
  readonly value: Value;
  readonly around: Scope | null;
}

const NO_ROLES: readonly Role[] = []; // tokens have none so far

const FIELDS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ["AccessorID", { type: "string", read: (scene) => scene.token.accessor }],
  ["Name", { type: "string", read: (scene) => scene.token.name }],
  ["Type", { type: "string", read: (scene) => scene.token.type }],
  [
    "Policies",
    {
      type: "list",
      of: "string",
      read: (scene) => scene.token.policies,
      isNil: (scene) => scene.token.type === "management", // as its record shows it
    },
  ],
  ["Roles", { type: "list", of: "role", read: () => NO_ROLES, isNil: () => true }],
  ["Global", { type: "bool", read: (scene) => scene.token.global }],
  ["KeptFrom", { type: "string", read: (scene) => scene.token.keptFrom ?? "" }],
  ["CreateIndex", { type: "uint64", read: (scene) => scene.token.createIndex }],
  ["ModifyIndex", { type: "uint64", read: (scene) => scene.token.modifyIndex }],
  ["ExpirationTTL", { type: "int64", read: (scene) => scene.token.ttl ?? 0n }],
  ["ExpirationTime", { type: "time", read: (scene) => scene.token.expires }],
  ["CreateTime", { type: "time", read: (scene) => scene.token.created }],
  ["Expired", { type: "bool", read: (scene) => isOver(scene.token.expires, scene.clock.now()) }],
]);

const WHOLE: Value = { type: "token" };

export function resolve(selector: Selector, scope: Scope | null): Value {
  const variable = found(selector[0], scope);
  const [from, value] = variable === null ? [0, WHOLE] : [1, variable];
  return selector.slice(from).reduce((at, part, index) => {
    return step(at, part, { selector, index: index + from });
  }, value);
}

function found(name: string | undefined, scope: Scope | null): Value | null {
  for (let at = scope; at !== null; at = at.around) if (at.name === name) return at.value;
  return null;
}

interface Place {
  readonly selector: Selector;
  readonly index: number;
}

function step(value: Value, part: string, place: Place): Value {
  if (value.type === "token") return FIELDS.get(part) ?? unknownField(part, place);
  if (value.type === "role") {
    const { read } = value;
    if (part === "ID") return { type: "string", read: (scene) => read(scene).id };
    if (part === "Name") return { type: "string", read: (scene) => read(scene).name };
    return unknownField(part, place);
  }
  const path = pointer(place.selector);
  if (value.type === "list") {
    if (/^(?:0|[1-9][0-9]{0,8})$/.test(part)) return elementAt(value, Number(part), place);
    const problem = `couldn't convert value: ${quoted(part)} is no place in a list`;
    throw notFound(`${path} at part ${place.index}: ${problem}`);
  }
  throw notFound(`${path}: at part ${place.index}, invalid value kind: ${value.type}`);
}

function unknownField(part: string, { selector, index }: Place): never {
  const problem = `couldn't find key: struct field with name ${quoted(part)}`;
  throw notFound(`${pointer(selector)} at part ${index}: ${problem}`);
}

function elementAt({ of, read }: ListValue, position: number, place: Place): Value {
  return elementValue(of, (scene) => {
    const elements = read(scene);
    const element = elements[position];
    if (element !== undefined) return element;
    const problem = `index ${position} is out of range (length = ${elements.length})`;
    throw notFound(`${pointer(place.selector)} at part ${place.index}: ${problem}`);
  });
}

/** An element of a list, as a value of its type. */
export function elementValue(of: ListValue["of"], read: Read<Element>): Value {
  if (of === "string") {
    return {
      type: "string",
      read: (scene) => {
        const element = read(scene);
        invariant(typeof element === "string", "a list of strings holds strings");
        return element;
      },
    };
  }
  return {
    type: "role",
    read: (scene) => {
      const element = read(scene);
      invariant(typeof element !== "string", "a list of roles holds roles");
      return element;
    },
  };
}

/** A selector as refusals show it. */
export function pointer(selector: Selector): string {
  const parts = selector.map((part) => part.replaceAll("~", "~0").replaceAll("/", "~1"));
  return quoteShort(`/${parts.join("/")}`);
}
