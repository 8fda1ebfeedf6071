// Reads TypeScript as far as the house's rules need it: comments and regular expressions are left
// out and every string stands as a number, so that rules match code and never prose. Not a parser:
// a slash after `)` or `}` counts as a division.

export interface Code {
  /** The code, line for line; a string literal appears as its number in quotes: `from "3"`. */
  readonly text: string;
  readonly strings: readonly string[];
}

export interface Import {
  readonly to: string | null; // null: computed at run time
  readonly typeOnly: boolean;
  readonly line: number;
}

// One alternative per thing that can begin; what they leave out is code, taken character-wise.
const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?\*\//y;
const STRING = /"((?:[^"\\\n]|\\[\s\S])*)"|'((?:[^'\\\n]|\\[\s\S])*)'/y;
const TEMPLATE_PART = /((?:[^`\\$]|\\[\s\S]|\$(?!\{))*)(`|\$\{)/y;
const REGEX = /\/(?![/*])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const BEFORE_REGEX =
  /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|throw|await|else|do))\s*$/;

export function readCode(source: string): Code {
  const strings: string[] = [];
  let text = "";
  let at = 0;
  const braces: ("code" | "template")[] = [];

  function take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    if (found !== null) at = pattern.lastIndex;
    return found;
  }

  function addString(content: string, raw: string): void {
    text += `"${strings.push(content) - 1}"${raw.replace(/[^\n]/g, "")}`;
  }

  // A template is its strings with the expressions between them in parentheses.
  function templatePart(): void {
    const part = take(TEMPLATE_PART);
    if (part === null) throw new Error("a template literal does not end");
    addString(part[1] ?? "", part[0]);
    if (part[2] === "`") return;
    braces.push("template");
    text += "(";
  }

  while (at < source.length) {
    const comment = take(COMMENT);
    if (comment !== null) {
      text += ` ${comment[0].replace(/[^\n]/g, "")}`;
      continue;
    }
    const string = take(STRING);
    if (string !== null) {
      addString(string[1] ?? string[2] ?? "", string[0]);
      continue;
    }
    const char = source[at] ?? "";
    if (char === "/" && BEFORE_REGEX.test(text.slice(-40)) && take(REGEX) !== null) {
      text += "/re/";
      continue;
    }
    at++;
    if (char === "`") templatePart();
    else if (char === "{") {
      braces.push("code");
      text += char;
    } else if (char === "}" && braces.pop() === "template") {
      text += ")";
      templatePart();
    } else text += char;
  }
  return { text, strings };
}

const STATIC =
  /(?<![.\w$#])(?:import|export)\b\s*(type\b(?!\s*from\b))?[\w$*{},\s]*?(?:\bfrom\s*)?"(\d+)"/g;
const DYNAMIC = /(?<![.\w$#])import\s*\(\s*(?:"(\d+)"\s*[,)])?/g;

/** Everything a file imports or re-exports. */
export function importsOf({ text, strings }: Code): Import[] {
  const found = [...text.matchAll(STATIC)].map((match) => ({
    to: strings[Number(match[2])] ?? null,
    typeOnly: match[1] !== undefined,
    line: lineAt(text, match.index),
  }));
  const dynamic = [...text.matchAll(DYNAMIC)].map((match) => ({
    to: match[1] === undefined ? null : (strings[Number(match[1])] ?? null),
    typeOnly: false,
    line: lineAt(text, match.index),
  }));
  return [...found, ...dynamic];
}

export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}
