// The one form of a name that has no case. Only ASCII letters fold: names that fold are made of them, and
// what Unicode calls the same letter differs from one table to the next.

export function fold(text: string): string {
  if (!/[A-Z]/.test(text)) return text;
  return isAscii(text) ? text.toLowerCase() : byUnits(text);
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
}

const AT_ONCE = 4096;

/** A letter at a time, since only those of ASCII have two cases here; in pieces, as a text may be as long as a
 *  body is. */
function byUnits(text: string): string {
  const folded: string[] = [];
  for (let from = 0; from < text.length; from += AT_ONCE) {
    const units: number[] = [];
    const end = Math.min(text.length, from + AT_ONCE);
    for (let at = from; at < end; at++) {
      const unit = text.charCodeAt(at);
      units.push(unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit);
    }
    folded.push(String.fromCharCode(...units));
  }
  return folded.join("");
}
