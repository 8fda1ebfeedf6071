// What holds for every command: flags first, then the environment, then defaults. Values are read when
// they are asked for, so that `version` works whatever the environment says.

import type { Fs, Nanos } from "../base/world.ts";
import type { Secret } from "../base/secret.ts";
import {
  addressFrom,
  DEFAULT_TIMEOUT,
  positive,
  switchFrom,
  timeoutFrom,
  toldBy,
  tokenFrom,
  type Environment,
  type Told,
} from "../client/environment.ts";
import {
  DEFAULT_ADDRESS,
  parseServerAddress,
  type ServerAddress,
} from "../client/server-address.ts";
import { readTokenFile, tokenFilePath } from "../client/token-file.ts";
import type { TlsChoice } from "../client/transport.ts";
import { showDuration } from "../base/duration.ts";
import { flag, type FlagValues } from "./flag.ts";
import { UsageError } from "./usage-error.ts";
import type { UserFiles } from "./user-file.ts";

export const FORMATS = ["table", "json", "yaml"] as const;
export type Format = (typeof FORMATS)[number];

const MAX_PEM = 2 ** 20;

export const GLOBAL_FLAGS = {
  address: flag.string(`Address of the server (${DEFAULT_ADDRESS})`, "URL"),
  namespace: flag.string("Namespace of the request", "PATH"),
  format: flag.oneOf(FORMATS, "How data is printed (table)"),
  json: flag.switch("The same as -format json"),
  field: flag.string("Print this member of the answer alone; a.b goes deeper", "NAME"),
  caCert: flag.file("Authorities to trust, PEM"),
  clientCert: flag.file("Client certificate, PEM"),
  clientKey: flag.file("Its key, PEM"),
  tlsServerName: flag.string("Name to expect in the server's certificate", "NAME"),
  tlsSkipVerify: flag.switch("Do not check the server's certificate"),
  region: flag.string("Region for requests on tokens", "NAME"),
  policyOverride: flag.switch("Pass by soft-mandatory policies; it is audited"),
  timeout: flag.string(`Longest wait for an answer (${showDuration(DEFAULT_TIMEOUT)})`, "TIME"),
  nonInteractive: flag.switch("Never ask; fail instead"),
  noColor: flag.switch("No colours"),
  forceColor: flag.switch("Colours even when the output is no terminal"),
  debug: flag.switch("Tell each request on standard error, without secrets"),
  help: flag.switch("Help on the command"),
};

export class Settings {
  readonly env: Environment;
  readonly #flags: FlagValues<typeof GLOBAL_FLAGS>;

  constructor(flags: FlagValues<typeof GLOBAL_FLAGS>, env: Environment) {
    this.#flags = flags;
    this.env = env;
  }

  get format(): Format {
    const { format, json } = this.#flags;
    if (format !== undefined) return format;
    if (json) return "json";
    const told = toldBy(this.env, "HOLDFAST_FORMAT");
    const known = FORMATS.find((one) => one === (told?.value ?? "table"));
    if (known === undefined) throw new UsageError(`HOLDFAST_FORMAT must be ${FORMATS.join(", ")}`);
    return known;
  }

  get field(): string | null {
    return this.#flags.field ?? null;
  }

  get nonInteractive(): boolean {
    return this.#flags.nonInteractive;
  }

  get debug(): boolean {
    return this.#flags.debug;
  }

  /** Whether colours may be used on a stream that is, or is not, a terminal. */
  colours(isTerminal: boolean): boolean {
    if (this.#flags.noColor) return false;
    if (this.#flags.forceColor) return true;
    const refused = toldBy(this.env, "NO_COLOR") !== null || this.env["TERM"] === "dumb";
    return isTerminal && !refused;
  }

  get address(): Told<ServerAddress> {
    const told = this.#told("address", "address") ?? addressFrom(this.env);
    return { value: parseServerAddress(told.value), from: told.from };
  }

  get namespace(): string {
    return this.#text("namespace", "namespace", "HOLDFAST_NAMESPACE") ?? "";
  }

  get region(): string {
    return this.#text("region", "region", "HOLDFAST_REGION") ?? "";
  }

  get policyOverride(): boolean {
    return this.#flags.policyOverride;
  }

  get timeout(): Nanos {
    const given = this.#flags.timeout;
    return given === undefined ? timeoutFrom(this.env) : positive(given, "-timeout");
  }

  get tokenFile(): string {
    return tokenFilePath(this.env);
  }

  /** Null when there is none anywhere. */
  token(fs: Fs): Told<Secret<string>> | null {
    const told = tokenFrom(this.env);
    if (told !== null) return told;
    const value = readTokenFile(fs, this.tokenFile);
    return value === null ? null : { value, from: this.tokenFile };
  }

  tls(files: UserFiles): TlsChoice {
    const pem = (path: string | null) => (path === null ? null : files.text(path, MAX_PEM));
    const certificate = this.#text("clientCert", "client-cert", "HOLDFAST_CLIENT_CERT");
    const key = this.#text("clientKey", "client-key", "HOLDFAST_CLIENT_KEY");
    if ((certificate === null) !== (key === null)) {
      throw new UsageError("a client certificate and its key are given together, or neither");
    }
    return {
      ca: pem(this.#text("caCert", "ca-cert", "HOLDFAST_CACERT")),
      certificate: pem(certificate),
      key: pem(key),
      serverName: this.#text("tlsServerName", "tls-server-name", "HOLDFAST_TLS_SERVER_NAME"),
      skipVerify: this.#flags.tlsSkipVerify || switchFrom(this.env, "HOLDFAST_SKIP_VERIFY"),
    };
  }

  #text(key: TextFlag, name: string, variable: string): string | null {
    return (this.#told(key, name) ?? toldBy(this.env, variable))?.value ?? null;
  }

  #told(key: TextFlag, name: string): Told<string> | null {
    const value = this.#flags[key];
    return value === undefined ? null : { value, from: `-${name}` };
  }
}

type TextFlag =
  | "address"
  | "namespace"
  | "region"
  | "caCert"
  | "clientCert"
  | "clientKey"
  | "tlsServerName";
