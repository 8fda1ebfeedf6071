// Completion scripts, written out of the declarations: words of commands, flags, and the values that a
// flag or an argument takes. Only what a server alone knows is asked for, by this program and for a second
// at most, so that Tab is never slow.

import type { ServerWords } from "./line/argument.ts";
import { EQUAL_NAMES, SERVER } from "./catalogue.ts";
import type { Command } from "./command.ts";
import { flagName, type Flag } from "./line/flag.ts";
import { SERVER_FLAGS } from "./server-flags.ts";
import { GLOBAL_FLAGS } from "./settings.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;

export function completionScript(
  shell: (typeof SHELLS)[number],
  commands: readonly Command[],
): string {
  const writers = { bash, zsh, fish };
  return writers[shell](commands);
}

/** What may follow a command: its own flags, and further words or its first argument. */
interface Node {
  readonly words: string; // "" for the top, "operator", "operator init"
  readonly next: readonly (readonly [word: string, summary: string])[];
  readonly flags: readonly (readonly [name: string, flag: Flag<unknown>])[];
  /** What its first argument is, where a server knows. */
  readonly completes: ServerWords | null;
}

const VALUES = "completion values -timeout 1s -non-interactive";

/** Under their other names too. */
function withEqualNames(commands: readonly Command[]): Command[] {
  const others = Array.from(EQUAL_NAMES, ([other, name]) =>
    commands
      .filter((one) => one.name === name || one.name.startsWith(`${name} `))
      .map((one) => ({ ...one, name: other + one.name.slice(name.length) })),
  );
  return [...commands, ...others.flat()];
}

function nodesOf(declared: readonly Command[]): Node[] {
  const commands = withEqualNames(declared);
  const tops = new Map<string, string>([[SERVER.name, SERVER.summary]]);
  const groups = new Map<string, Map<string, string>>();
  for (const { name, summary } of commands) {
    const words = name.split(" ");
    for (const [depth, word] of words.entries()) {
      const before = words.slice(0, depth).join(" ");
      const last = depth === words.length - 1;
      const siblings = depth === 0 ? tops : (groups.get(before) ?? new Map<string, string>());
      siblings.set(word, last ? summary : `${word} commands`);
      if (depth > 0) groups.set(before, siblings);
    }
  }
  const own = new Set(commands.map(({ name }) => name));
  return [
    { words: "", next: [...tops], flags: [], completes: null },
    ...Array.from(groups, ([words, next]) => ({
      words,
      next: [...next],
      flags: [],
      completes: null,
    }))
      // A command with others below it is one place.
      .filter(({ words }) => !own.has(words)),
    ...commands.map(({ name, flags, args }) => {
      const [first] = Object.values(args);
      const choices = (first?.choices ?? []).map((choice) => [choice, ""] as const);
      const next = [...choices, ...(groups.get(name) ?? [])];
      return { words: name, next, flags: flagsOf(flags), completes: first?.words ?? null };
    }),
    { words: SERVER.name, next: [], flags: flagsOf(SERVER_FLAGS), completes: null },
  ];
}

function flagsOf(flags: Command["flags"]): [string, Flag<unknown>][] {
  return Object.entries(flags).map(([key, flag]) => [flagName(key), flag]);
}

const globalFlags = flagsOf(GLOBAL_FLAGS);

