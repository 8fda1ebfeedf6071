// Verbs of the wire and the operations they mean. Internal kinds of work (revoke, renew, roll back)
// have no verb: a request cannot name them (T-A18).

import type { Capability } from "../endpoint/access.ts";
import type { Method } from "../endpoint/endpoint.ts";
import type { Operation } from "../endpoint/request.ts";

export interface Meant {
  readonly operation: Operation;
  readonly method: Method;
  readonly headOnly: boolean;
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
const HELP: Meant = { operation: "help", method: "GET", headOnly: false };

/** Null for a verb that means nothing here. */
export function meaningOf(verb: string, query: ReadonlyMap<string, string>): Meant | null {
  if (verb === "GET" && query.size > 0) {
    // A scan is a list that goes on in the folders it finds: who may list there may scan.
    if (isTrue(query.get("list")) || isTrue(query.get("scan"))) return LIST;
    if (isTrue(query.get("help"))) return HELP;
  }
  return VERBS.get(verb) ?? null;
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

function isTrue(value: string | undefined): boolean {
  return value === "true" || value === "1";
}
