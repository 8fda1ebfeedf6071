// What a kv mount of the small server holds: versions, metadata, deletion, and what goes over several
// secrets, page by page. Rights are not looked at.

import type { Answered, Seen } from "./fake-server.ts";

type Data = Record<string, unknown>;

interface Version {
  data: Data;
  readonly created_time: string;
  deletion_time: string;
  destroyed: boolean;
}

interface Secret {
  versions: Version[];
  settings: Data;
}

const refuse = (status: number, ...errors: string[]): Answered => ({ status, body: { errors } });
const nothing: Answered = { status: 204 };
const THEN = "2026-01-01T00:00:00Z";

export class FakeKv {
  readonly secrets = new Map<string, Secret>();
  /** How many secrets an answer over several of them has. */
  page = 1000;
  readonly #enveloped: (data: Data) => Answered;

  constructor(enveloped: (data: Data) => Answered) {
    this.#enveloped = enveloped;
  }

  answer(seen: Seen, version: 1 | 2): Answered {
    return version === 1 ? this.#plain(seen) : this.#versioned(seen);
  }

  #plain({ method, path, body }: Seen): Answered {
    const found = this.secrets.get(path);
    if (method === "POST") this.secrets.set(path, { versions: [fresh(body)], settings: {} });
    else if (method === "DELETE") this.secrets.delete(path);
    else if (method === "LIST") return this.#list(path, false);
    else if (found !== undefined) return this.#enveloped(found.versions[0]!.data);
    else return refuse(404);
    return nothing;
  }

  #versioned(seen: Seen): Answered {
    const { method, path, body, query } = seen;
    const [, area = "", key = ""] = /^([a-z-]+)(?:\/(.*))?$/.exec(path) ?? [];
    switch (`${method} ${area}`) {
      case "GET data":
        return this.#read(key, Number(query.get("version") ?? 0));
      case "POST data":
        return this.#write(key, body["data"] as Data, body["options"] as Data | undefined);
      case "PATCH data": {
        const before = this.secrets.get(key)?.versions.at(-1);
        if (before === undefined || before.deletion_time !== "") return refuse(404);
        const merged = Object.entries({ ...before.data, ...(body["data"] as Data) });
        const data = Object.fromEntries(merged.filter(([, value]) => value !== null));
        return this.#write(key, data, body["options"] as Data | undefined);
      }
      case "DELETE data":
        return this.#mark(key, null, (version) => (version.deletion_time = THEN));
      case "POST delete":
        return this.#mark(key, body["versions"], (version) => (version.deletion_time = THEN));
      case "POST undelete":
        return this.#mark(key, body["versions"], (version) => (version.deletion_time = ""));
      case "POST destroy":
        return this.#mark(key, body["versions"], (version) => {
          version.destroyed = true;
          version.data = {};
        });
      case "LIST metadata":
        return query.has("scan") ? this.#scan(key, query) : this.#list(key, false);
      case "LIST detailed-metadata":
        return this.#list(key, true);
      case "LIST recycle":
        return this.#recycle(query);
      case "GET search":
        return this.#search(query);
      case "POST bulk-delete":
        return this.#deleteAll(body["paths"] as string[]);
      case "POST move":
      case "POST copy":
        return this.#relocate(body, area === "move");
    }
    if (area !== "metadata") return refuse(404, "unsupported path");
    return this.#metadata(method, key, body);
  }

  #read(key: string, number: number): Answered {
    const secret = this.secrets.get(key);
    const at = number === 0 ? (secret?.versions.length ?? 0) : number;
    const found = secret?.versions[at - 1];
    if (secret === undefined || found === undefined) return refuse(404);
    const metadata = this.#describe(secret, at);
    const gone = found.destroyed || found.deletion_time !== "";
    const answer = this.#enveloped({ data: gone ? null : found.data, metadata });
    return gone ? { ...answer, status: 404 } : answer;
  }

  #write(key: string, data: Data, options: Data = {}): Answered {
    const secret = this.secrets.get(key) ?? { versions: [], settings: {} };
    const current = secret.versions.length;
    if (options["cas"] !== undefined && options["cas"] !== current) {
      return refuse(
        400,
        `check-and-set parameter did not match the current version: cas is ${Number(options["cas"])}, ` +
          `the current version is ${current}`,
      );
    }
    secret.versions.push(fresh(data));
    this.secrets.set(key, secret);
    return this.#enveloped(this.#describe(secret, current + 1));
  }

  #describe({ versions, settings }: Secret, at: number): Data {
    const { created_time, deletion_time, destroyed } = versions[at - 1]!;
    const custom_metadata = settings["custom_metadata"] ?? null;
    return { version: at, created_time, deletion_time, destroyed, custom_metadata };
  }

  #mark(key: string, numbers: unknown, change: (version: Version) => void): Answered {
    const versions = this.secrets.get(key)?.versions ?? [];
    const which = Array.isArray(numbers) ? numbers.map(Number) : [versions.length];
    for (const number of which)
      if (versions[number - 1] !== undefined) change(versions[number - 1]!);
    return nothing;
  }

  #metadata(method: string, key: string, body: Data): Answered {
    const secret = this.secrets.get(key);
    if (method === "DELETE") {
      this.secrets.delete(key);
      return nothing;
    }
    if (method === "POST" || method === "PATCH") {
      if (method === "PATCH" && secret === undefined) return refuse(404);
      const kept = secret ?? { versions: [], settings: {} };
      const { custom_metadata, ...settings } = body;
      const before = method === "PATCH" ? (kept.settings["custom_metadata"] as Data) : {};
      const notes = Object.entries({ ...before, ...(custom_metadata as Data | undefined) });
      kept.settings = {
        ...kept.settings,
        ...settings,
        ...(custom_metadata === undefined
          ? {}
          : { custom_metadata: Object.fromEntries(notes.filter(([, value]) => value !== null)) }),
      };
      this.secrets.set(key, kept);
      return nothing;
    }
    return secret === undefined ? refuse(404) : this.#enveloped(record(secret));
  }

  #list(folder: string, detailed: boolean): Answered {
    const prefix = folder === "" ? "" : `${folder}/`;
    const below = [...this.secrets.keys()].filter((key) => key.startsWith(prefix)).toSorted();
    const parts = below.map((key) => key.slice(prefix.length).replace(/\/.*/, "/"));
    const keys = [...new Set(parts)];
    if (keys.length === 0) return refuse(404);
    const info = keys.flatMap((key) => {
      const secret = this.secrets.get(prefix + key);
      return secret === undefined ? [] : [[key, record(secret)]];
    });
    return this.#enveloped(detailed ? { keys, key_info: Object.fromEntries(info) } : { keys });
  }

  #scan(folder: string, query: URLSearchParams): Answered {
    const prefix = folder === "" ? "" : `${folder}/`;
    const below = [...this.secrets.keys()].filter((key) => key.startsWith(prefix));
    const { found, next } = this.#pageOf(below, query, prefix);
    if (found.length === 0) return refuse(404);
    const keys = found.map((key) => key.slice(prefix.length));
    return this.#withMore({ keys }, next?.slice(prefix.length) ?? null);
  }

  #recycle(query: URLSearchParams): Answered {
    const deleted = [...this.secrets].filter(([, { versions }]) => {
      return versions.at(-1)?.deletion_time !== "" && versions.at(-1)?.destroyed === false;
    });
    const { found: keys, next } = this.#pageOf(
      deleted.map(([key]) => key),
      query,
    );
    if (keys.length === 0) return refuse(404);
    const info = keys.map((key) => {
      const version = this.secrets.get(key)!.versions.length;
      return [key, { version, deletion_time: THEN, shown_until: "2099-01-08T00:00:00Z" }];
    });
    return this.#withMore({ keys, key_info: Object.fromEntries(info) }, next);
  }

  #search(query: URLSearchParams): Answered {
    const words = query.get("q") ?? "";
    const under = query.get("under") ?? "";
    const prefix = under === "" ? "" : `${under}/`;
    const found = [...this.secrets].filter(([key, { settings }]) => {
      const notes = JSON.stringify(settings["custom_metadata"] ?? {});
      return key.startsWith(prefix) && (key.includes(words) || notes.includes(words));
    });
    const page = this.#pageOf(
      found.map(([key]) => key),
      query,
    );
    return this.#enveloped({
      keys: page.found,
      ...(page.next === null ? {} : { next: page.next }),
    });
  }

  #relocate({ from, to, recursive, after }: Data, moves: boolean): Answered {
    const one = (source: string, target: string) => {
      const secret = this.secrets.get(source)!;
      this.secrets.set(target, structuredClone(secret));
      if (moves) this.secrets.delete(source);
    };
    if (recursive !== true) {
      if (!this.secrets.has(String(from))) return refuse(404);
      if (this.secrets.has(String(to))) {
        return refuse(400, "there is a secret at the target; give its current version as cas");
      }
      one(String(from), String(to));
      return this.#enveloped({ [moves ? "moved" : "copied"]: 1, taken: 0, refused: 0 });
    }
    const below = [...this.secrets.keys()].filter((key) => key.startsWith(`${String(from)}/`));
    const query = new URLSearchParams(typeof after === "string" ? { after } : {});
    const { found, next } = this.#pageOf(below, query);
    for (const key of found) one(key, String(to) + key.slice(String(from).length));
    const done = { [moves ? "moved" : "copied"]: found.length, taken: 0, refused: 0 };
    return this.#enveloped({ ...done, ...(next === null ? {} : { next }) });
  }

  #deleteAll(paths: readonly string[]): Answered {
    const there = paths.filter(
      (path) => this.secrets.get(path)?.versions.at(-1)?.deletion_time === "",
    );
    for (const path of there) this.#mark(path, null, (version) => (version.deletion_time = THEN));
    return this.#enveloped({ deleted: there.length, absent: paths.length - there.length });
  }

  #withMore(data: Data, next: string | null): Answered {
    const answer = this.#enveloped(data);
    const warnings = [`there are more; go on with after=${next}`];
    return next === null ? answer : { ...answer, body: { ...(answer.body as Data), warnings } };
  }

  #pageOf(keys: readonly string[], query: URLSearchParams, prefix = "") {
    const after = query.has("after") ? prefix + query.get("after")! : "";
    const limit = Math.min(this.page, Number(query.get("limit") ?? this.page));
    const rest = keys.toSorted().filter((key) => key > after);
    const found = rest.slice(0, limit);
    return { found, next: rest.length > limit ? found.at(-1)! : null };
  }
}

function fresh(data: Data): Version {
  return { data, created_time: THEN, deletion_time: "", destroyed: false };
}

function record({ versions, settings }: Secret): Data {
  return {
    current_version: versions.length,
    oldest_version: versions.length === 0 ? 0 : 1,
    max_versions: 0,
    cas_required: false,
    delete_version_after: "0s",
    created_time: THEN,
    updated_time: THEN,
    custom_metadata: null,
    ...settings,
    versions: Object.fromEntries(
      versions.map(({ created_time, deletion_time, destroyed }, at) => [
        at + 1,
        { created_time, deletion_time, destroyed },
      ]),
    ),
  };
}
