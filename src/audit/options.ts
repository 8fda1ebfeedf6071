// The options of a device as they are given, over the API or in the configuration file, and what
// they mean. Whatever is not known is refused by name: an option that is silently ignored is how a
// trail comes to be kept in another way than its operator believes.

import { normalize } from "node:path";
import { SECOND, parseDuration, showDuration } from "@holdfast/shared/text/duration";
import { isObject, isRawNumber, type JsonValue } from "@holdfast/shared/json/json";
import type { Address, Nanos } from "@holdfast/shared/world";
import type { Rotation } from "./devices/file.ts";
import type { SocketTarget } from "./devices/socket.ts";
import { FACILITIES, type Facility, type SyslogTarget } from "./devices/syslog.ts";
import { optionInvalid, optionUnknown, typeInvalid } from "./failures.ts";
import type { RecordFormat } from "./records/record.ts";

export const DEVICE_TYPES = ["file", "socket", "syslog"] as const;
export type DeviceType = (typeof DEVICE_TYPES)[number];

export const FILE_TIMEOUT: Nanos = 10n * SECOND;
const SOCKET_TIMEOUT: Nanos = 2n * SECOND;
const MIN_ROTATION = 4096; // bytes: below, most of a file would be its first line
const MIN_INTERVAL: Nanos = 60n * SECOND;

const COMMON = ["hmac_accessor", "log_raw", "elide_list_responses", "format", "prefix"];
const KNOWN: Readonly<Record<DeviceType, readonly string[]>> = {
  file: [...COMMON, "file_path", "mode", "rotate_bytes", "rotate_interval", "rotate_keep"],
  socket: [...COMMON, "address", "socket_type", "write_timeout"],
  syslog: [...COMMON, "facility", "tag", "address"],
};

/** As given, in text: what is stored and shown. */
export type OptionTexts = Readonly<Record<string, string>>;

export type Target =
  | {
      readonly type: "file";
      readonly path: string | null; // null is standard output
      readonly mode: number;
      readonly rotation: Rotation;
    }
  | { readonly type: "socket"; readonly target: SocketTarget }
  | { readonly type: "syslog"; readonly target: SyslogTarget };

export interface DeviceOptions {
  readonly format: RecordFormat;
  readonly raw: boolean;
  readonly timeout: Nanos;
  readonly target: Target;
}

/** Texts, numbers and booleans are one and the same here: command lines give text. */
export function optionTexts(input: JsonValue | undefined): OptionTexts {
  if (input === undefined || input === null) return {};
  if (!isObject(input)) throw optionInvalid("options", "must be an object of names and values");
  const texts: [string, string][] = Object.entries(input).map(([name, value]) => {
    if (typeof value === "string") return [name, value];
    if (typeof value === "number" || typeof value === "boolean") return [name, String(value)];
    if (isRawNumber(value)) return [name, value.rawJSON];
    throw optionInvalid(/^\w{1,64}$/.test(name) ? name : "an option", "must be a text or a number");
  });
  return Object.fromEntries(texts);
}

/** Each in its one spelling, by its name: those of a name mean the same for every type. What cannot be read
 *  stays as it is, and is refused where it is used. */
export function canonicalOptions(value: JsonValue): OptionTexts {
  const texts = optionTexts(value);
  const reader = new Reader(texts);
  const options = Object.entries(texts).map(([name, text]) => {
    try {
      return [name, SPELLINGS.get(name)?.(reader, name) ?? text];
    } catch {
      return [name, text];
    }
  });
  return Object.fromEntries(options);
}

type Spelling = (reader: Reader, name: string) => string | undefined;

const asSwitch: Spelling = (reader, name) => String(reader.boolean(name, false));
const asNumber: Spelling = (reader, name) =>
  reader.integer(name, 0, Number.MAX_SAFE_INTEGER)?.toString();
const asLength: Spelling = (reader, name) => {
  const nanos = reader.duration(name, 0n, 3650n * 86_400n * SECOND);
  return nanos === null ? undefined : showDuration(nanos);
};

const SPELLINGS: ReadonlyMap<string, Spelling> = new Map([
  ["hmac_accessor", asSwitch],
  ["log_raw", asSwitch],
  ["elide_list_responses", asSwitch],
  ["rotate_bytes", asNumber],
  ["rotate_keep", asNumber],
  ["rotate_interval", asLength],
  ["write_timeout", asLength],
  ["facility", (reader, name) => reader.text(name)?.toUpperCase()],
  ["mode", (reader, name) => modeOf(reader.text(name)).toString(8).padStart(4, "0")],
]);

export function isDeviceType(type: string): type is DeviceType {
  return DEVICE_TYPES.some((known) => known === type);
}

export function readOptions(
  type: string,
  texts: OptionTexts,
  { allowPrefix }: { readonly allowPrefix: boolean },
): DeviceOptions {
  if (!isDeviceType(type)) throw typeInvalid(DEVICE_TYPES);
  for (const name of Object.keys(texts)) {
    if (!KNOWN[type].includes(name)) throw optionUnknown(name, KNOWN[type]);
  }
  const reader = new Reader(texts);
  if ((texts["format"] ?? "json") !== "json") throw optionInvalid("format", "must be json");
  return {
    format: {
      hmacAccessor: reader.boolean("hmac_accessor", true),
      elideLists: reader.boolean("elide_list_responses", false),
      prefix: prefixOf(texts["prefix"], allowPrefix),
    },
    raw: reader.boolean("log_raw", false),
    timeout: type === "socket" ? timeoutOf(reader) : FILE_TIMEOUT,
    target: targetOf(type, reader),
  };
}