function bash(commands: readonly Command[]): string {
  const nodes = nodesOf(commands);
  const cases = nodes.map(
    ({ words, next, flags, completes }) =>
      `    ${quoted(words)}) next=${quoted(next.map(([word]) => word).join(" "))}; ` +
      `asked=${quoted(completes ?? "")}; ` +
      `flags=${quoted(flags.map(([name]) => `-${name}`).join(" "))} ;;`,
  );
  const paths = nodes.filter(({ words }) => words !== "").map(({ words }) => quoted(words));
  const values = takingValues(nodes, {
    choices: (words) => `COMPREPLY=($(compgen -W ${quoted(words)} -- "$current"))`,
    files: 'COMPREPLY=($(compgen -f -- "$current"))',
    serverWords: (kind) => `_holdfast_asked ${kind}`,
  });
  return `# bash completion for holdfast
_holdfast_asked() {
  # Not by compgen -W, which would run what a name holds.
  mapfile -t COMPREPLY < <("\${COMP_WORDS[0]}" ${VALUES} "$1" -- "$current" 2>/dev/null)
  [[ "\${COMPREPLY[*]:-}" == */ ]] && compopt -o nospace 2>/dev/null
  return 0
}
_holdfast() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="" words="" next="" flags="" asked="" i word
  ((COMP_CWORD > 0)) && previous="\${COMP_WORDS[COMP_CWORD - 1]}"
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    [[ "$word" == -* ]] && continue
    case "\${words:+$words }$word" in
      ${paths.join("|")}) words="\${words:+$words }$word" ;;
    esac
  done
  case "$words \${previous/#--/-}" in
${values.join("\n")}
  esac
  case "$words" in
${cases.join("\n")}
  esac
  [[ "$words" == ${SERVER.name} ]] || flags="$flags ${globalFlags.map(([name]) => `-${name}`).join(" ")}"
  if [[ "$current" == --* ]]; then
    COMPREPLY=($(compgen -W "$(printf -- '-%s ' $flags)" -- "$current"))
  elif [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
  elif [[ -n "$asked" ]]; then
    _holdfast_asked "$asked"
  else
    COMPREPLY=($(compgen -W "$next" -- "$current"))
  fi
}
complete -o default -F _holdfast holdfast
`;
}

function zsh(commands: readonly Command[]): string {
  const nodes = nodesOf(commands);
  const described = (rows: readonly (readonly [string, string])[]) =>
    rows.map(([word, text]) => quoted(`${word.replace(/:/g, "\\:")}:${text}`)).join(" ");
  const cases = nodes.map(
    ({ words, next, flags, completes }) =>
      `    ${quoted(words)}) next=(${described(next)}); asked=${quoted(completes ?? "")}; ` +
      `flags=(${described(flags.map(([name, { help }]) => [`-${name}`, help]))}) ;;`,
  );
  const paths = nodes.filter(({ words }) => words !== "").map(({ words }) => quoted(words));
  const values = takingValues(nodes, {
    choices: (words) => `compadd -- ${words}`,
    files: "_files",
    serverWords: (kind) => `_holdfast_asked ${kind}`,
  });
  return `#compdef holdfast
# zsh completion for holdfast
_holdfast_asked() {
  local -a found
  found=(\${(f)"$("\${words[1]}" ${VALUES} "$1" -- "\${words[CURRENT]}" 2>/dev/null)"})
  compadd -S '' -- \${(M)found:#*/}
  compadd -- \${found:#*/}
}
_holdfast() {
  local place="" word asked=""
  local -a next flags
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ "$word" == -* ]] && continue
    case "\${place:+$place }$word" in
      ${paths.join("|")}) place="\${place:+$place }$word" ;;
    esac
  done
  case "$place \${words[CURRENT-1]/#--/-}" in
${values.join("\n")}
  esac
  case "$place" in
${cases.join("\n")}
  esac
  [[ "$place" == ${SERVER.name} ]] || flags+=(${described(globalFlags.map(([name, { help }]) => [`-${name}`, help]))})
  if [[ "\${words[CURRENT]}" == -* ]]; then
    _describe -o 'flag' flags
  elif [[ -n "$asked" ]]; then
    _holdfast_asked "$asked"
  elif ((\${#next})); then
    _describe 'command' next
  else
    _files
  fi
}
if [[ "\${funcstack[1]}" == _holdfast ]]; then _holdfast "$@"; else compdef _holdfast holdfast; fi
`;
}

