// Mounts of the small server: their table, tuning, moves, and disabling that takes as long as a test
// wants, with leases that get fewer. What a kv mount holds is kv-fake.ts's.

import { parseDuration, SECOND } from "@holdfast/shared/text/duration";
import { FakeKv } from "./kv-fake.ts";
import type { Answered, Seen } from "./fake-server.ts";

type Data = Record<string, unknown>;

const refuse = (status: number, ...errors: string[]): Answered => ({ status, body: { errors } });
const nothing: Answered = { status: 204 };

interface FakeMount {
  record: Data;
  readonly kv: FakeKv;
}

const PLACES: Readonly<Record<string, string>> = { "sys/mounts": "", "sys/auth": "auth/" };

export class FakeMounts {
  readonly mounts = new Map<string, FakeMount>(); // by whole path: "secret/", "auth/userpass/"
  /** Answers to DELETE of a mount, in order; when there are none left it is done at once. */
  readonly disabling: (() => Answered | Promise<Answered>)[] = [];
  readonly #moves = new Map<string, Data>();
  readonly #enveloped: (data: Data) => Answered;
  #made = 0;

  constructor(enveloped: (data: Data) => Answered) {
    this.#enveloped = enveloped;
    this.add("cubbyhole/", { type: "cubbyhole", description: "private space of each token" });
    this.add("sys/", { type: "system", description: "the server itself" });
    this.add("auth/token/", { type: "token", description: "tokens" });
  }

  add(path: string, record: Data): FakeMount {
    const digits = (++this.#made).toString(16).padStart(8, "0");
    const auth = path.startsWith("auth/") ? "auth_" : "";
    const mount = {
      record: {
        description: "",
        local: false,
        options: null,
        ...record,
        accessor: `${auth}${String(record["type"])}_${digits}`,
        uuid: `33333333-2222-4333-8444-${digits.padStart(12, "0")}`,
        config: {
          default_lease_ttl: 0,
          max_lease_ttl: 0,
          ...(record["config"] as Data | undefined),
        },
        running_plugin_version: "v1.0.0+builtin",
      },
      kv: new FakeKv(this.#enveloped),
    };
    this.mounts.set(path, mount);
    return mount;
  }

  /** Null for paths that are not its own. */
  answer(seen: Seen): Answered | Promise<Answered> | null {
    const { method, path } = seen;
    if (path in PLACES && method === "GET") return this.#list(PLACES[path]!);
    const [, place = "", name = "", tune] =
      /^(sys\/mounts|sys\/auth)\/(.+?)(\/tune)?$/.exec(path) ?? [];
    if (place !== "") {
      const at = `${PLACES[place]}${name}/`;
      return tune === undefined ? this.#record(seen, at) : this.#tune(seen, at);
    }
    const [, wanted] = /^sys\/internal\/ui\/mounts\/(.+)$/.exec(path) ?? [];
    if (wanted !== undefined) return this.#serving(wanted);
    if (path === "sys/remount") return this.#move(seen.body);
    const [, id] = /^sys\/remount\/status\/(.+)$/.exec(path) ?? [];
    const move = id === undefined ? undefined : this.#moves.get(id);
    if (move !== undefined) return this.#enveloped({ migration_id: id, migration_info: move });
    const at = this.#find(path);
    const mount = at === null ? undefined : this.mounts.get(at);
    if (mount?.record["type"] !== "kv") return null;
    const version = (mount.record["options"] as Data)["version"] === "1" ? 1 : 2;
    return mount.kv.answer({ ...seen, path: path.slice(at!.length) }, version);
  }

  #list(prefix: string): Answered {
    const found = [...this.mounts].filter(([path]) => path.startsWith("auth/") === (prefix !== ""));
    const visible = found.map(([path, { record }]) => [path.slice(prefix.length), record]);
    return this.#enveloped(Object.fromEntries(visible));
  }

  #record({ method, body, query }: Seen, at: string): Answered | Promise<Answered> {
    const found = this.mounts.get(at);
    if (method === "POST") return this.#enable(at, body);
    if (method === "GET") {
      if (found !== undefined) return this.#enveloped(found.record);
      return refuse(400, `no secret engine is mounted at ${at}`);
    }
    if (found?.record["type"] === "cloud" && !query.has("abandon")) {
      return refuse(400, "disabling would leave behind 2 roles; ?abandon=true leaves it there");
    }
    const slow = this.disabling.shift();
    if (slow !== undefined) return slow();
    this.mounts.delete(at);
    return nothing;
  }

  #enable(at: string, body: Data): Answered {
    const taken = [...this.mounts.keys()].find((one) => at.startsWith(one) || one.startsWith(at));
    if (taken !== undefined)
      return refuse(409, `path is already in use: ${at} meets the mount ${taken}`);
    if (!["kv", "userpass", "approle"].includes(String(body["type"]))) {
      const type = String(body["type"]);
      return refuse(400, `plugin not found in the catalog: ${type}; built in are clouda, kv`);
    }
    const options = body["type"] === "kv" ? { version: "2", ...(body["options"] as Data) } : null;
    this.add(at, { ...body, options });
    return nothing;
  }

  #tune({ method, body }: Seen, at: string): Answered {
    const found = this.mounts.get(at);
    if (found === undefined) return refuse(400, `no secret engine is mounted at ${at}`);
    if (method === "GET") return this.#enveloped({ ...(found.record["config"] as Data) });
    const { description, ...config } = body;
    found.record = {
      ...found.record,
      ...(description === undefined ? {} : { description }),
      config: { ...(found.record["config"] as Data), ...secondsIn(config) },
    };
    return nothing;
  }

  #serving(path: string): Answered {
    const at = this.#find(path);
    if (at === null) return refuse(404);
    return this.#enveloped({ ...this.mounts.get(at)!.record, path: at });
  }

  #move({ from, to }: Data): Answered {
    const found = this.mounts.get(`${String(from)}/`);
    if (found === undefined) return refuse(400, `no secret engine is mounted at ${String(from)}/`);
    if (this.mounts.has(`${String(to)}/`)) return refuse(400, "path is already in use");
    this.mounts.delete(`${String(from)}/`);
    this.mounts.set(`${String(to)}/`, found);
    const id = "44444444-2222-4333-8444-555555555555";
    const places = { source_mount: `${String(from)}/`, target_mount: `${String(to)}/` };
    this.#moves.set(id, { ...places, status: "success" });
    return this.#enveloped({ migration_id: id });
  }

  #find(path: string): string | null {
    return [...this.mounts.keys()].find((one) => `${path}/`.startsWith(one)) ?? null;
  }
}

function secondsIn(config: Data): Data {
  const kept = Object.entries(config).map(([name, value]) => {
    return [name, name.endsWith("_ttl") ? Number(parseDuration(value) / SECOND) : value];
  });
  return Object.fromEntries(kept);
}
