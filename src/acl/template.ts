// `{{ directive }}` in the label of a rule, filled when the rights of a token are worked out. A
// directive without a value, or with one that could widen the rule, drops that rule alone.

/** Text and directives in turn: even places are text. */
export type Template = readonly string[];

/** Null where the brackets do not pair up. A label without any is one piece of text. */
export function templateOf(label: string): Template | null {
  const parts: string[] = [];
  let at = 0;
  for (;;) {
    const open = label.indexOf("{{", at);
    const text = label.slice(at, open < 0 ? label.length : open);
    if (text.includes("}}")) return null;
    parts.push(text);
    if (open < 0) return parts;
    const close = label.indexOf("}}", open + 2);
    if (close < 0) return null;
    const directive = label.slice(open + 2, close);
    if (directive.includes("{{")) return null;
    parts.push(directive.trim());
    at = close + 2;
  }
}

/** What a directive stands for; undefined when it has no value here. */
export type Directives = (name: string) => string | undefined;

/** The label, or null when the rule is dropped. */
export function fill(template: Template, directives: Directives): string | null {
  let label = "";
  for (const [i, part] of template.entries()) {
    const text = i % 2 === 0 ? part : directives(part);
    if (text === undefined) return null;
    // An empty value would turn `kv/{{token.name}}*` into `kv/*`.
    if (i % 2 === 1 && (text === "" || /[*+/]/.test(text))) return null;
    label += text;
  }
  return label;
}

const SERVED = /^(?:token\.accessor_id|token\.name|token\.meta\..+|namespace\.path)$/;

/** Directives that no token of this server will ever have a value for. */
export function unserved(template: Template): string[] {
  return template.filter((part, i) => i % 2 === 1 && !SERVED.test(part));
}
