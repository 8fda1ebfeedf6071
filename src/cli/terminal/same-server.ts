// Commands that are named to somebody who has chosen a server with -address go to that server: typed as they stand they would go to another.
// Pure.

/** What does not ask a server, or says by itself which. */
const ELSEWHERE = /^(?:server|help|version|completion)\b| -address\b| -help\b/;
/** Behind a command that is for another cluster. */
const THERE = /^`(?: (?:and|or) `[^`]*`)?,? (?:there\b|on (?!this)|of that one\b)/;
const COMMAND = /`holdfast ([^`]+)`/g;

/** As flags have it; null where it comes from the environment, which the next command has too. */
export interface Chosen {
  readonly address: string | null;
  readonly region: string | null;
}

export function atSameServer(text: string, { address, region }: Chosen): string {
  if (address === null && region === null) return text;
  return text.replace(COMMAND, (whole, command: string, at: number) => {
    const after = text.slice(at + whole.length - 1);
    if (ELSEWHERE.test(command) || THERE.test(after)) return whole;
    const flags = [
      ...(address === null ? [] : [`-address ${address}`]),
      ...(region === null || !command.startsWith("acl ") ? [] : [`-region ${region}`]),
    ];
    return flags.length === 0 ? whole : `\`holdfast ${withFlags(command, flags)}\``;
  });
}

/** Behind the words that name the command, before flags, arguments and what is in capitals for them. */
function withFlags(command: string, flags: readonly string[]): string {
  const [words = ""] = /^[a-z][a-z-]*(?: [a-z][a-z-]*)*(?= |$)/.exec(command) ?? [];
  return `${words} ${flags.join(" ")}${command.slice(words.length)}`;
}
