// What holds for every command: flags first, then the environment, then defaults. Values are read when
// they are asked for, so that `version` works whatever the environment says.

import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import type { Fs, Nanos } from "@holdfast/shared/world";
import { Failure } from "@holdfast/shared/failure";
import type { Secret } from "@holdfast/shared/secret";
import {
  ClientEnvironment,
  DEFAULT_TIMEOUT,
  positive,
  settingFrom,
  type ClientSetting,
  type Environment,
  type Setting,
} from "@holdfast/client/node/environment";
import {
  DEFAULT_ADDRESS,
  parseServerAddress,
  type ServerAddress,
} from "@holdfast/client/server-address";
import { addressesOf, mayBeSent } from "@holdfast/client/node/token-address";
import { readTokenFile, tokenFilePath } from "@holdfast/client/node/token-file";
import type { TlsChoice } from "@holdfast/client/node/node-transport";
import { showDuration } from "@holdfast/shared/text/duration";
import { flag, type FlagValues } from "./line/flag.ts";
import { UsageError } from "./line/usage-error.ts";
import type { UserFiles } from "./line/user-file.ts";
import type { Chosen } from "./terminal/same-server.ts";

const FORMATS = ["table", "json", "yaml"] as const;
export type Format = (typeof FORMATS)[number];

const MAX_PEM = 2 ** 20;
const MAX_AUTHORITIES = 1000;

