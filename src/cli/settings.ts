// What holds for every command: flags first, then the environment, then defaults. Values are read when
// they are asked for, so that `version` works whatever the environment says.

import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import type { Fs, Nanos } from "@holdfast/shared/world";
import type { Secret } from "@holdfast/shared/secret";
import {
  ClientEnvironment,
  DEFAULT_TIMEOUT,
  positive,
  toldBy,
  type ClientSetting,
  type Environment,
  type Told,
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
  readonly #told: ClientEnvironment;
  readonly #flags: FlagValues<typeof GLOBAL_FLAGS>;

  constructor(flags: FlagValues<typeof GLOBAL_FLAGS>, env: Environment) {
    this.#flags = flags;
    this.env = env;
    this.#told = new ClientEnvironment(env);
  }

  get format(): Format {
    const { format, json } = this.#flags;
    if (format !== undefined) return format;
    if (json) return "json";
    const told = this.#told.text("FORMAT");
    if (told === null) return "table";
    const known = FORMATS.find((one) => one === told.value);
    if (known === undefined) throw new UsageError(`${told.from} must be ${FORMATS.join(", ")}`);
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
    const told = this.#flag("address", "address") ?? this.#told.address;
    return { value: parseServerAddress(told.value), from: told.from };
  }

  get namespace(): string {
    return this.namespaceTold?.value ?? "";
  }

  /** Null for the root namespace, which may be given as "/" or "root" (no other may be called so). */
  get namespaceTold(): Told<string> | null {
    const given = this.#flags.namespace;
    const told = given === undefined ? this.#told.namespace : { value: given, from: "-namespace" };
    return told === null || /^(?:\/*|\/?root\/?)$/i.test(told.value) ? null : told;
  }

  get region(): string {
    return this.#flags.region ?? this.#told.text("REGION")?.value ?? "";
  }

  get policyOverride(): boolean {
    return this.#flags.policyOverride;
  }

  get timeout(): Nanos {
    const given = this.#flags.timeout;
    return given === undefined ? this.#told.timeout : positive(given, "-timeout");
  }

  get tokenFile(): string {
    return tokenFilePath(this.env);
  }

  /** Null when there is none anywhere, or none that is for this server. */
  token(fs: Fs): Told<Secret<string>> | null {
    const told = this.#told.token;
    if (told !== null) return told;
    const value = readTokenFile(fs, this.tokenFile);
    if (value === null || this.#withheld(fs, value) !== null) return null;
    return { value, from: this.tokenFile };
  }

  /** Why the token in the file is not sent to this server; null where it is. */
  #withheld(fs: Fs, token: Secret<string>): string | null {
    const { value: address, from } = this.address;
    const known = addressesOf(fs, this.tokenFile, token);
    if (mayBeSent(known, address, from)) return null;
    const next = "`holdfast login` at this address gets one, or takes the same one for both";
    if (known === null) {
      return (
        `the token in ${this.tokenFile} is not sent to ${address.shown} (from ${from}): it is not ` +
        `known to be for that server; ${next}`
      );
    }
    const whose = known.join(", ");
    return (
      `the token in ${this.tokenFile} is for ${whose} and is not sent to ${address.shown} ` +
      `(from ${from}); ${next}`
    );
  }

  /** The variable that a token comes from, which goes before the file; null where none is set. */
  get tokenVariable(): string | null {
    return this.#told.token?.from ?? null;
  }

  /** What is there of address and token and not used. */
  unused(fs: Fs): readonly string[] {
    this.#told.check();
    const address = this.#flags.address === undefined ? this.#told.unused("ADDR") : null;
    const token = this.#told.unused("TOKEN");
    const kept = this.#told.token === null ? readTokenFile(fs, this.tokenFile) : null;
    const withheld = kept === null ? null : this.#withheld(fs, kept);
    return [address, token, withheld].filter((one) => one !== null);
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
      skipVerify: this.#flags.tlsSkipVerify || this.#told.skipVerify,
    };
  }

  /** A file goes before a text, and that before a directory; flags before all of them. */
  #authorities(files: UserFiles): string | null {
    const { caCert, caPath } = this.#flags;
    const given = caCert !== undefined || caPath !== undefined;
    const file = caCert ?? (given ? undefined : this.#told.text("CACERT")?.value);
    if (file !== undefined) return certificatesIn(files.text(file, MAX_PEM), file);
    const bytes = given ? null : this.#told.text("CACERT_BYTES");
    if (bytes !== null) return certificatesIn(bytes.value, bytes.from);
    const directory = caPath ?? this.#told.text("CAPATH")?.value;
    if (directory === undefined) return null;
    const all = files.names(directory, MAX_AUTHORITIES).map((name) => {
      const path = join(directory, name);
      return certificatesIn(files.text(path, MAX_PEM), path);
    });
    if (all.length === 0) throw new UsageError(`${directory} holds no files with certificates`);
    return all.join("\n");
  }

  #text(key: TextFlag, name: Exclude<ClientSetting, "ADDR" | "TOKEN">): string | null {
    return this.#flags[key] ?? this.#told.text(name)?.value ?? null;
  }

  #flag(key: "address", name: string): Told<string> | null {
    const value = this.#flags[key];
    return value === undefined ? null : { value, from: `-${name}` };
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