function fish(commands: readonly Command[]): string {
  const nodes = nodesOf(commands);
  const [top, ...below] = nodes;
  const seenAll = (words: string) => `__holdfast_at ${words}`;
  const groups = below.filter(({ next }) => next.length > 0);
  const taking = globalFlags.filter(([, { placeholder }]) => placeholder !== null);
  const lines = [
    "# fish completion for holdfast",
    "# Whether the command line begins with these words, flags of every command left out.",
    "function __holdfast_at",
    "  set -l words",
    "  set -l skip no",
    "  for word in (commandline -opc)[2..-1]",
    "    if test $skip = yes",
    "      set skip no",
    `    else if string match -qr -- '^--?(${taking.map(([name]) => name).join("|")})$' $word`,
    "      set skip yes",
    "    else if not string match -q -- '-*' $word",
    "      set -a words $word",
    "    end",
    "  end",
    '  string match -q -- "$argv *" "$words "',
    "end",
    "complete -c holdfast -f",
  ];
  for (const [word, summary] of top?.next ?? []) {
    lines.push(
      `complete -c holdfast -n __fish_use_subcommand -a ${word} -d ${fishQuoted(summary)}`,
    );
  }
  for (const { words, next } of groups) {
    const known = next.map(([word]) => word).join(" ");
    const when = `${seenAll(words)}; and not __fish_seen_subcommand_from ${known}`;
    for (const [word, summary] of next) {
      const text = summary === "" ? "" : ` -d ${fishQuoted(summary)}`;
      lines.push(`complete -c holdfast -n ${fishQuoted(when)} -a ${word}${text}`);
    }
  }
  const serverWords = (kind: ServerWords) =>
    fishQuoted(
      `(command -sq holdfast; and holdfast ${VALUES} ${kind} -- (commandline -ct) 2>/dev/null)`,
    );
  for (const { words, completes } of below) {
    if (completes === null) continue;
    lines.push(
      `complete -c holdfast -n ${fishQuoted(seenAll(words))} -a ${serverWords(completes)}`,
    );
  }
  const flagLine = (condition: string, name: string, flag: Flag<unknown>) => {
    const values =
      flag.choices.length > 0
        ? ` -x -a ${fishQuoted(flag.choices.join(" "))}`
        : flag.words === undefined
          ? ""
          : ` -x -a ${serverWords(flag.words)}`;
    const takes = flag.placeholder === null ? "" : flag.isFile ? " -r -F" : values || " -x";
    return `complete -c holdfast${condition} -o ${name} -l ${name}${takes} -d ${fishQuoted(flag.help)}`;
  };
  const elsewhere = ` -n ${fishQuoted(`not ${seenAll(SERVER.name)}`)}`;
  for (const [name, flag] of globalFlags) lines.push(flagLine(elsewhere, name, flag));
  for (const [name, flag] of flagsOf(SERVER_FLAGS)) {
    lines.push(flagLine(` -n ${fishQuoted(seenAll(SERVER.name))}`, name, flag));
  }
  for (const { name, flags } of withEqualNames(commands)) {
    const when = ` -n ${fishQuoted(seenAll(name))}`;
    for (const [flagged, flag] of flagsOf(flags)) lines.push(flagLine(when, flagged, flag));
  }
  return `${lines.join("\n")}\n`;
}

/** How a shell completes the value of a flag. */
interface Completers {
  /** From these words, with spaces between them. */
  readonly choices: (words: string) => string;
  readonly files: string;
  /** From what the server knows. */
  readonly serverWords: (kind: ServerWords) => string;
}

/**
 * Branches of a case over "words of the command -flag": a flag such as -type takes other values with
 * another command, so that those of a command come before those of all.
 */
function takingValues(
  nodes: readonly Node[],
  { choices, files, serverWords }: Completers,
): string[] {
  const branch = (pattern: string, flag: Flag<unknown>) => {
    if (flag.words !== undefined) return `    ${pattern}) ${serverWords(flag.words)}; return ;;`;
    if (flag.choices.length > 0)
      return `    ${pattern}) ${choices(flag.choices.join(" "))}; return ;;`;
    return flag.isFile ? `    ${pattern}) ${files}; return ;;` : `    ${pattern}) return ;;`;
  };
  const taking = ([, { placeholder }]: Node["flags"][number]) => placeholder !== null;
  return [
    ...nodes.flatMap(({ words, flags }) =>
      flags.filter(taking).map(([name, flag]) => branch(quoted(`${words} -${name}`), flag)),
    ),
    ...globalFlags.filter(taking).map(([name, flag]) => branch(`*${quoted(` -${name}`)}`, flag)),
  ];
}

function quoted(text: string): string {
  return `'${text.replace(/'/g, `'\\''`)}'`;
}

function fishQuoted(text: string): string {
  return `'${text.replace(/\\/g, "\\\\").replace(/'/g, "\\'")}'`;
}
