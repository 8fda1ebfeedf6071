// What the server tells browsers: which other origins may call the API, and the headers of the
// console's pages. http/ asks with every request, also while the node is sealed: then no other origin
// is allowed and the console has its default headers.

import { unlessDamaged } from "../base/damage.ts";
import type { View } from "../barrier/view.ts";
import {
  combined,
  type ConsoleHeader,
  consoleHeaderCodec,
  DEFAULT_CONSOLE_HEADERS,
  headerKey,
  makeConsoleHeader,
} from "./console-headers.ts";
import { Cors, corsCodec, type CorsSettings, makeCors } from "./cors.ts";
import * as failures from "./failures.ts";

const CORS = "cors";
const HEADERS = "ui-headers/";
const POLICY = "Content-Security-Policy";
const MAX_HEADERS = 64;

export interface BrowserOptions {
  /** shared/browser/ */
  readonly view: View;
  /** Further spellings of our request headers, for preflight answers. Default none. */
  readonly aliases?: readonly string[];
}

export class Browser {
  readonly #view: View;
  readonly #aliases: readonly string[];
  #cors: Cors | null = null;
  #consoleHeaders = DEFAULT_CONSOLE_HEADERS;
  #stopWatching: (() => void) | null = null;

  constructor(options: BrowserOptions) {
    this.#view = options.view;
    this.#aliases = options.aliases ?? [];
  }

  open(): void {
    this.#stopWatching = this.#view.watch("", () => this.#load());
    this.#load();
  }

  /** Whether operators have put another content policy in the place of the console's own. */
  get policyIsSet(): boolean {
    const { [POLICY]: own } = DEFAULT_CONSOLE_HEADERS;
    return this.#consoleHeaders[POLICY] !== own;
  }

  close(): void {
    this.#stopWatching?.();
    this.#stopWatching = null;
    this.#cors = null;
    this.#consoleHeaders = DEFAULT_CONSOLE_HEADERS;
  }

  // --- what http asks ---

  /** Whether a page of this origin, which is not our own, may call the API. */
  allows(origin: string): boolean {
    return this.#cors?.allows(origin) ?? false;
  }

  /** None when the origin is not allowed. `preflight`: the answer to OPTIONS. */
  corsHeaders(origin: string, preflight: boolean): Record<string, string> {
    return this.#cors?.allows(origin) ? this.#cors.headersFor(origin, preflight) : {};
  }

  consoleHeaders(): Readonly<Record<string, string>> {
    return this.#consoleHeaders;
  }

  // --- what operators ask ---

  /** Null while no other origin is allowed. */
  get cors(): Pick<Cors, "settings" | "headers"> | null {
    const settings = unlessDamaged(() => this.#view.get(CORS, corsCodec), null);
    return settings === null ? null : new Cors(settings, []);
  }

  async setCors(cors: CorsSettings): Promise<void> {
    const settings = makeCors(cors);
    await this.#view.write((tx) => tx.put(CORS, settings, corsCodec));
  }

  async deleteCors(): Promise<void> {
    await this.#view.write((tx) => {
      if (tx.get(CORS, corsCodec) !== null) tx.delete(CORS);
    });
  }

  consoleHeaderNames(): string[] {
    return this.#stored().map(({ name }) => name);
  }

  consoleHeader(name: string): ConsoleHeader {
    const header = this.#view.get(HEADERS + headerKey(name), consoleHeaderCodec);
    if (header === null) throw failures.headerUnknown();
    return header;
  }

  async setConsoleHeader(name: string, values: readonly string[]): Promise<void> {
    const header = makeConsoleHeader(name, values);
    const key = HEADERS + headerKey(name);
    await this.#view.write((tx) => {
      const others = tx.keys(HEADERS, { limit: MAX_HEADERS + 1 }).filter((other) => other !== key);
      if (others.length >= MAX_HEADERS) throw failures.tooManyHeaders(MAX_HEADERS);
      tx.put(key, header, consoleHeaderCodec);
    });
  }

  async deleteConsoleHeader(name: string): Promise<void> {
    const key = HEADERS + headerKey(name);
    await this.#view.write((tx) => {
      if (tx.get(key, consoleHeaderCodec) !== null) tx.delete(key);
    });
  }

  #load(): void {
    const settings = this.#view.get(CORS, corsCodec);
    this.#cors = settings === null ? null : new Cors(settings, this.#aliases);
    this.#consoleHeaders = unlessDamaged(() => combined(this.#stored()), DEFAULT_CONSOLE_HEADERS);
  }

  #stored(): ConsoleHeader[] {
    return this.#view
      .records(HEADERS, consoleHeaderCodec, { limit: MAX_HEADERS })
      .map(({ value }) => value);
  }
}
