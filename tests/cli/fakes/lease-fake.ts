// Leases, wrapping and logins of the small server, as far as the command line asks for them.

import type { Answered, Seen } from "./fake-server.ts";

type Data = Record<string, unknown>;

const refuse = (status: number, ...errors: string[]): Answered => ({ status, body: { errors } });
const nothing: Answered = { status: 204 };

export class FakeLeases {
  readonly leases = new Map<string, Data>();
  readonly #enveloped: (data: Data) => Answered;

  constructor(enveloped: (data: Data) => Answered) {
    this.#enveloped = enveloped;
  }

  add(id: string, more: Data = {}): void {
    this.leases.set(id, {
      id,
      path: id.replace(/\/[^/]*$/, ""),
      issue_time: "2026-01-01T00:00:00Z",
      expire_time: "2099-01-01T00:00:00Z",
      last_renewal: null,
      renewable: true,
      ttl: 3600,
      namespace_path: "",
      revoke_error: "",
      ...more,
    });
  }

  answer({ method, path, body, query }: Seen): Answered | null {
    const id = String(body["lease_id"]);
    const found = this.leases.get(id);
    switch (`${method} ${path}`) {
      case "POST sys/leases/lookup":
        return found === undefined ? refuse(400, "invalid lease") : this.#enveloped(found);
      case "POST sys/leases/renew": {
        if (found === undefined) return refuse(400, "lease not found");
        if (found["renewable"] !== true) return refuse(400, "lease is not renewable");
        const answer = this.#enveloped({});
        const lease = { lease_id: id, lease_duration: 3600, renewable: true, data: null };
        return { ...answer, body: { ...(answer.body as Data), ...lease } };
      }
      case "POST sys/leases/revoke":
        this.leases.delete(id);
        return body["sync"] === true ? nothing : { status: 202 };
      case "GET sys/leases": {
        const stuck = [...this.leases.values()].filter((one) => one["revoke_error"] !== "");
        const leases = stuck.map((one) => {
          return { lease_id: one["id"], mount_id: one["path"], error: one["revoke_error"] };
        });
        if (query.get("type") !== "irrevocable") return refuse(400, "type must be irrevocable");
        return this.#enveloped({ lease_count: leases.length, leases });
      }
    }
    const [, what, prefix = ""] = /^sys\/leases\/([a-z-]+)(?:\/(.+))?$/.exec(path) ?? [];
    const below = [...this.leases.keys()].filter((one) => one.startsWith(prefix));
    if (method === "LIST" && what === "lookup") {
      const from = prefix === "" ? 0 : prefix.length + 1;
      const keys = [...new Set(below.map((one) => one.slice(from).replace(/\/.*/, "/")))];
      return keys.length === 0 ? refuse(404) : this.#enveloped({ keys: keys.toSorted() });
    }
    if (what !== "revoke-prefix" && what !== "revoke-force") return null;
    for (const one of below) this.leases.delete(one);
    return what === "revoke-force" || body["sync"] === true ? nothing : { status: 202 };
  }
}

const WRAPPED = "wrapping token is not valid or does not exist";

export class FakeWrapping {
  readonly #kept = new Map<string, { readonly answer: Answered; readonly facts: Data }>();
  #made = 0;

  /** The answer, or what stands for it. */
  wrapped(answer: Answered, { headers, path }: Seen): Answered {
    const wrapTtl = headers["x-service-wrap-ttl"];
    if (typeof wrapTtl !== "string" || answer.status !== 200) return answer;
    return this.#keep(answer, { creation_ttl: 300, creation_path: path });
  }

  answer({ method, path, body, headers }: Seen): Answered | null {
    const named = body["token"] ?? headers["x-service-token"];
    const token = typeof named === "string" ? named : "";
    const found = this.#kept.get(token);
    switch (`${method} ${path}`) {
      case "POST sys/wrapping/wrap":
        return { status: 200, body: enveloped(body) };
      case "POST sys/wrapping/lookup":
        if (found === undefined) return refuse(400, WRAPPED);
        return { status: 200, body: enveloped(found.facts) };
      case "POST sys/wrapping/unwrap":
        this.#kept.delete(token);
        return found === undefined ? refuse(400, WRAPPED) : found.answer;
      case "POST sys/wrapping/rewrap":
        this.#kept.delete(token);
        return found === undefined ? refuse(400, WRAPPED) : this.#keep(found.answer, found.facts);
      default:
        return null;
    }
  }

  #keep(answer: Answered, facts: Data): Answered {
    const digits = (++this.#made).toString().padStart(12, "0");
    const token = `55555555-2222-4333-8444-${digits}`;
    const creation_time = "2026-01-01T00:00:00Z";
    this.#kept.set(token, { answer, facts: { creation_time, ...facts } });
    const wrap_info = {
      token,
      accessor: `66666666-2222-4333-8444-${digits}`,
      ttl: 300,
      creation_time,
      creation_path: facts["creation_path"],
      wrapped_accessor: "",
    };
    return { status: 200, body: { ...enveloped(null), wrap_info } };
  }
}

function enveloped(data: Data | null): Data {
  return {
    request_id: "11111111-2222-4333-8444-555555555555",
    lease_id: "",
    renewable: false,
    lease_duration: 0,
    data,
    wrap_info: null,
    warnings: null,
    auth: null,
    mount_type: "system",
  };
}

/** Logs in one user and one role. */
export function fakeLogin({ method, path, body }: Seen): Answered | null {
  if (method !== "POST") return null;
  const user = path === "auth/userpass/login/anna" && body["password"] === "correct horse ";
  const role = path === "auth/ci/login" && body["role_id"] === "role-1";
  if (!/^auth\/(userpass|ci)\/login/.test(path)) return null;
  if (!user && !role) return refuse(400, "invalid username or password");
  const auth = {
    client_token: "77777777-2222-4333-8444-555555555555",
    accessor: "88888888-2222-4333-8444-555555555555",
    policies: ["default", "shop"],
    token_policies: ["default", "shop"],
    metadata: user ? { username: "anna" } : {},
    lease_duration: 3600,
    renewable: true,
    token_type: "service",
    entity_id: "",
    orphan: true,
    num_uses: 0,
  };
  return { status: 200, body: { ...enveloped(null), auth } };
}
