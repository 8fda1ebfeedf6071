// One audit device: its record in storage, its keys, and the way of a record into it.

import type { KeyObject } from "node:crypto";
import { base64 } from "@holdfast/shared/bytes";
import type { Log } from "@holdfast/shared/log";
import type { AppendFiles, Clock, Random, Timers } from "@holdfast/shared/world";
import { deriveKey } from "../crypto/aead.ts";
import { Attempt } from "./attempt.ts";
import type { AuditedAnswer, AuditedRequest } from "../endpoint/audited.ts";
import type { CheckpointParts, CheckpointSigner } from "./devices/checkpoints.ts";
import { FileSource, type Heads } from "./devices/file.ts";
import type { Connector, SinkSource } from "./devices/sink.ts";
import { SocketSource } from "./devices/socket.ts";
import { SyslogSource } from "./devices/syslog.ts";
import { type FilePlaces, judge } from "./file-place.ts";
import { Hasher, type Veil } from "./records/hasher.ts";
import { Hmac } from "../crypto/hmac.ts";
import { quote } from "@holdfast/shared/json/json-text";
import { type DeviceOptions, type OptionTexts, readOptions } from "./options.ts";
import { type ClusterFacts, type HeaderRule, Records } from "./records/record.ts";
import { Writer } from "./writer.ts";

/** As it is stored and shown. */
export interface DeviceRecord {
  readonly id: string; // tells apart two devices that had one path after another
  readonly path: string; // without a slash at the end
  readonly type: string;
  readonly description: string;
  readonly options: OptionTexts;
  readonly local: boolean;
}

export interface AuditMetrics {
  /** A write of one or more records ended, to a device of this type. */
  wrote(type: string, ok: boolean, seconds: number): void;
  healthy(devices: number): void;
}

/** What devices are made with. */
export interface DeviceParts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  readonly files: AppendFiles;
  readonly connector: Connector;
  readonly places: FilePlaces;
  readonly allowPrefix: boolean;
  readonly cluster: ClusterFacts;
  readonly headers: () => readonly HeaderRule[];
  readonly heads: (device: DeviceRecord) => Heads;
  readonly checkpointHeads: (device: DeviceRecord) => Pick<CheckpointParts, "load" | "save">;
  /** Signs checkpoints. Default: files have none. */
  readonly signer?: CheckpointSigner | undefined;
  readonly metrics: AuditMetrics;
  readonly healthChanged: () => void;
}

const SALT = "audit salt";
/** Another key than the salt: whoever may ask for hashes must not be able to make MACs. */
export const CHAIN_KEY = "audit chain";

export class Device {
  readonly record: DeviceRecord;
  readonly declared: boolean;
  readonly options: DeviceOptions;
  readonly chainHmac: Hmac;
  readonly #hasher: Hasher;
  readonly #records: Records;
  readonly #source: SinkSource;
  readonly #writer: Writer;

  /**
   * `key` is the device's own: salt and key of the chain are derived from it. Only when `predecessor`
   * is closed is this one opened: two that write one chain would break it.
   */
  constructor(
    record: DeviceRecord,
    key: KeyObject,
    declared: boolean,
    parts: DeviceParts,
    predecessor: Device | null = null,
  ) {
    this.record = record;
    this.declared = declared;
    this.options = readOptions(record.type, record.options, parts);
    this.chainHmac = new Hmac(deriveKey(key, CHAIN_KEY));
    this.#hasher = new Hasher(deriveKey(key, SALT), parts.random);
    this.#records = new Records({
      veil: this.options.raw ? RAW : this.#hasher,
      format: this.options.format,
      cluster: parts.cluster,
      headers: parts.headers,
      clock: parts.clock,
    });
    const source = this.#makeSource(parts);
    this.#source = source;
    const { target } = this.options;
    const file = target.type === "file" ? target.path : null;
    this.#writer = new Writer({
      device: record.path,
      ...(file === null ? {} : { file }),
      source: {
        maxBytes: source.maxBytes,
        open: async () => {
          await predecessor?.close();
          predecessor = null;
          return source.open();
        },
      },
      timeout: this.options.timeout,
      clock: parts.clock,
      timers: parts.timers,
      log: parts.log,
      wrote: (_, ok, seconds) => parts.metrics.wrote(this.record.type, ok, seconds),
      healthChanged: parts.healthChanged,
    });
  }

  get healthy(): boolean {
    return this.#writer.healthy;
  }

  /** Why it is not healthy, in words that may name places of this machine. */
  get problem(): string | null {
    return this.#writer.problem;
  }

  get pending(): number {
    return this.#writer.pending;
  }

  /** Where its files are, for the check of their chain; null for devices that have none. */
  get file(): { readonly path: string; readonly source: FileSource } | null {
    const { target } = this.options;
    const source = this.#source;
    if (target.type !== "file" || target.path === null) return null;
    return source instanceof FileSource ? { path: target.path, source } : null;
  }

  start(): Promise<boolean> {
    return this.#writer.start();
  }

  reopen(): Promise<boolean> {
    return this.options.target.type === "file" ? this.#writer.reopen() : Promise.resolve(true);
  }

  async close(): Promise<void> {
    await this.#writer.close();
    this.#hasher.wipe();
    this.chainHmac.wipe();
  }

  request(request: AuditedRequest, error: string, attempt: Attempt): void {
    this.#writer.push(() => this.#records.request(request, error), attempt);
  }

  response(request: AuditedRequest, answer: AuditedAnswer, attempt: Attempt): void {
    this.#writer.push(() => this.#records.response(request, answer), attempt);
  }

  async test(): Promise<void> {
    const attempt = new Attempt(1);
    this.#writer.push(() => this.#records.test(`${this.record.path}/`), attempt);
    await attempt.done;
  }

  /** Always hashed, also where records are not. */
  hash(text: string): string {
    return this.#hasher.hash(text);
  }

  #checkpoints(parts: DeviceParts): CheckpointParts | undefined {
    const { signer, checkpointHeads } = parts;
    if (signer === undefined) return undefined;
    const write = async (line: string) => {
      const attempt = new Attempt(1);
      this.#writer.push(() => line, attempt);
      await attempt.done;
    };
    return { deviceId: this.record.id, ...signer, write, ...checkpointHeads(this.record) };
  }

  #makeSource(parts: DeviceParts): SinkSource {
    const { target, format } = this.options;
    const { clock, timers, log, files, connector, places } = parts;
    switch (target.type) {
      case "socket":
        return new SocketSource(connector, target.target);
      case "syslog":
        return new SyslogSource(connector, target.target, clock);
      case "file": {
        const { path, mode, rotation } = target;
        const device = `${this.record.path}/`;
        const allow = async () => {
          const [root] = places.roots;
          if (root !== undefined && !this.declared) await files.makeDirectory(root);
          return judge(files, places, this.declared);
        };
        const heads = parts.heads(this.record);
        const checkpoints = this.#checkpoints(parts);
        return new FileSource(
          { device, path, mode, rotation, prefix: format.prefix, allow },
          { files, hmac: this.chainHmac, heads, checkpoints, clock, timers, log },
        );
      }
    }
  }
}

const RAW: Veil = {
  raw: true,
  value: (text) => quote(typeof text === "string" ? text : base64(text)),
  token: quote,
  accessor: quote,
};
