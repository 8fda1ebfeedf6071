// What a secondary is not sent, as rows: who makes mounts in a namespace that is withheld decides how many there are and how long their
// paths, and one row holds so much only. They lie in pages by their ids, and of those a change writes the ones that it changes.

import { hash } from "node:crypto";
import { jsonCodec } from "@holdfast/shared/codec";
import type { Tx, View, ViewReads } from "../../barrier/view.ts";

export const WITHHELD = "withheld";
const PAGES = "withheld-places/";
/** Two hexadecimal digits of a hash of the id name the page: of as many places as are told, a page has about a hundred. */
const PAGE_COUNT = 256;

type Paths = Readonly<Record<string, string>>;

/** By id, with their paths at the primary. */
interface Places {
  readonly mounts: Paths;
  readonly namespaces: Paths;
  /** Namespaces that were withheld until now; not there where none was. */
  readonly lifted?: Paths;
}

interface Stand {
  readonly version: string;
  /** What is here is not yet what it should be by this. */
  readonly isDue: boolean;
  /** The own log may hold something of it that is not here any more: told before it goes, so that neither a broken session nor a crash forgets it. */
  readonly hasGone?: true;
  /** The own log up to this index may hold what has gone; and since when. */
  readonly scrub?: { readonly index: string; readonly since: string };
}

export type StoredWithheld = Stand & Places;

const standCodec = jsonCodec<Stand>();
const pageCodec = jsonCodec<Places>();

const NOTHING: Stand = { version: "", isDue: false };

export function storedStand(reads: ViewReads): Stand {
  return reads.get(WITHHELD, standCodec) ?? NOTHING;
}

export function storedWithheld(view: View): StoredWithheld {
  const pages = pagesIn(view).map(({ value }) => value);
  const lifted = Object.assign({}, ...pages.map((page) => page.lifted ?? {})) as Paths;
  return {
    ...storedStand(view),
    mounts: Object.assign({}, ...pages.map(({ mounts }) => mounts)) as Paths,
    namespaces: Object.assign({}, ...pages.map(({ namespaces }) => namespaces)) as Paths,
    ...(Object.keys(lifted).length === 0 ? {} : { lifted }),
  };
}

/** The places stay as they are. */
export function putStand(tx: Tx, { version, isDue, hasGone, scrub }: Stand): void {
  const stand = {
    version,
    isDue,
    ...(hasGone === undefined ? {} : { hasGone }),
    ...(scrub === undefined ? {} : { scrub }),
  };
  tx.put(WITHHELD, stand, standCodec);
}

export function putWithheld(
  tx: Tx,
  { mounts, namespaces, lifted = {}, ...stand }: StoredWithheld,
): void {
  putStand(tx, stand);
  const pages = new Map<string, { -readonly [K in keyof Places]: Record<string, string> }>();
  for (const [kind, paths] of Object.entries({ mounts, namespaces, lifted })) {
    for (const [id, path] of Object.entries(paths)) {
      const key = pageOf(id);
      const page = pages.get(key) ?? { mounts: {}, namespaces: {} };
      (page[kind as keyof Places] ??= {})[id] = path;
      pages.set(key, page);
    }
  }
  const before = new Map(pagesIn(tx).map(({ key, value }) => [key, value]));
  for (const key of before.keys()) if (!pages.has(key)) tx.delete(key);
  for (const [key, page] of pages) {
    if (JSON.stringify(before.get(key)) !== JSON.stringify(page)) tx.put(key, page, pageCodec);
  }
}

function pagesIn(reads: ViewReads) {
  return reads.records(PAGES, pageCodec, { limit: PAGE_COUNT });
}

function pageOf(id: string): string {
  return PAGES + hash("sha256", id).slice(0, 2);
}
