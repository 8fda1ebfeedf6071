// Client settings out of the environment: our own names, and those of tools that speak the same API. Of
// those one client's settings are taken as a whole or not at all: its address with another's token, or its
// token without its namespace, would bring a secret to the wrong place. Each value keeps the name it came
// from, so that a surprise can be explained.

import { Failure } from "@holdfast/shared/failure";
import { readDuration, SECOND } from "@holdfast/shared/text/duration";
import { Secret } from "@holdfast/shared/secret";
import type { Nanos } from "@holdfast/shared/world";
import { DEFAULT_ADDRESS } from "../server-address.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Setting<T> {
  readonly value: T;
  /** Where it came from, for people: "HOLDFAST_ADDR", "-address", "the default". */
  readonly from: string;
}

export const DEFAULT_TIMEOUT: Nanos = 60n * SECOND;

const OWN = "HOLDFAST";

/** What a client's variables are called, after its name and "_". */
const NAMES = [
  "ADDR",
  "TOKEN",
  "NAMESPACE",
  "CACERT",
  "CACERT_BYTES",
  "CAPATH",
  "CLIENT_CERT",
  "CLIENT_KEY",
  "TLS_SERVER_NAME",
  "SKIP_VERIFY",
  "REGION",
  "CLIENT_TIMEOUT",
  "FORMAT",
] as const;
export type ClientSetting = (typeof NAMES)[number];

/** How a client prints says nothing about whom it talks to. */
const BESIDES: readonly ClientSetting[] = ["CLIENT_TIMEOUT", "FORMAT"];

interface OtherClient {
  readonly name: string;
  readonly lacks: readonly ClientSetting[];
  /** What changes where its requests go or what they bring back, and is not to be had here. */
  readonly refused: readonly (readonly [name: string, instead: string])[];
}

const AGENT = "set HOLDFAST_ADDR to the address that is meant";
const LIKE_VAULT: Pick<OtherClient, "lacks" | "refused"> = {
  lacks: ["REGION"],
  refused: [
    ["AGENT_ADDR", AGENT],
    ["PROXY_ADDR", AGENT],
    ["HTTP_PROXY", AGENT],
    ["SRV_LOOKUP", AGENT],
    ["WRAP_TTL", "give -wrap-ttl to the commands that are to wrap"],
    ["HEADERS", "unset it"],
  ],
};

const OTHERS: readonly OtherClient[] = [
  { name: "VAULT", ...LIKE_VAULT },
  { name: "BAO", ...LIKE_VAULT },
  {
    name: "NOMAD",
    lacks: ["CACERT_BYTES", "CLIENT_TIMEOUT", "FORMAT"],
    refused: [["HTTP_AUTH", "unset it: a proxy's password is not sent from here"]],
  },
];

const CLIENTS: readonly string[] = [OWN, ...OTHERS.map(({ name }) => name)];

export const ENVIRONMENT_HELP: readonly (readonly [name: string, help: string])[] = [
  ["HOLDFAST_ADDR", `Address of the server (${DEFAULT_ADDRESS})`],
  ["HOLDFAST_TOKEN", "Token; else the one in ~/.holdfast-token"],
  ["HOLDFAST_DR_OPERATION_TOKEN", "Operation token for `replication` on a secondary"],
  ["HOLDFAST_NAMESPACE", "Namespace"],
  ["HOLDFAST_CACERT", "File with the authorities to trust, PEM"],
  ["HOLDFAST_CAPATH", "Directory of such files"],
  ["HOLDFAST_CLIENT_CERT", "File with a client certificate, PEM"],
  ["HOLDFAST_CLIENT_KEY", "File with its key, PEM"],
  ["HOLDFAST_SKIP_VERIFY", "true: do not check the server's certificate"],
  ["HOLDFAST_TLS_SERVER_NAME", "Name to expect in the server's certificate"],
  ["HOLDFAST_FORMAT", "table, json or yaml"],
  ["HOLDFAST_REGION", "Region for requests on tokens"],
  ["HOLDFAST_CLIENT_TIMEOUT", "Longest wait for an answer (60s)"],
  [
    "VAULT_…, BAO_…, NOMAD_…",
    "Those of one of these, where neither HOLDFAST_ADDR nor _TOKEN is set",
  ],
  ["NO_COLOR", "Any value: no colours"],
];

/** One environment, read as that of the client whose settings it holds. */
export class ClientEnvironment {
  readonly #env: Environment;
  /** The client whose settings count beside our own. */
  readonly #client: string;

