// The catalog of plugins: what is registered, which version is meant, and what may go. Every cluster that shares data has
// the same; read from the store each time, so that whatever came from another cluster counts at once.

import type { Tx, View } from "../../barrier/view.ts";
import {
  type ChosenPlugin,
  PLUGIN_TYPES,
  type PluginChoice,
  type PluginId,
  type PluginType,
  type Program,
} from "../ports.ts";
import * as failures from "./failures.ts";
import { checkPluginName, isPluginName } from "./names.ts";
import {
  CATALOG,
  entryCodec,
  entryKey,
  idOf,
  type KeptEntry,
  pinCodec,
  pinKey,
  PINS,
  rowOf,
  versionsOf,
} from "./rows.ts";
import type { Runtimes } from "./runtimes.ts";
import { canonicalVersion, compareVersions, isBuiltInVersion, reportedVersion } from "./version.ts";

const MAX_ENTRIES = 2000;
const MAX_VERSIONS = 100; // of one name

export interface Pin {
  readonly type: PluginType;
  readonly name: string;
  readonly version: string;
}

/** Who changes the catalog: what the configuration declares, it alone changes. */
export type Author = "caller" | "configuration";

export class Catalog implements PluginChoice {
  readonly #view: View;
  readonly #runtimes: Runtimes;

  /** shared/plugins/ */
  constructor(view: View, runtimes: Runtimes) {
    this.#view = view;
    this.#runtimes = runtimes;
  }

  // --- reading ---

  /** By type, name and version, older ones first. */
  entries(types: readonly PluginType[] = PLUGIN_TYPES): KeptEntry[] {
    const names = (type: PluginType) =>
      this.#view
        .list(`${CATALOG}${type}/`, { limit: MAX_ENTRIES })
        .map((folder) => folder.replace(/\/$/, ""))
        .toSorted();
    return types
      .toSorted()
      .flatMap((type) => names(type).flatMap((name) => this.versions(type, name)));
  }

  /** Of one name, older ones first; the one without a version before them. */
  versions(type: PluginType, name: string): KeptEntry[] {
    if (!isPluginName(name)) return [];
    const folder = versionsOf(type, name);
    const rows = this.#view.records(folder, entryCodec, { limit: MAX_VERSIONS });
    return rows
      .map(({ key, value }) => ({ ...idOf(key), ...value }))
      .toSorted((a, b) => compareVersions(a.version, b.version));
  }

  /** Throws for what is no version. */
  find({ type, name, version }: PluginId): KeptEntry | null {
    if (!isPluginName(name)) return null;
    const id = { type, name, version: canonicalVersion(version) };
    const found = this.#view.get(entryKey(id), entryCodec);
    return found === null ? null : { ...found, ...id };
  }

  /** Throws for what is no version, unless one is pinned. */
  choose(type: PluginType, name: string, version: string): ChosenPlugin | null {
    const pinned = this.pinned(type, name);
    const entry = this.#named(type, name, pinned ?? version);
    return entry && { program: this.program(entry), isPinned: pinned !== null };
  }

  /** The entry that would be chosen, whether it can be started or not. Of what is no version there is none. */
  meant(type: PluginType, name: string, version: string): KeptEntry | null {
    const wanted = reportedVersion(this.pinned(type, name) ?? version);
    return wanted === null ? null : this.#named(type, name, wanted);
  }

  /** What is started of an entry. Throws where its runtime is not there. */
  program(entry: KeptEntry): Program {
    const { type, name, version, sha256, command, args, env, ociImage, runtime, network } = entry;
    const isBare = ociImage === "" && runtime === "";
    const container = isBare ? null : this.#runtimes.needed(runtime);
    const image = { ociImage, runtime, network, container };
    return { type, name, version, sha256, command, args, env, ...image };
  }

  /** Calls after whatever has changed here, by whomever. Gives what ends that. */
  watch(call: () => void): () => void {
    return this.#view.watch("", call);
  }

