// Policies of the small server: kept in memory, with versions and check-and-set as the real one has them.
// ACL documents are read by the product's own parser, so that refusals have their texts.

import { Failure } from "@holdfast/shared/failure";
import { parseAclDocument } from "../../../src/acl/document.ts";
import type { Answered, Seen } from "./fake-server.ts";

type Data = Record<string, unknown>;

const refuse = (status: number, ...errors: string[]): Answered => ({ status, body: { errors } });
const nothing: Answered = { status: 204 };

export class FakePolicies {
  readonly #kinds = new Map<string, Map<string, Data>>([
    [
      "acl",
      new Map([["default", { policy: "# granted to all\n", version: 1, cas_required: false }]]),
    ],
    ["rgp", new Map()],
    ["egp", new Map()],
  ]);
  readonly #enveloped: (data: Data) => Answered;

  constructor(enveloped: (data: Data) => Answered) {
    this.#enveloped = enveloped;
  }

  /** Null for paths that are not its own. */
  answer({ method, path, body, query }: Seen): Answered | null {
    const [, detailed, kind = "", name = ""] =
      /^sys\/policies\/(detailed\/)?(acl|rgp|egp)(?:\/(.+))?$/.exec(path) ?? [];
    const all = this.#kinds.get(kind);
    if (all === undefined) return null;
    if (method === "LIST") return this.#list(all, kind, name, detailed !== undefined);
    if (name === "root" && method !== "GET") return refuse(400, 'cannot update "root" policy');
    if (method === "GET") return this.#read(all, name);
    if (method === "DELETE") {
      if (name === "default") return refuse(400, "cannot delete default policy");
      all.delete(name);
      return nothing;
    }
    return this.#write(all, kind, name, body, {
      part: method === "PATCH",
      dry: query.has("dry_run"),
    });
  }

  #list(all: Map<string, Data>, kind: string, prefix: string, detailed: boolean): Answered {
    const names = [...all.keys()].toSorted();
    const below = names.filter((name) => name.startsWith(prefix === "" ? "" : `${prefix}/`));
    // The names themselves; below a prefix what follows it, up to the next slash.
    const visible =
      prefix === "" ? below : below.map((name) => firstPart(name.slice(prefix.length + 1)));
    const keys = [...new Set(visible), ...(kind === "acl" && prefix === "" ? ["root"] : [])];
    if (keys.length === 0) return refuse(404);
    if (detailed) {
      const info = keys.map((key) => [key, all.get(key)]);
      return this.#enveloped({ keys, key_info: Object.fromEntries(info) });
    }
    if (kind !== "egp" || prefix !== "") return this.#enveloped({ keys });
    const map = keys.map((key) => [key, guarded(all.get(key)?.["paths"])]);
    return this.#enveloped({ keys, name_path_map: Object.fromEntries(map) });
  }

  #read(all: Map<string, Data>, name: string): Answered {
    if (name === "root")
      return this.#enveloped({ name, policy: "", version: 1, cas_required: false });
    const found = all.get(name);
    return found === undefined ? refuse(404) : this.#enveloped({ name, ...found });
  }

  #write(
    all: Map<string, Data>,
    kind: string,
    name: string,
    body: Data,
    { part, dry }: { readonly part: boolean; readonly dry: boolean },
  ): Answered {
    const before = all.get(name);
    if (part && before === undefined) return refuse(404);
    const { cas, paths, ...fields } = body;
    if (cas !== undefined && cas !== (before?.["version"] ?? -1)) {
      return refuse(400, "check-and-set parameter did not match the current version");
    }
    const guards = Array.isArray(paths) ? { paths: paths.map(String) } : {};
    const after = { ...(part ? before : {}), ...fields, ...guards };
    const { policy, enforcement_level } = after as Data;
    if (typeof policy !== "string" || policy === "") {
      return refuse(400, "'policy' parameter not supplied or empty");
    }
    if (kind !== "acl" && enforcement_level === undefined) {
      return refuse(400, "'enforcement_level' parameter not supplied or empty");
    }
    try {
      if (kind === "acl") parseAclDocument(policy);
    } catch (error) {
      if (error instanceof Failure) return refuse(400, error.message);
      throw error;
    }
    const version = Number(before?.["version"] ?? 0) + 1;
    const record = { ...after, version, modified: "2026-01-01T00:00:00Z", cas_required: false };
    if (dry) return this.#enveloped({ name, ...record });
    all.set(name, record);
    return nothing;
  }
}

function firstPart(name: string): string {
  return name.replace(/\/.*/, "/");
}

function guarded(paths: unknown): Data[] {
  const texts = Array.isArray(paths) ? paths.map(String) : [];
  return texts.map((text) => ({ path: text.replace(/\*$/, ""), glob: text.endsWith("*") }));
}
