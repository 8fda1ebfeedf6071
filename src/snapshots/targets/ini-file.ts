// Files of settings in sections, as the command-line tools of providers keep them.

/** By section, then by key in lower case; of two of one name the last counts. */
export function readIni(source: string): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const sections = new Map<string, Map<string, string>>();
  let section: Map<string, string> | null = null;
  for (const raw of source.split(/\r?\n/)) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#") || line.startsWith(";")) continue;
    const name = /^\[\s*([^\]]+?)\s*\]/.exec(line)?.[1];
    if (name !== undefined) {
      section = sections.get(name) ?? new Map<string, string>();
      sections.set(name, section);
      continue;
    }
    const at = line.indexOf("=");
    // An indented line goes on with the one before, which none of the keys that are read here has.
    if (section === null || at === -1 || /^\s/.test(raw)) continue;
    section.set(line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim());
  }
  return sections;
}
