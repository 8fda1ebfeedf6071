// Registering a plugin: what was asked for is read, the file is looked at, and the plugin is started once beside all others
// to hear what it is. What that finds is told and refuses nothing, unless the caller asked for that.

import { Failure } from "@holdfast/shared/failure";
import { someNames } from "@holdfast/shared/text/some-names";
import type { PluginFiles, PluginId, PluginUses, ProbeReport, Processes } from "../ports.ts";
import type { Catalog } from "./catalog.ts";
import { type Entry, type EntryInput, readEntry } from "./entry-rules.ts";
import * as failures from "./failures.ts";
import type { KeptEntry } from "./rows.ts";
import { usersOf } from "./users.ts";
import { reportedVersion } from "./version.ts";

export interface RegisteringParts {
  readonly catalog: Catalog;
  readonly files: PluginFiles;
  readonly processes: Processes;
  readonly uses: Pick<PluginUses, "all">;
}

export interface Registered {
  readonly warnings: readonly string[];
  /** What the plugin itself wrote where it did not start: for the caller alone. */
  readonly output: readonly string[];
}

interface Findings {
  /** In our words; null: it starts, and is what it was registered as. */
  readonly finding: string | null;
  readonly output: readonly string[];
  readonly reported: string;
}

export class Registering {
  readonly #parts: RegisteringParts;

  constructor(parts: RegisteringParts) {
    this.#parts = parts;
  }

  async register(
    input: EntryInput,
    { verify, signal }: { readonly verify: boolean; readonly signal: AbortSignal },
  ): Promise<Registered> {
    const { catalog } = this.#parts;
    const entry = { ...readEntry(input), reportedVersion: "", declared: false };
    catalog.checkCaller(entry);
    await this.#checkFile(entry);
    const { finding, output, reported } = await this.#probe(entry, signal);
    if (finding !== null && verify) throw failures.notVerified(finding, output);
    if (finding !== null && entry.ociImage !== "") throw failures.imageNotStarted(finding, output);
    if (entry.version !== "" && reported !== "" && reported !== entry.version) {
      throw failures.versionMismatch(reported, entry.version);
    }
    const before = catalog.find(entry);
    await catalog.register({ ...entry, reportedVersion: reported });
    const warnings = [
      ...(finding === null ? [] : [finding]),
      ...versionNote(entry, reported),
      ...(entry.network === "host" ? [HOST_NETWORK] : []),
      ...(before === null ? [] : await this.#goesOn(entry)),
    ];
    return { warnings, output };
  }

  /** What the configuration says: looked at as far as nothing has to be started. Gives what is wrong with its file, or null. */
  async declare(entry: Entry): Promise<string | null> {
    const kept = { ...entry, reportedVersion: "", declared: true };
    await this.#parts.catalog.register(kept, "configuration");
    return await this.fileTrouble(kept);
  }

  /** Why its file would not be run; null: it would, or it has none. */
  async fileTrouble(entry: KeptEntry): Promise<string | null> {
    try {
      await this.#checkFile(entry);
      return null;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return error.message;
    }
  }

  /** Paths of what runs by an entry when it is next opened. */
  async usersOf(id: PluginId): Promise<string[]> {
    const { catalog, uses } = this.#parts;
    return (await usersOf(catalog, uses, id)).map(({ place }) => place);
  }

  async #goesOn(entry: PluginId): Promise<string[]> {
    const users = await this.usersOf(entry);
    if (users.length === 0) return [];
    return [`what runs at ${someNames(users)} goes on as it was until it is reloaded`];
  }

  async #checkFile({ ociImage, command }: KeptEntry): Promise<void> {
    if (ociImage !== "") return;
    try {
      await this.#parts.files.check(command);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (error.code === "plugin-directory-missing") throw failures.directoryUnset();
      throw failures.fileUnfit(error.message, { cause: error });
    }
  }

  async #probe(entry: KeptEntry, signal: AbortSignal): Promise<Findings> {
    const program = this.#parts.catalog.program(entry);
    try {
      const report = await this.#parts.processes.probe(program, signal);
      const reported = reportedVersion(report.version) ?? "";
      return { finding: ofOtherKind(entry, report), output: [], reported };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Failure) || error.code === "plugin-processes-closed") throw error;
      const { message, texts } = error;
      const known = message.includes("could not be started");
      const finding = known ? message : `plugin could not be started: ${message}`;
      return { finding, output: texts.filter((text) => text !== message), reported: "" };
    }
  }
}

const HOST_NETWORK =
  'network "host" lets the container reach this machine\'s loopback and whatever else the server reaches, such as the ' +
  "addresses that clouds tell their machines credentials by";

function ofOtherKind({ type }: KeptEntry, { kind }: ProbeReport): string | null {
  if (kind === null || type === "database" || kind === type) return null;
  return `the plugin says of itself that it is of type "${kind}", and it is registered as "${type}"`;
}

function versionNote({ version }: KeptEntry, reported: string): string[] {
  if (version !== "" || reported === "") return [];
  return [
    `the plugin reports version ${reported}; it was registered without a version and stays so: ` +
      `give version=${reported} to have it beside others`,
  ];
}