  /** The one that a name stands for, whatever is pinned. */
  #named(type: PluginType, name: string, version: string): KeptEntry | null {
    if (version !== "") {
      return isBuiltInVersion(version) ? null : this.find({ type, name, version });
    }
    const versions = this.versions(type, name);
    return versions.find((entry) => entry.version === "") ?? versions.at(-1) ?? null;
  }

  // --- writing ---

  /** Throws what a caller would be refused with as things are now: asked before anything is started for it. */
  checkCaller(entry: KeptEntry): void {
    const { type, name } = entry;
    checkPluginName(name);
    const before = this.find(entry);
    if (before?.declared === true) throw failures.pluginDeclared(type, name);
    if (before === null) this.#checkRoom(this.#view, type, name);
  }

  /** Registers it, or puts this one in its place. */
  async register(entry: KeptEntry, author: Author = "caller"): Promise<void> {
    const { type, name } = entry;
    checkPluginName(name);
    await this.#view.write((tx) => {
      const key = entryKey(entry);
      const before = tx.get(key, entryCodec);
      if (before?.declared && author === "caller") throw failures.pluginDeclared(type, name);
      if (before === null) this.#checkRoom(tx, type, name);
      this.#runtimes.leave(tx, before?.runtime ?? "", entry);
      this.#runtimes.use(tx, entry.runtime, entry);
      tx.put(key, rowOf(entry), entryCodec);
    });
  }

  /** Nothing happens when there is none. */
  async delete(id: PluginId, author: Author = "caller"): Promise<void> {
    checkPluginName(id.name);
    await this.#view.write((tx) => {
      const before = tx.get(entryKey(id), entryCodec);
      if (before === null) return;
      if (before.declared && author === "caller") throw failures.pluginDeclared(id.type, id.name);
      const pin = tx.get(pinKey(id.type, id.name), pinCodec);
      if (pin?.version === id.version) throw failures.pinnedKept();
      this.#runtimes.leave(tx, before.runtime, id);
      tx.delete(entryKey(id));
    });
  }

  #checkRoom(tx: Pick<Tx, "keys">, type: PluginType, name: string): void {
    const versions = tx.keys(versionsOf(type, name), { limit: MAX_VERSIONS });
    if (versions.length >= MAX_VERSIONS) throw failures.tooManyVersions(MAX_VERSIONS);
    const all = tx.keys(CATALOG, { limit: MAX_ENTRIES });
    if (all.length >= MAX_ENTRIES) throw failures.tooManyPlugins(MAX_ENTRIES);
  }

  // --- pins ---

  /** Null: none. */
  pinned(type: PluginType, name: string): string | null {
    if (!isPluginName(name)) return null;
    return this.#view.get(pinKey(type, name), pinCodec)?.version ?? null;
  }

  /** By type and name. */
  pins(): Pin[] {
    const rows = this.#view.records(PINS, pinCodec, { limit: MAX_ENTRIES });
    return rows.map(({ key, value }) => {
      const [, type = "", name = ""] = key.split("/");
      return { type: type as PluginType, name, version: value.version };
    });
  }

  /** For all mounts from now on, when they are next opened. */
  async pin(type: PluginType, name: string, version: string): Promise<void> {
    checkPluginName(name);
    if (isBuiltInVersion(version)) throw failures.builtInNotPinned(version);
    const canonical = canonicalVersion(version);
    if (canonical === "") throw failures.pinUnversioned();
    await this.#view.write((tx) => {
      const entry = tx.get(entryKey({ type, name, version: canonical }), entryCodec);
      if (entry === null) throw failures.notInCatalog(name, canonical);
      tx.put(pinKey(type, name), { version: canonical }, pinCodec);
    });
  }

  /** Nothing happens when there is none. */
  async unpin(type: PluginType, name: string): Promise<void> {
    checkPluginName(name);
    await this.#view.write((tx) => {
      if (tx.get(pinKey(type, name), pinCodec) !== null) tx.delete(pinKey(type, name));
    });
  }
}