  constructor(env: Environment) {
    this.#env = env;
    const sets = (client: string, names: readonly ClientSetting[]) =>
      names.some((name) => this.#of(client, name) !== null);
    const connecting = NAMES.filter((name) => !BESIDES.includes(name));
    this.#client =
      CLIENTS.find((client) => sets(client, ["ADDR", "TOKEN"])) ??
      CLIENTS.find((client) => sets(client, connecting)) ??
      CLIENTS.find((client) => sets(client, BESIDES)) ??
      OWN;
  }

  get address(): Setting<string> {
    return this.#pair("ADDR") ?? { value: DEFAULT_ADDRESS, from: "the default" };
  }

  get token(): Setting<Secret<string>> | null {
    const setting = this.#pair("TOKEN");
    return setting === null
      ? null
      : { value: new Secret(setting.value.trim()), from: setting.from };
  }

  /** Null for the root namespace. Our own variable decides also when it is empty: that is root. */
  get namespace(): Setting<string> | null {
    if (this.#env[`${OWN}_NAMESPACE`] === "") return null;
    const setting = this.text("NAMESPACE");
    if (setting === null || setting.from !== "NOMAD_NAMESPACE") return setting;
    // There the first namespace has a name, and "*" asks for all of them.
    if (setting.value === "*") throw invalid(`${setting.from} must name one namespace`);
    return setting.value === "default" ? null : setting;
  }

  get skipVerify(): boolean {
    const setting = this.text("SKIP_VERIFY");
    return setting !== null && switchOf(setting);
  }

  get timeout(): Nanos {
    const setting = this.text("CLIENT_TIMEOUT");
    return setting === null ? DEFAULT_TIMEOUT : positive(setting.value, setting.from);
  }

  /** Our own, else that of the client whose settings count. */
  text(name: Exclude<ClientSetting, "ADDR" | "TOKEN">): Setting<string> | null {
    return this.#of(OWN, name) ?? this.#of(this.#client, name);
  }

  /** Refuses what would have to be ignored of a client whose other settings are taken. */
  check(): void {
    const { refused = [] } = OTHERS.find(({ name }) => name === this.#client) ?? {};
    for (const [name, instead] of refused) {
      const setting = settingFrom(this.#env, `${this.#client}_${name}`);
      if (setting === null) continue;
      throw invalid(
        `${setting.from} is set and cannot be honoured, while other settings of ${this.#client}_… ` +
          `would be; ${instead}, or use HOLDFAST_… alone`,
      );
    }
  }

  /** Why an address or a token that is there is not used; null where nothing is missing. */
  unused(name: "ADDR" | "TOKEN"): string | null {
    if (this.#pair(name) !== null) return null;
    const other = CLIENTS.map((client) => this.#of(client, name)).find(
      (setting) => setting !== null,
    );
    if (other === undefined) return null;
    const used = this.#pair(name === "ADDR" ? "TOKEN" : "ADDR");
    return (
      `${other.from} is not used beside ${used?.from ?? `${this.#client}_…`}: address and token are ` +
      `not taken from two clients; set ${this.#client}_${name}`
    );
  }

  /** Address and token: both from one client. */
  #pair(name: "ADDR" | "TOKEN"): Setting<string> | null {
    return this.#of(this.#client, name);
  }

  #of(client: string, name: ClientSetting): Setting<string> | null {
    const lacks = OTHERS.find((one) => one.name === client)?.lacks ?? [];
    return lacks.includes(name) ? null : settingFrom(this.#env, `${client}_${name}`);
  }
}

/** The first of these variables that is set and not empty. */
export function settingFrom(env: Environment, ...names: readonly string[]): Setting<string> | null {
  for (const name of names) {
    const value = env[name];
    if (value !== undefined && value !== "") return { value, from: name };
  }
  return null;
}

/** Strict: "HOLDFAST_SKIP_VERIFY=no" must never come to mean yes. */
export function switchOf({ value, from }: Setting<string>): boolean {
  if (/^(?:0|f|F|false|FALSE|False)$/.test(value)) return false;
  if (/^(?:1|t|T|true|TRUE|True)$/.test(value)) return true;
  throw invalid(`${from} must be true or false`);
}

export function positive(text: string, from: string): Nanos {
  const length = readDuration(text);
  if (length === undefined) throw invalid(`${from} must be a duration such as 90s or 1h30m`);
  if (length > 0n) return length;
  throw invalid(`${from} must be longer than 0s`);
}

function invalid(message: string): Failure {
  return new Failure("invalid", "environment-invalid", message);
}
