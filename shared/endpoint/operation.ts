// Verbs of the wire and the operations they mean. Internal kinds of work (revoke, renew, roll back)
// have no verb: a request cannot name them (T-A18).

import { parseBoolean } from "../text/boolean.ts";
import type { Query } from "../text/query.ts";
import type { Capability } from "./access.ts";
import type { Method } from "./endpoint.ts";
import type { Operation } from "./request.ts";
import * as failures from "./failures.ts";

export interface Meant {
  readonly operation: Operation;
  /** Null for a verb that nothing answers. */
  readonly method: Method | null;
  readonly headOnly: boolean;
  /** A list that goes on in the folders it finds: a right of its own. Default false. */
  readonly scans?: boolean;
}

const VERBS: ReadonlyMap<string, Meant> = new Map<string, Meant>([
  ["GET", { operation: "read", method: "GET", headOnly: false }],
  ["HEAD", { operation: "read", method: "GET", headOnly: true }],
  ["LIST", { operation: "list", method: "LIST", headOnly: false }],
  ["POST", { operation: "update", method: "POST", headOnly: false }],
  ["PUT", { operation: "update", method: "POST", headOnly: false }],
  ["PATCH", { operation: "patch", method: "PATCH", headOnly: false }],
  ["DELETE", { operation: "delete", method: "DELETE", headOnly: false }],
]);
const LIST: Meant = { operation: "list", method: "LIST", headOnly: false };
const SCAN: Meant = { ...LIST, scans: true };
const HELP: Meant = { operation: "help", method: "GET", headOnly: false };

/** Parameters of the query that say what a GET means. */
export const MEANING: ReadonlySet<string> = new Set(["list", "scan", "help"]);

/** Whoever may look at a path learns which verbs it has. */
const OTHER: Meant = { operation: "read", method: null, headOnly: false };

export function meaningOf(verb: string, query: Query): Meant {
  if ((verb === "GET" || verb === "LIST") && query.size > 0 && isOn(query, "scan")) return SCAN;
  if (verb === "GET" && query.size > 0) {
    if (isOn(query, "list")) return LIST;
    if (isOn(query, "help")) return HELP;
  }
  return VERBS.get(verb) ?? OTHER;
}

export function methodOf(operation: Operation): Method {
  switch (operation) {
    case "update":
      return "POST";
    case "patch":
      return "PATCH";
    case "delete":
      return "DELETE";
    case "list":
      return "LIST";
    case "read":
    case "help":
      return "GET";
  }
}

/** What a request is sent with that needs the capability. */
export function methodFor(capability: Exclude<Capability, "sudo">): Method {
  switch (capability) {
    case "create":
      return "POST";
    case "scan":
      return "LIST";
    case "read":
    case "list":
    case "update":
    case "patch":
    case "delete":
      return methodOf(capability);
  }
}

export function capabilityFor(operation: Operation, absent: boolean): Exclude<Capability, "sudo"> {
  switch (operation) {
    case "help":
      return "read";
    case "update":
      return absent ? "create" : "update";
    case "read":
    case "list":
    case "patch":
    case "delete":
      return operation;
  }
}

function isOn(query: Query, name: string): boolean {
  const text = query.get(name);
  if (text === undefined || text === true) return text ?? false;
  const value = parseBoolean(text);
  if (value === undefined) throw failures.notASwitch(name);
  return value;
}
