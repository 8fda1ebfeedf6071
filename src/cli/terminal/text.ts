// Text on its way to a terminal: what could steer it is made visible, lines are broken to fit.

// Control characters, and those that reorder or hide what is shown after them.
const STEERING =
  // oxlint-disable-next-line no-control-regex -- finding them is the point
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** What a server or a file says may hold escape sequences; shown as they are they could forge output. */
export function harmless(text: string): string {
  return text.replace(STEERING, (char) => {
    const code = (char.codePointAt(0) ?? 0).toString(16);
    if (code.length > 4) return `\\u{${code}}`;
    return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
  });
}

/** The same, on one line. */
export function oneLine(text: string): string {
  return harmless(text).replace(/\n/g, "\\n").replace(/\t/g, " ");
}

/** In characters as they are counted by most terminals; wide ones count once. */
export function widthOf(text: string): number {
  let width = 0;
  for (const _ of text) width++;
  return width;
}

/** Breaks at spaces, or inside a word that is longer than a line, unless words are to stay whole. Nothing is lost but
 *  those spaces. */
export function wrap(text: string, width: number, { whole = false } = {}): string[] {
  const lines: string[] = [];
  for (const paragraph of text.split("\n")) {
    let line = "";
    for (const word of paragraph.split(" ")) {
      if (line !== "" && widthOf(line) + 1 + widthOf(word) <= width) {
        line += ` ${word}`;
        continue;
      }
      if (line !== "") lines.push(line);
      const chars = Array.from(word);
      while (!whole && chars.length > width) lines.push(chars.splice(0, width).join(""));
      line = chars.join("");
    }
    lines.push(line);
  }
  return lines;
}

/** Breaks at spaces alone, and not inside `commands`, which are there to be copied. A line that is indented goes on
 *  further in. */
export function flow(text: string, width: number): string {
  return text
    .split("\n")
    .map((line) => {
      const words = line.match(/(?:`[^`]*`|[^\s`]|`)+|\s+/g) ?? [];
      const [indent = ""] = /^ +/.exec(line) ?? [];
      const below = indent === "" ? "" : `${indent}  `;
      let length = 0;
      let flowed = "";
      for (const word of words) {
        const blank = /^\s/.test(word);
        if (!blank && length > below.length && length + widthOf(word) > width) {
          flowed = `${flowed.trimEnd()}\n${below}`;
          length = below.length;
        }
        flowed += word;
        length += widthOf(word);
      }
      return flowed;
    })
    .join("\n");
}

export function pad(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}
