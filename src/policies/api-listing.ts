// Lists that are alike for all kinds of policies: those in a folder of names, and those with documents.

import type { JsonObject } from "@holdfast/shared/json/json";
import { atOnce } from "@holdfast/shared/sliced";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { more } from "@holdfast/shared/endpoint/page";
import { reply } from "@holdfast/shared/endpoint/reply";
import { listing, prefix } from "./policy-fields.ts";
import { openPage, PAGE_BOUNDS } from "./policy-pages.ts";
import type { NamePage, Names } from "./policy-rows.ts";

/** The policies of one kind, as lists need them. */
export interface Shelf<R> {
  names(namespaceId: string, page: NamePage): Names;
  /** Inside a folder, which ends in a slash. */
  below(namespaceId: string, folder: string, page: NamePage): Names;
  read(namespaceId: string, name: string): R | null;
  /** Before a page of documents, which is made in one piece. Default: at once. */
  turn?(): Promise<void>;
}

interface Listed<Room, R> {
  readonly kind: "acl" | "rgp" | "egp";
  /** In the names of the endpoints. */
  readonly word: string;
  readonly noun: string;
  readonly shelf: (room: Room) => Shelf<R>;
  readonly show: (name: string, record: R) => JsonObject;
}

export function listEndpoints<Room, R extends { readonly text: string }>(of: Listed<Room, R>) {
  const endpoint = endpointsOf<Room>();
  const { kind, word, noun, shelf, show } = of;
  const detailed = async (room: Room, namespaceId: string, names: Names, folder: string) => {
    await shelf(room).turn?.();
    const open = (name: string) => shelf(room).read(namespaceId, folder + name);
    const showRecord = (record: R, name: string) => show(folder + name, record);
    const page = atOnce(openPage(names, open, showRecord, PAGE_BOUNDS));
    return reply({ keys: page.keys, key_info: page.documents }, more(page.next));
  };
  return [
    endpoint({
      name: `list${word}Below`,
      method: "LIST",
      path: `/sys/policies/${kind}/:prefix+`,
      summary: `List the ${noun} in a folder of names.`,
      access: access.capability,
      fromSnapshot: true,
      input: { prefix, ...listing },
      output: out.keys("Names below the folder; folders in it end in a slash."),
      handler: (room, { prefix: folder, ...page }, { namespace }) =>
        keysOf(shelf(room).below(namespace.id, `${folder}/`, page)),
    }),
    endpoint({
      name: `list${word}Detailed`,
      method: "LIST",
      path: `/sys/policies/detailed/${kind}`,
      summary: `List the ${noun} with their documents.`,
      access: access.capability,
      fromSnapshot: true,
      input: listing,
      output: out.keys("Names, and what a read would give for each."),
      handler: (room, page, { namespace: { id } }) =>
        detailed(room, id, shelf(room).names(id, page), ""),
    }),
    endpoint({
      name: `list${word}DetailedBelow`,
      method: "LIST",
      path: `/sys/policies/detailed/${kind}/:prefix+`,
      summary: `List the ${noun} in a folder of names with their documents.`,
      access: access.capability,
      fromSnapshot: true,
      input: { prefix, ...listing },
      output: out.keys("Names below the folder, and what a read would give for each."),
      handler: (room, { prefix: typed, ...page }, { namespace: { id } }) => {
        const folder = `${typed}/`;
        return detailed(room, id, shelf(room).below(id, folder, page), folder);
      },
    }),
  ];
}

export function keysOf({ names, next }: Names) {
  return reply({ keys: names }, more(next));
}
