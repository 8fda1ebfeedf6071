// What an entry is to people: a secret, a policy, a mount, a role, a namespace; tokens and leases are only counted. Names
// of namespaces and mounts stand in entries that come before what lies in them, so one pass in key order is enough.

import { text } from "@holdfast/shared/bytes";
import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import type { OpenedEntry } from "./opened-entries.ts";

export type NamedKind = "namespace" | "mount" | "policy" | "role" | "secret" | "configuration";
export type CountedKind = "tokens" | "leases" | "other";

export interface NamedEntry {
  readonly kind: NamedKind;
  /** Path of the namespace; empty for root. */
  readonly namespace: string;
  readonly name: string;
}

const ROLES = /^(?:roles?|users?|static-roles?)\/(.+)$/;
const SECRETS = /^(?:secrets|plain)\/(.+)$/;
const CONFIGURATION = /^config(?:\/.*)?$/;

/** Knows what it was shown before: give it every entry of an archive, in order. */
export class EntryNames {
  readonly #namespaces = new Map([["root", ""]]);
  readonly #mounts = new Map<string, string>();

  nameOf({ key, plaintext }: OpenedEntry): NamedEntry | CountedKind {
    const [, root = "", id = "", family = "", name = "", ...rest] = key.split("/");
    if (key.startsWith("shared/namespaces/tree/")) return this.#namespace(plaintext);
    if (key.startsWith("local/leases/records/")) return "leases";
    if (root !== "ns") return "other";
    const namespace = this.#namespaces.get(id) ?? id;
    switch (family) {
      case "tokens":
        return name === "by-accessor" ? "tokens" : "other";
      case "policies":
        return { kind: "policy", namespace, name: [name, ...rest].join("/") };
      case "mount-table": {
        const path = memberOf(plaintext, "path") ?? name;
        this.#mounts.set(name, path);
        return { kind: "mount", namespace, name: path };
      }
      case "mounts":
        return this.#inMount(namespace, this.#mounts.get(name) ?? `${name}/`, rest);
      default:
        return "other";
    }
  }

  #namespace(plaintext: Uint8Array): NamedEntry | CountedKind {
    const [id, path] = [memberOf(plaintext, "id"), memberOf(plaintext, "path")];
    if (id === null || path === null) return "other";
    this.#namespaces.set(id, path);
    return { kind: "namespace", namespace: "", name: path };
  }

  #inMount(namespace: string, mount: string, [place, ...rest]: string[]): NamedEntry | CountedKind {
    if (place !== "data") return "other"; // write-ahead records
    const key = rest.join("/");
    const [secret, role] = [SECRETS.exec(key)?.[1], ROLES.exec(key)?.[1]];
    if (secret !== undefined) return { kind: "secret", namespace, name: mount + secret };
    if (role !== undefined) return { kind: "role", namespace, name: mount + role };
    if (CONFIGURATION.test(key)) return { kind: "configuration", namespace, name: mount + key };
    return "other";
  }
}

function memberOf(plaintext: Uint8Array, name: string): string | null {
  try {
    const value = JSON.parse(text(plaintext)) as JsonValue;
    const member = isObject(value) ? value[name] : undefined;
    return typeof member === "string" ? member : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
