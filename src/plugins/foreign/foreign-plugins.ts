// Plugins of the catalog as types of engines: which one is meant by a name, and what is opened of it.

import { anyEngine, type EngineNeeds, type EngineType } from "@holdfast/plugin-sdk/engine";
import type { OwnPlugin, OwnSdk, PluginChoice } from "../ports.ts";
import { canonicalVersion, isBuiltInVersion } from "../catalog/version.ts";
import { pinnedElsewhere } from "./failures.ts";
import type { ForeignMount } from "./foreign-mount.ts";
import { foreignType } from "./foreign-type.ts";
import type { ForeignHost } from "./host.ts";

type Kind = "auth" | "secret";

export interface ForeignPluginsOptions {
  readonly catalog: PluginChoice;
  readonly host: Omit<ForeignHost, "own">;
}

export class ForeignPlugins {
  readonly #options: ForeignPluginsOptions;
  readonly #types = new Map<string, EngineType<unknown>>();
  /** By the uuid of their mount. */
  readonly #open = new Map<string, ForeignMount>();
  #own: OwnSdk | null = null;
  #count = 0;

  constructor(options: ForeignPluginsOptions) {
    this.#options = options;
  }

  /** Null: there is none of the name, or not in that version. */
  choose(
    kind: Kind,
    name: string,
    wanted: string,
  ): { readonly version: string; readonly hides: boolean } | null {
    const { catalog } = this.#options;
    const usual = catalog.choose(kind, name, "");
    if (wanted === "") {
      if (usual === null) return null;
      const { version } = usual.program;
      return { version, hides: version === "" || usual.isPinned };
    }
    if (usual === null || isBuiltInVersion(wanted)) return null;
    if (usual.isPinned) throw pinnedElsewhere(kind, name, usual.program.version);
    const chosen = catalog.choose(kind, name, canonicalVersion(wanted));
    return chosen === null ? null : { version: chosen.program.version, hides: true };
  }

  /** The same one as long as the server runs: tables of routes are kept by it. */
  type(kind: Kind, name: string, version: string): EngineType<unknown> {
    const key = `${kind}/${name}/${version}`;
    let type = this.#types.get(key);
    if (type === undefined) {
      type = anyEngine(
        foreignType({
          kind,
          name,
          open: (needs, tell) => this.#opened(kind, name, version, { needs, tell }),
        }),
      );
      this.#types.set(key, type);
    }
    return type;
  }

  async #opened(
    kind: Kind,
    name: string,
    version: string,
    { needs, tell }: { needs: EngineNeeds; tell: (own: OwnPlugin | null) => void },
  ): Promise<ForeignMount> {
    const { catalog, host } = this.#options;
    const { uuid } = needs.mount;
    // Whoever takes the place of another one gets a process of its own.
    const before = this.#open.get(uuid) ?? null;
    const [{ ForeignMount: Opened }, { ownSdk }] = await Promise.all([
      import("./foreign-mount.ts"),
      import("../own/own-sdk.ts"),
    ]);
    const own = (this.#own ??= ownSdk({
      isLocal: (mount) => host.mountState(mount).local,
      maxAnswer: host.maxAnswer,
      declare: host.declare,
    }));
    return await Opened.open({
      kind,
      name,
      version,
      needs,
      host: { ...host, own },
      choose: () => catalog.choose(kind, name, version),
      besides: before?.held ?? null,
      user: `${uuid} ${++this.#count}`,
      tell,
      began: (mount) => void this.#open.set(uuid, mount),
      closed: (mount) => {
        if (this.#open.get(uuid) === mount) this.#open.delete(uuid);
      },
    });
  }
}
