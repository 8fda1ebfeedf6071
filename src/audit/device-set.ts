// Which devices there are: those in storage, made over the API, and those that the configuration
// declares. It makes and forgets them; opening and closing is up to the room.

import { describe } from "@holdfast/shared/failure";
import { Device, type DeviceParts, type DeviceRecord } from "./device.ts";
import type { DeviceStore } from "./device-store.ts";
import { deviceDeclared, deviceExists, deviceUnknown, fileInUse, pathInvalid } from "./failures.ts";
import { identityOf } from "./file-place.ts";
import { type OptionTexts, readOptions } from "./options.ts";

/** A device of the configuration file. */
export interface DeclaredDevice {
  readonly path: string;
  readonly type: string;
  readonly description?: string;
  /** Default false. */
  readonly local?: boolean;
  readonly options: OptionTexts;
}

export class DeviceSet {
  readonly #store: DeviceStore;
  readonly #parts: DeviceParts;
  readonly #prepared = new Map<string, Device>(); // by id: opened, not yet stored
  readonly #making = new Set<Device>();
  #devices: ReadonlyMap<string, Device> = new Map(); // by path
  #unusable: ReadonlyMap<string, DeviceRecord> = new Map();
  /** In no order that matters. */
  active: readonly Device[] = [];

  constructor(store: DeviceStore, parts: DeviceParts) {
    this.#store = store;
    this.#parts = parts;
  }

  /** Whether nothing at all is to be audited. */
  get empty(): boolean {
    return this.active.length === 0 && this.#unusable.size === 0;
  }

  /** In storage, and not possible on this server. */
  get unusable(): readonly DeviceRecord[] {
    return [...this.#unusable.values()];
  }

  named(path: string): Device {
    const device = this.#devices.get(path);
    if (device === undefined) throw deviceUnknown(path);
    return device;
  }

  /** The stored record, of a device that may be changed. */
  changeable(path: string): DeviceRecord {
    const device = this.#devices.get(path);
    if (device?.declared) throw deviceDeclared(path);
    const record = device?.record ?? this.#unusable.get(path);
    if (record === undefined) throw deviceUnknown(path);
    return record;
  }

  assertFree(path: string): void {
    checkPath(path);
    if (this.#devices.get(path)?.declared) throw deviceDeclared(path);
    if (this.#devices.has(path) || this.#unusable.has(path)) throw deviceExists(path);
  }

  /** Refuses a file that another device writes: two in one would break the chain of both. Of two that are
   *  made at the same moment, the second sees the first. */
  async whileAlone(device: Device, make: () => Promise<void>): Promise<void> {
    const others = [...this.active, ...this.#making];
    this.#making.add(device);
    try {
      await this.#assertAlone(device, others);
      await make();
    } finally {
      this.#making.delete(device);
    }
  }

  async #assertAlone(device: Device, others: readonly Device[]): Promise<void> {
    const { files } = this.#parts;
    const own = fileOf(device);
    if (own === null) return;
    const place = await identityOf(files, own);
    for (const other of others) {
      const file = other === device ? null : fileOf(other);
      if (file !== null && (await identityOf(files, file)) === place) {
        throw fileInUse(other.record.path);
      }
    }
  }

  /** While `store` runs, its device in storage is taken to be this one. */
  async whilePrepared(device: Device, store: () => Promise<void>): Promise<void> {
    this.#prepared.set(device.record.id, device);
    try {
      await store();
    } finally {
      this.#prepared.delete(device.record.id);
    }
  }

  /** Makes the devices those in storage. Gives new ones that nobody has opened yet. */
  adoptStored(): { readonly added: Device[]; readonly removed: Device[] } {
    const before = this.active;
    const added: Device[] = [];
    const devices = new Map(Array.from(this.#devices).filter(([, device]) => device.declared));
    const unusable = new Map<string, DeviceRecord>();
    for (const record of this.#store.devices()) {
      const { id, path } = record;
      const there = this.#devices.get(path);
      const known = there?.record.id === id ? there : this.#prepared.get(id);
      const device = known ?? this.#make(record);
      if (device === null || devices.has(path)) {
        unusable.set(path, record);
        continue;
      }
      devices.set(path, device);
      if (known === undefined) added.push(device);
    }
    this.#put(devices);
    this.#unusable = unusable;
    return { added, removed: before.filter((device) => !this.active.includes(device)) };
  }

  /** Makes the declared devices these. What is not possible is told, a line each, and left as it was. */
  async adoptDeclared(declared: readonly DeclaredDevice[]): Promise<{
    readonly problems: string[];
    readonly removed: Device[];
  }> {
    const problems: string[] = [];
    const made = new Map<string, Device>();
    for (const one of declared) {
      const { path } = one;
      const known = this.#devices.get(path);
      const old = known?.declared ? known : null;
      try {
        if (made.has(path) || (known !== undefined && old === null)) throw deviceExists(path);
        const same = old !== null && isSame(old.record, one);
        const device = same ? old : await this.#declare(one, old);
        const stored = this.active.filter((other) => !other.declared);
        await this.#assertAlone(device, [...stored, ...made.values()]);
        made.set(path, device);
      } catch (error) {
        problems.push(`audit device ${JSON.stringify(path)}: ${describe(error)}`);
        if (old !== null && !made.has(path)) made.set(path, old);
      }
    }
    // Looked up only now: storage may have changed while keys were made.
    const before = this.active;
    const stored = Array.from(this.#devices).filter(([, device]) => !device.declared);
    this.#put(new Map([...stored, ...made]));
    return { problems, removed: before.filter((device) => !this.active.includes(device)) };
  }

  /** Forgets all, and gives them. */
  clear(): readonly Device[] {
    const { active } = this;
    this.#put(new Map());
    this.#unusable = new Map();
    return active;
  }

  #make(record: DeviceRecord): Device | null {
    try {
      const key = this.#store.keyOf(record);
      if (key !== null) return new Device(record, key, false, this.#parts);
    } catch (error) {
      const fields = { device: record.path, cause: describe(error) };
      this.#parts.log.error("a stored audit device is not possible on this server", fields);
    }
    return null;
  }

  async #declare(one: DeclaredDevice, old: Device | null): Promise<Device> {
    const { path, type, description = "", local = false, options } = one;
    checkPath(path);
    readOptions(type, options, this.#parts); // before a key is made for it
    const key = await this.#store.declaredKey(path, this.#parts.random);
    const record = { id: `declared/${path}`, path, type, description, options, local };
    return new Device(record, key, true, this.#parts, old);
  }

  #put(devices: ReadonlyMap<string, Device>): void {
    this.#devices = devices;
    this.active = [...devices.values()];
  }
}

/** Null for what is no file, or standard output. */
function fileOf({ options: { target } }: Device): string | null {
  return target.type === "file" ? target.path : null;
}

const PATH = /^[A-Za-z0-9_-][\w.-]{0,63}(?:\/[A-Za-z0-9_-][\w.-]{0,63}){0,7}$/;

function checkPath(path: string): void {
  if (!PATH.test(path)) throw pathInvalid();
}

function isSame(
  record: DeviceRecord,
  { type, description = "", local = false, options }: DeclaredDevice,
): boolean {
  const names = Object.keys(options);
  return (
    record.type === type &&
    record.description === description &&
    record.local === local &&
    names.length === Object.keys(record.options).length &&
    names.every((name) => record.options[name] === options[name])
  );
}