function targetOf(type: DeviceType, reader: Reader): Target {
  switch (type) {
    case "file":
      return fileTarget(reader);
    case "socket":
      return { type, target: socketTarget(reader) };
    case "syslog":
      return { type, target: syslogTarget(reader) };
  }
}

function fileTarget(reader: Reader): Target {
  const path = reader.text("file_path") ?? "";
  const output = path === "stdout";
  // Relative paths, "", "/", a slash at the end, "..", ".": none of them names a file in one way.
  if (!output && (!/^\/.*[^/]$/.test(path) || normalize(path) !== path || path.includes("\0"))) {
    const what = "must be the absolute path of a file, without . and .., or stdout";
    throw optionInvalid("file_path", what);
  }
  const rotation: Rotation = {
    bytes: reader.integer("rotate_bytes", MIN_ROTATION, Number.MAX_SAFE_INTEGER),
    interval: reader.duration("rotate_interval", MIN_INTERVAL, 3650n * 86_400n * SECOND),
    keep: reader.integer("rotate_keep", 1, 100_000),
  };
  const rotates = rotation.bytes !== null || rotation.interval !== null;
  if (output && (rotates || rotation.keep !== null)) {
    throw optionInvalid("file_path", "cannot be stdout with rotation");
  }
  if (rotation.keep !== null && !rotates) {
    throw optionInvalid("rotate_keep", "needs rotate_bytes or rotate_interval");
  }
  return { type: "file", path: output ? null : path, mode: modeOf(reader.text("mode")), rotation };
}

function modeOf(text: string | undefined): number {
  if (text === undefined) return 0o600;
  const mode = /^0?[0-7]{3}$/.test(text) ? Number.parseInt(text, 8) : -1;
  // Nobody but the server writes a trail, and nobody executes one.
  if ((mode & 0o600) !== 0o600 || (mode & ~0o644) !== 0) {
    throw optionInvalid(
      "mode",
      "must be one of 0600, 0640, 0644, 0604: no execute bit is accepted",
    );
  }
  return mode;
}

function socketTarget(reader: Reader): SocketTarget {
  const kind = reader.text("socket_type") ?? "tcp";
  const address = reader.text("address") ?? "";
  if (kind === "unix") {
    if (!/^\/[^\0]{0,106}$/.test(address)) {
      throw optionInvalid("address", "must be the absolute path of a socket, up to 107 characters");
    }
    return { kind, path: address };
  }
  if (kind !== "tcp" && kind !== "udp") {
    throw optionInvalid("socket_type", "must be one of tcp, udp, unix");
  }
  return { kind, to: addressOf(address) };
}

function syslogTarget(reader: Reader): SyslogTarget {
  const facility = reader.text("facility")?.toUpperCase() ?? "AUTH";
  if (!isFacility(facility)) {
    throw optionInvalid("facility", `must be one of ${Object.keys(FACILITIES).join(", ")}`);
  }
  const tag = reader.text("tag") ?? "holdfast";
  if (!/^[\w.-]{1,32}$/.test(tag)) {
    throw optionInvalid("tag", "must be 1 to 32 letters, digits, dots, dashes and underscores");
  }
  const address = reader.text("address");
  return { facility, tag, address: address === undefined ? null : addressOf(address) };
}

function isFacility(name: string): name is Facility {
  return Object.hasOwn(FACILITIES, name);
}

function addressOf(text: string): Address {
  const parts = /^(?:\[([0-9a-fA-F:.%]{2,64})\]|([A-Za-z0-9.-]{1,253})):([0-9]{1,5})$/.exec(text);
  const port = Number(parts?.[3] ?? 0);
  const host = parts?.[1] ?? parts?.[2];
  if (host === undefined || port < 1 || port > 65_535) {
    throw optionInvalid("address", "must be host:port or [address]:port");
  }
  return { host, port };
}

function timeoutOf(reader: Reader): Nanos {
  return reader.duration("write_timeout", SECOND / 10n, 60n * SECOND) ?? SOCKET_TIMEOUT;
}

/** A prefix of the caller's choice at the head of each line can turn a log into a program. */
function prefixOf(text: string | undefined, allowed: boolean): string {
  if (text === undefined || text === "") return "";
  if (!allowed) {
    throw optionInvalid("prefix", "is accepted only where the server's configuration allows it");
  }
  if (!/^[ -z|}~]{1,64}$/.test(text)) {
    throw optionInvalid("prefix", "must be up to 64 printable characters without an opening brace");
  }
  return text;
}

class Reader {
  readonly #texts: OptionTexts;

  constructor(texts: OptionTexts) {
    this.#texts = texts;
  }

  text(name: string): string | undefined {
    return this.#texts[name];
  }

  boolean(name: string, otherwise: boolean): boolean {
    const text = this.#texts[name];
    if (text === undefined) return otherwise;
    if (text === "true" || text === "1") return true;
    if (text === "false" || text === "0") return false;
    throw optionInvalid(name, "must be true or false");
  }

  integer(name: string, min: number, max: number): number | null {
    const text = this.#texts[name];
    if (text === undefined) return null;
    const number = /^[0-9]{1,15}$/.test(text) ? Number(text) : -1;
    if (number < min || number > max) {
      throw optionInvalid(name, `must be a whole number, at least ${min}`);
    }
    return number;
  }

  duration(name: string, min: Nanos, max: Nanos): Nanos | null {
    const text = this.#texts[name];
    if (text === undefined) return null;
    const nanos = durationOf(text);
    if (nanos === null || nanos < min || nanos > max) {
      const range = `from ${Number(min) / 1e9}s to ${max / SECOND}s`;
      throw optionInvalid(name, `must be a number of seconds or a duration such as 24h, ${range}`);
    }
    return nanos;
  }
}

function durationOf(text: string): Nanos | null {
  try {
    return parseDuration(text);
  } catch {
    return null;
  }
}