export const GLOBAL_FLAGS = {
  address: flag.string(`Address of the server (${DEFAULT_ADDRESS})`, "URL"),
  namespace: flag.string("Namespace of the request", "PATH", "namespaces"),
  format: flag.oneOf(FORMATS, "How data is printed (table)"),
  json: flag.switch("The same as -format json"),
  field: flag.string("Print this member of the answer alone; a.b goes deeper", "NAME"),
  caCert: flag.file("Authorities to trust, PEM"),
  caPath: flag.string("Directory of files with authorities to trust", "DIRECTORY"),
  clientCert: flag.file("Client certificate, PEM"),
  clientKey: flag.file("Its key, PEM"),
  tlsServerName: flag.string("Name to expect in the server's certificate", "NAME"),
  tlsSkipVerify: flag.switch("Do not check the server's certificate"),
  region: flag.string("Region, for commands on tokens and paths in acl/", "NAME"),
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
  readonly #environment: ClientEnvironment;
  readonly #flags: FlagValues<typeof GLOBAL_FLAGS>;

  constructor(flags: FlagValues<typeof GLOBAL_FLAGS>, env: Environment) {
    this.#flags = flags;
    this.env = env;
    this.#environment = new ClientEnvironment(env);
  }

  get format(): Format {
    const { format, json } = this.#flags;
    if (format !== undefined) return format;
    if (json) return "json";
    const setting = this.#environment.text("FORMAT");
    if (setting === null) return "table";
    const known = FORMATS.find((one) => one === setting.value);
    if (known === undefined) throw new UsageError(`${setting.from} must be ${FORMATS.join(", ")}`);
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
    const refused = settingFrom(this.env, "NO_COLOR") !== null || this.env["TERM"] === "dumb";
    return isTerminal && !refused;
  }

  get address(): Setting<ServerAddress> {
    const setting = this.#flag("address", "address") ?? this.#environment.address;
    return { value: parseServerAddress(setting.value), from: setting.from };
  }

  /** Where this command goes by its flags, so that the next one that is named goes there too. */
  get chosen(): Chosen {
    const region = this.regionFlag;
    if (this.#flags.address === undefined) return { address: null, region };
    try {
      return { address: this.address.value.display, region };
    } catch (error) {
      if (error instanceof Failure) return { address: null, region }; // that it is none is what is being told
      throw error;
    }
  }

  /** The command that logs in at this very address. */
  get login(): string {
    const { value, from } = this.address;
    return from === "-address" ? `holdfast login -address ${value.display}` : "holdfast login";
  }

  /** The path in the server's address, in front of /v1; null without one. */
  get base(): Setting<string> | null {
    const { value, from } = this.address;
    return value.base === "" ? null : { value: value.base, from };
  }

  get namespace(): string {
    return this.namespaceSetting?.value ?? "";
  }

  /** Null for the root namespace, which may be given as "/" or "root" (no other may be called so). */
  get namespaceSetting(): Setting<string> | null {
    const fromFlag = this.#flags.namespace;
    const setting =
      fromFlag === undefined
        ? this.#environment.namespace
        : { value: fromFlag, from: "-namespace" };
    return setting === null || /^(?:\/*|\/?root\/?)$/i.test(setting.value) ? null : setting;
  }

  /** Where it was chosen for this very command; what the environment says is for those that have one. */
  get regionFlag(): string | null {
    return this.#flags.region ?? null;
  }

  get region(): string {
    return this.#flags.region ?? this.#environment.text("REGION")?.value ?? "";
  }

  get policyOverride(): boolean {
    return this.#flags.policyOverride;
  }

  get timeout(): Nanos {
    const fromFlag = this.#flags.timeout;
    return fromFlag === undefined ? this.#environment.timeout : positive(fromFlag, "-timeout");
  }

  get tokenFile(): string {
    return tokenFilePath(this.env);
  }

  /** Null when there is none anywhere, or none that is for this server. */
  token(fs: Fs): Setting<Secret<string>> | null {
    const setting = this.#environment.token;
    if (setting !== null) return setting;
    const value = readTokenFile(fs, this.tokenFile);
    if (value === null || this.#withheld(fs, value) !== null) return null;
    return { value, from: this.tokenFile };
  }

  /** Why the token in the file is not sent to this server; null where it is. */
  #withheld(fs: Fs, token: Secret<string>): string | null {
    const { value: address, from } = this.address;
    const known = addressesOf(fs, this.tokenFile, token);
    if (mayBeSent(known, address, from)) return null;
    const next = `\`${this.login}\` gets one for it, or takes the same one for both`;
    if (known === null) {
      return (
        `the token in ${this.tokenFile} is not sent to ${address.display} (from ${from}): it is not ` +
        `known to be for that server; ${next}`
      );
    }
    const whose = known.join(", ");
    return (
      `the token in ${this.tokenFile} is for ${whose} and is not sent to ${address.display} ` +
      `(from ${from}); ${next}`
    );
  }

  /** The variable that a token comes from, which goes before the file; null where none is set. */
  get tokenVariable(): string | null {
    return this.#environment.token?.from ?? null;
  }

  /** An address that is there and not used. */
  unusedAddress(): readonly string[] {
    this.#environment.check();
    const address = this.#flags.address === undefined ? this.#environment.unused("ADDR") : null;
    return address === null ? [] : [address];
  }

  /** The same of tokens. */
  unusedToken(fs: Fs): readonly string[] {
    const token = this.#environment.unused("TOKEN");
    const kept = this.#environment.token === null ? readTokenFile(fs, this.tokenFile) : null;
    const withheld = kept === null ? null : this.#withheld(fs, kept);
    return [token, withheld].filter((one) => one !== null);
  }

  tls(files: UserFiles): TlsChoice {
    const pem = (path: string | null) => (path === null ? null : files.text(path, MAX_PEM));
    const certificate = this.#text("clientCert", "CLIENT_CERT");
    const key = this.#text("clientKey", "CLIENT_KEY");
    if ((certificate === null) !== (key === null)) {
      throw new UsageError("a client certificate and its key are given together, or neither");
    }
    return {
      ca: this.#authorities(files),
      certificate: pem(certificate),
      key: pem(key),
      serverName: this.#text("tlsServerName", "TLS_SERVER_NAME"),
      skipVerify: this.#flags.tlsSkipVerify || this.#environment.skipVerify,
    };
  }

  /** A file goes before a text, and that before a directory; flags before all of them. */
  #authorities(files: UserFiles): string | null {
    const { caCert, caPath } = this.#flags;
    const caChosen = caCert !== undefined || caPath !== undefined;
    const set = caChosen ? null : this.#environment.text("CACERT");
    const file = caCert === undefined ? set : { value: caCert, from: "-ca-cert" };
    if (file !== null) return certificatesIn(textOf(file, files), file.value);
    const bytes = caChosen ? null : this.#environment.text("CACERT_BYTES");
    if (bytes !== null) return certificatesIn(bytes.value, bytes.from);
    const directory = caPath ?? this.#environment.text("CAPATH")?.value;
    if (directory === undefined) return null;
    const all = files.names(directory, MAX_AUTHORITIES).map((name) => {
      const path = join(directory, name);
      return certificatesIn(files.text(path, MAX_PEM), path);
    });
    if (all.length === 0) throw new UsageError(`${directory} holds no files with certificates`);
    return all.join("\n");
  }

  #text(key: TextFlag, name: Exclude<ClientSetting, "ADDR" | "TOKEN">): string | null {
    return this.#flags[key] ?? this.#environment.text(name)?.value ?? null;
  }

  #flag(key: "address", name: string): Setting<string> | null {
    const value = this.#flags[key];
    return value === undefined ? null : { value, from: `-${name}` };
  }
}

/** Refused by the name of the setting: a variable is set far from where it is missed. */
function textOf({ value, from }: Setting<string>, files: UserFiles): string {
  try {
    return files.text(value, MAX_PEM);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new UsageError(`${from}: ${error.message}`, PEM_WANTED);
  }
}

type TextFlag = "clientCert" | "clientKey" | "tlsServerName";

/** Node takes what holds no certificate as if nothing were given, and then trusts nobody. */
function certificatesIn(pem: string, from: string): string {
  const blocks = pem.match(CERTIFICATE) ?? [];
  if (blocks.length === 0) throw new UsageError(`${from} holds no certificate`, PEM_WANTED);
  for (const [i, block] of blocks.entries()) {
    try {
      void new X509Certificate(block);
    } catch {
      throw new UsageError(`certificate ${i + 1} in ${from} cannot be read`, PEM_WANTED);
    }
  }
  return pem;
}

const CERTIFICATE =
  /-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----[^-]*-----END \1?CERTIFICATE-----/g;
const PEM_WANTED = "name a PEM file with the authority's certificate (BEGIN CERTIFICATE)";
