// Mounts that every namespace has by itself: nothing is stored of them, and nobody can change them.
// Their ids come out of the namespace's, so that they are the same on every node and after every start.

import { hash } from "node:crypto";
import { invariant } from "@holdfast/shared/invariant";
import { uuidOfDigits } from "@holdfast/shared/text/uuid";
import type { NamespaceRef } from "@holdfast/shared/endpoint/request";
import type { EngineType } from "@holdfast/plugin-sdk/engine";
import { DEFAULT_CONFIG } from "./mount-config.ts";
import { segmentsOf } from "./mount-path.ts";
import type { MountKind, MountRecord } from "./mount-record.ts";
import { type FoundMount, Mount, type MountWorld } from "../open-mount.ts";

export interface FixedMount {
  /** One segment with a slash; its data lies below local/ns/<namespace>/ under the same name. */
  readonly path: string;
  readonly description: string;
  readonly type: EngineType<unknown>;
}

/** Parts of the server that lists show among the mounts. */
const PARTS: readonly {
  readonly path: string;
  readonly kind: MountKind;
  readonly type: string;
  readonly description: string;
}[] = [
  { path: "sys/", kind: "secret", type: "system", description: "the server itself" },
  { path: "auth/token/", kind: "auth", type: "token", description: "tokens" },
];

export class FixedMounts {
  readonly #world: MountWorld;
  readonly #fixed: ReadonlyMap<string, FixedMount>; // by their segment
  readonly #open = new Map<string, Mount>(); // by namespace and segment

  constructor(world: MountWorld, fixed: readonly FixedMount[]) {
    this.#world = world;
    const forgetful = fixed.every(({ type }) => type.invalidate === undefined);
    invariant(forgetful, "an engine of every namespace keeps nothing in memory of what is stored");
    this.#fixed = new Map(fixed.map((one) => [segmentsOf(one.path)[0] ?? "", one]));
  }

  find(namespace: NamespaceRef, [first = ""]: readonly string[]): FoundMount | null {
    return this.#fixed.has(first) ? this.#mount(namespace, first).found : null;
  }

  has(path: string): boolean {
    const segment = segmentsOf(path)[0] ?? "";
    return this.#fixed.has(segment) || PARTS.some((part) => part.path === path);
  }

  types(): EngineType<unknown>[] {
    return [...this.#fixed.values()].map(({ type }) => type);
  }

  byUuid(uuid: string): Mount | null {
    for (const mount of this.#open.values()) if (mount.record.uuid === uuid) return mount;
    return null;
  }

  /** As lists show them. */
  records(namespace: NamespaceRef, kind: MountKind): MountRecord[] {
    const parts = PARTS.filter((part) => part.kind === kind);
    const engines = kind === "secret" ? [...this.#fixed.values()] : [];
    return [
      ...parts.map((part) => recordOf(namespace, part)),
      ...engines.map(({ path, type, description }) =>
        recordOf(namespace, { path, kind, type: type.type, description }),
      ),
    ];
  }

  /** The namespace is going. */
  async forget(namespaceId: string): Promise<void> {
    for (const [key, mount] of this.#open) {
      if (mount.record.namespaceId !== namespaceId) continue;
      this.#open.delete(key);
      await mount.close();
    }
  }

  async close(): Promise<void> {
    const all = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(all.map((mount) => mount.close()));
  }

  #mount(namespace: NamespaceRef, segment: string): Mount {
    const key = `${namespace.id}/${segment}`;
    const known = this.#open.get(key);
    if (known !== undefined) return known;
    const { type, path, description } = this.#fixed.get(segment)!;
    const record = recordOf(namespace, { path, kind: "secret", type: type.type, description });
    const folder = `ns/${namespace.id}/${path}`;
    const mount = new Mount(this.#world, type, record, namespace, folder);
    mount.openAtOnce();
    this.#open.set(key, mount);
    return mount;
  }
}

function recordOf(
  { id, created }: NamespaceRef,
  part: { readonly path: string; readonly kind: MountKind; type: string; description: string },
): MountRecord {
  const digits = hash("sha256", `holdfast fixed mount ${part.path} ${id}`, "hex");
  return {
    ...part,
    uuid: uuidOfDigits(digits.slice(0, 32)),
    accessor: `${part.type}_${digits.slice(32, 40)}`,
    namespaceId: id,
    options: {},
    config: DEFAULT_CONFIG,
    local: part.type === "cubbyhole",
    sealWrap: false,
    created,
    state: { kind: "active" },
  };
}
