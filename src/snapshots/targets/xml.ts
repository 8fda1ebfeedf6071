// Answers in XML as stores send them: elements and text of a few levels and nothing else, so that declarations,
// entities of its own, huge tags and deep nesting end here.

export interface Element {
  readonly name: string;
  /** Directly in it. */
  readonly text: string;
  readonly children: readonly Element[];
}

interface Growing extends Element {
  text: string;
  readonly children: Growing[];
}

const MAX_DEPTH = 16;
const MAX_TAG = 1024;
const NAME = /^([A-Za-z][A-Za-z0-9._-]{0,99})(?:\s[^<]*)?$/;
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["lt", "<"],
  ["gt", ">"],
  ["amp", "&"],
  ["quot", '"'],
  ["apos", "'"],
]);

/** The outermost element; null where it is not what a store sends. */
export function readXml(source: string): Element | null {
  const xml = source.replace(/^\ufeff/, "").trimStart();
  let at = xml.startsWith("<?xml ") ? xml.indexOf("?>") + 2 : 0;
  if (at === 1) return null;
  const open: Growing[] = [];
  let root: Growing | null = null;
  while (at < xml.length) {
    const start = xml.indexOf("<", at);
    const between = xml.slice(at, start === -1 ? xml.length : start);
    const inside = open.at(-1);
    if (inside !== undefined) inside.text += withoutEntities(between);
    else if (between.trim() !== "") return null;
    if (start === -1) break;
    const end = xml.indexOf(">", start);
    if (end === -1 || end - start > MAX_TAG) return null;
    const tag = xml.slice(start + 1, end);
    at = end + 1;
    if (tag.startsWith("/")) {
      if (open.pop()?.name !== tag.slice(1).trim()) return null;
      continue;
    }
    const empty = tag.endsWith("/");
    const name = NAME.exec(empty ? tag.slice(0, -1) : tag)?.[1];
    if (name === undefined || open.length >= MAX_DEPTH) return null;
    const element: Growing = { name, text: "", children: [] };
    if (inside !== undefined) inside.children.push(element);
    else if (root === null) root = element;
    else return null;
    if (!empty) open.push(element);
  }
  return open.length === 0 ? root : null;
}

export function childOf(element: Element | null | undefined, name: string): Element | null {
  return element?.children.find((child) => child.name === name) ?? null;
}

/** The text of a child; empty where there is none. */
export function textOf(element: Element | null | undefined, name: string): string {
  return childOf(element, name)?.text ?? "";
}

export function childrenOf(element: Element | null, name: string): readonly Element[] {
  return element?.children.filter((child) => child.name === name) ?? [];
}

/** Text as it stands inside an element. */
export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function withoutEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9A-Fa-f]{1,6})|([a-z]{2,4}));/g, (whole, ...found) => {
    const [decimal, hexadecimal, name] = found as (string | undefined)[];
    if (name !== undefined) return ENTITIES.get(name) ?? whole;
    const code = decimal === undefined ? parseInt(hexadecimal ?? "", 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
